package rulebook

import (
	"path"
	"slices"
	"strings"
)

// bound gives the kinds that bound scripts serve to them.
func (l *loader) bound(m *player, headers map[string]header, mf manifest, s Settings) {
	by := map[string]string{} // kind to the bound script
	for _, name := range strings.Fields(s.Bound) {
		full := path.Join(scriptFolder, name+".lua")
		f := l.files[full]
		if !scriptName.MatchString(name) || f == nil {
			l.fault("bound: found %q, expected %s", name, strings.Join(l.versions(name), ", "))
			continue
		}
		h := l.header(m, headers, f)
		for _, kind := range l.cat.Kinds {
			if !slices.ContainsFunc(h.kinds, func(pattern string) bool { return matches(pattern, kind.Name) }) {
				continue
			}
			if other := by[kind.Name]; other != "" {
				l.fault("bound: %s is served by %s and by %s, expected one of them", kind.Name, other, name)
			}
			by[kind.Name] = name
			mf.kinds[kind.Name] = name
			delete(mf.unsupported, kind.Name)
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
