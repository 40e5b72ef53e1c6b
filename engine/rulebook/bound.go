package rulebook

import (
	"path"
	"slices"
	"strings"

	"msgx/engine/rulebook/declaration"
	"msgx/engine/rulebook/diagnostic"
)

// bound gives the kinds that bound scripts serve to them. header is as of headers.
func (l *loader) bound(header func(file string) (declaration.Header, bool, bool), mf declaration.Manifest, s Settings) {
	by := map[string]string{} // kind to the bound script
	for _, name := range strings.Fields(s.Bound) {
		full := path.Join(scriptFolder, name+".lua")
		h, found, _ := header(full)
		if !declaration.ScriptName.MatchString(name) || !found {
			l.fault(diagnostic.NoScript, "bound", "found %q, expected %s", name, strings.Join(l.versions(name), ", "))
			continue
		}
		for _, kind := range l.cat.Kinds {
			if !slices.ContainsFunc(h.Kinds, func(pattern string) bool { return declaration.Matches(pattern, kind.Name) }) {
				continue
			}
			if other := by[kind.Name]; other != "" {
				l.fault(diagnostic.Contradiction, "bound", "%s is served by %s and by %s, expected one of them", kind.Name, other, name)
			}
			by[kind.Name] = name
			mf.Kinds[kind.Name] = declaration.Entry{Script: name}
			delete(mf.Unsupported, kind.Name)
		}
	}
}

// versions are the versions of a script that there are, or that there is none.
func (l *loader) versions(name string) []string {
	script, _, _ := strings.Cut(name, "@")
	var out []string
	for _, f := range l.sorted() {
		base := strings.TrimSuffix(path.Base(f.name), ".lua")
		if of, _, versioned := strings.Cut(base, "@"); versioned && of == script {
			out = append(out, base)
		}
	}
	if len(out) == 0 {
		return []string{"a script at a version, such as flop-gtdt@1"}
	}
	return out
}
