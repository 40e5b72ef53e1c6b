package lint

import (
	"io/fs"
	"path"
	"regexp"
	"strings"

	"msgx/engine/rulebook"
	"msgx/engine/rulebook/declaration"
	"msgx/engine/rulebook/diagnostic"
)

// declarations reads the manifest as it is written and ties kinds to scripts.
func (s *set) declarations() {
	src := s.sources[manifestFile]
	if src == nil || src.file == nil {
		return
	}
	f := src.file
	v := declaration.Value{Type: declaration.Nil, At: place{Line: 1}}
	if e := f.returned(); e != nil {
		v = f.value(e, 3)
	}
	m, faults := declaration.ReadManifest(v, s.cat)
	for _, fault := range append(faults, m.Idle(s.cat)...) {
		s.take(fault)
	}
	if v.Type != declaration.Table {
		return
	}
	_, faults = m.Bind(s.cat, func(name string) (declaration.Header, bool, bool) {
		script := s.sources[name]
		if script == nil {
			return declaration.Header{}, false, false
		}
		if script.file == nil || !script.file.header.Whole {
			return declaration.Header{}, true, false
		}
		return script.file.header.Header, true, true
	})
	for _, fault := range faults {
		s.take(fault)
	}
}

// loaded asks the loader, and adds what reading alone does not show.
func (s *set) loaded(fsys fs.FS) {
	_, err := rulebook.Load(fsys, s.cat, rulebook.Settings{}, rulebook.Limits{})
	for _, fault := range diagnostic.Of(err) {
		if !s.has(fault) {
			s.take(fault)
		}
	}
}

// has tells whether the fault was found already, with its column.
func (s *set) has(fault *diagnostic.Fault) bool {
	return s.known[known(fault.Code, fault.File, fault.Text, fault.Line)]
}

// instead says what to use in the place of what the sandbox leaves out.
var instead = map[string]string{
	"os":             "the only time is msg.meta.dttm, the time the message was sent; the host stamps the rest",
	"io":             "a rule cannot read or write files; return what is to be known as a note",
	"print":          "a rule cannot print; return { notes = { { reason = … } } }, and msgx try shows it",
	"pcall":          "an error fails the message on purpose; ask before: if x ~= nil then",
	"xpcall":         "an error fails the message on purpose; ask before: if x ~= nil then",
	"select":         "take the arguments as a table: local args = { ... }",
	"unpack":         "name the entries: t[1], t[2]",
	"setmetatable":   "use plain tables and functions",
	"getmetatable":   "use plain tables and functions",
	"rawget":         "write t[key]",
	"rawset":         "write t[key] = value",
	"rawequal":       "write a == b",
	"loadstring":     "put the code into a library in rules/lib and require it",
	"load":           "put the code into a library in rules/lib and require it",
	"dofile":         `put the code into a library in rules/lib and require it`,
	"loadfile":       `put the code into a library in rules/lib and require it`,
	"module":         "return a table of functions, as rules/lib/draft.lua does",
	"coroutine":      "write a loop",
	"debug":          "msgx try shows what a rule decides",
	"collectgarbage": "memory is the host's concern",
	"_G":             "name what you mean",
	"null":           "write nil for absent and CLEAR for empty",
	"NULL":           "write nil for absent and CLEAR for empty",
	"None":           "write nil for absent and CLEAR for empty",
	"clear":          "the constant is written CLEAR",

	"string.format":  `join with .. and tostring: "gate " .. name`,
	"string.rep":     "write the text out, or join it in a loop",
	"string.match":   "patterns could run for minutes; use string.find, which takes plain text, and string.sub",
	"string.gmatch":  "patterns could run for minutes; walk with string.find and string.sub",
	"string.gsub":    "patterns could run for minutes; build the text with string.find and string.sub",
	"string.reverse": "walk with string.sub from the end",
	"string.char":    `write the character in the text: "\010"`,
	"table.getn":     "write #t",
	"table.maxn":     "write #t",
	"table.foreach":  "write: for key, value in pairs(t) do",
	"table.unpack":   "name the entries: t[1], t[2]",
	"math.random":    "a rule gives the same decision for the same message, always",
	"math.fmod":      "write a % b",
	"math.mod":       "write a % b",
	"math.pow":       "write a ^ b",
	"math.sqrt":      "write a ^ 0.5",
	"math.huge":      "compare with nil before, rather than with a number without an end",
}

// fixFor knows what to do about one fault better than its code alone.
func fixFor(fault *diagnostic.Fault) string {
	switch fault.Code {
	case diagnostic.UnknownName:
		if fix := instead[fault.Word]; fix != "" {
			return fix
		}
		if near := diagnostic.Nearest(fault.Word, rulebook.Globals()); near != "" {
			return "write " + near + ", or declare it: local " + fault.Word
		}
		return "declare it: local " + fault.Word
	case diagnostic.GlobalWrite:
		return "write: local " + fault.Word + " = …"
	case diagnostic.NoLibrary:
		return "add " + path.Join(libFolder, fault.Word+".lua") + ", or correct the name"
	}
	if meant := didYouMean.FindStringSubmatch(fault.Text); meant != nil {
		return "write " + strings.TrimSpace(meant[1])
	}
	return ""
}

var didYouMean = regexp.MustCompile(`did you mean ("[^"]*")\?`)
