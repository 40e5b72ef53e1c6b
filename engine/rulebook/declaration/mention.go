package declaration

import "regexp"

// Mention is a place in the text of a manifest that names a script at a version.
type Mention struct {
	Script     string // flop-gtdt@1
	Start, End int    // of the name, between its quotes
}

// token is a text or a comment of Lua: a name in a comment says nothing.
var token = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|(?s:--\[\[.*?\]\])|--[^\n]*`)

// Mentions finds where the text of a manifest names a script, at whatever version, in its order. It
// reads the text and does not run it, so it tells where to change it, and of one that does
// not load as well.
func Mentions(manifest []byte, script string) []Mention {
	var out []Mention
	for _, at := range token.FindAllIndex(manifest, -1) {
		if manifest[at[0]] == '-' {
			continue
		}
		name := string(manifest[at[0]+1 : at[1]-1])
		if !ScriptName.MatchString(name) {
			continue
		}
		if of, _ := Split(name); of == script {
			out = append(out, Mention{Script: name, Start: at[0] + 1, End: at[1] - 1})
		}
	}
	return out
}

// Rename puts a script in the place of each mention.
func Rename(manifest []byte, mentions []Mention, script string) []byte {
	var out []byte
	end := 0
	for _, m := range mentions {
		out = append(append(out, manifest[end:m.Start]...), script...)
		end = m.End
	}
	return append(out, manifest[end:]...)
}
