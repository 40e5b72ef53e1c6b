package declaration

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"msgx/engine/catalogue"
	"msgx/engine/rulebook/diagnostic"
)

// ManifestFile is the file that says which script handles which kind.
const ManifestFile = "handlers.lua"

// ScriptFolder is where the scripts are.
const ScriptFolder = "rules"

// ScriptName is how a script is written in the manifest and named on disk.
var ScriptName = regexp.MustCompile(`^([a-z0-9]+(?:-[a-z0-9]+)*)@([1-9][0-9]{0,4})$`)

// Split takes the name of a script apart: "flop-gtdt@1" is flop-gtdt, 1.
func Split(script string) (string, int) {
	parts := ScriptName.FindStringSubmatch(script)
	version, err := strconv.Atoi(parts[2])
	if err != nil {
		panic(fmt.Sprintf("script name %q passed the check", script))
	}
	return parts[1], version
}

// Manifest is what handlers.lua says.
type Manifest struct {
	Kinds       map[string]Entry // kind to script
	Defaults    map[string]Entry // pattern to script
	Unsupported map[string]bool
	// Whole tells that nothing of it was Unknown.
	Whole bool
}

// Entry is a script at its version, and where it is named.
type Entry struct {
	Script string
	At     Place
	KeyAt  Place
}

// ReadManifest checks the table that handlers.lua returns.
func ReadManifest(v Value, cat *catalogue.Catalogue) (Manifest, []*diagnostic.Fault) {
	m := Manifest{Kinds: map[string]Entry{}, Defaults: map[string]Entry{}, Unsupported: map[string]bool{}, Whole: v.Type != Unknown}
	r := &reader{file: ManifestFile}
	if v.Type == Unknown {
		return m, nil
	}
	if v.Type != Table {
		r.fault(diagnostic.ManifestShape, v.At, "the manifest returns one table: kind to script at its version")
		return m, r.faults
	}
	unsupported, known := r.names(diagnostic.ManifestShape, v, "unsupported")
	m.Whole = m.Whole && known
	for _, kind := range unsupported {
		m.Unsupported[kind.text] = true
	}
	switch defaults := v.Field("defaults"); defaults.Type {
	case Table:
		r.scripts(defaults, m.Defaults, &m)
	case Unknown:
		m.Whole = false
	case Nil:
	default:
		r.fault(diagnostic.ManifestShape, defaults.At, "defaults: expected a table of scripts by pattern")
		m.Whole = false // it tells of one fault, not of every kind that it would cover
	}
	r.scripts(v, m.Kinds, &m)
	r.known(m, unsupported, cat)
	return m, r.faults
}

// known holds the names of a manifest to the catalogue.
func (r *reader) known(m Manifest, unsupported []name, cat *catalogue.Catalogue) {
	for _, kind := range slices.Sorted(maps.Keys(m.Kinds)) {
		at := m.Kinds[kind].KeyAt
		if _, ok := cat.KindNamed(kind); !ok {
			r.fault(diagnostic.ManifestKind, at, "%s: the catalogue has no such kind%s", kind, diagnostic.Perhaps(kind, KindNames(cat)))
		}
		if m.Unsupported[kind] {
			r.fault(diagnostic.Contradiction, at, "%s: has a script and is listed as unsupported", kind)
		}
	}
	slices.SortStableFunc(unsupported, func(a, b name) int { return strings.Compare(a.text, b.text) })
	for _, kind := range unsupported {
		if _, ok := cat.KindNamed(kind.text); !ok {
			r.fault(diagnostic.ManifestKind, kind.at, "unsupported: %s: the catalogue has no such kind%s", kind.text, diagnostic.Perhaps(kind.text, KindNames(cat)))
		}
	}
	for _, pattern := range slices.Sorted(maps.Keys(m.Defaults)) {
		if !slices.ContainsFunc(cat.Kinds, func(k catalogue.Kind) bool { return Matches(pattern, k.Name) }) {
			r.fault(diagnostic.ManifestKind, m.Defaults[pattern].KeyAt, "defaults: %s covers no kind of the catalogue", pattern)
		}
	}
}

// KindNames lists the kinds of the catalogue.
func KindNames(cat *catalogue.Catalogue) []string {
	out := make([]string, len(cat.Kinds))
	for i, k := range cat.Kinds {
		out[i] = k.Name
	}
	return out
}

func (r *reader) scripts(table Value, into map[string]Entry, m *Manifest) {
	for i, e := range table.List {
		r.fault(diagnostic.NotAScript, e.At, "%d: expected a script at a version, such as \"flop-gtdt@1\", under the name of a kind", i+1)
	}
	for _, f := range table.Fields {
		if f.Name == "defaults" || f.Name == "unsupported" {
			continue
		}
		if f.Value.Type == Unknown {
			m.Whole = false
			continue
		}
		if f.Value.Type != Text || !ScriptName.MatchString(f.Value.Text) {
			r.fault(diagnostic.NotAScript, f.Value.At, "%s: expected a script at a version, such as \"flop-gtdt@1\"", f.Name)
			continue
		}
		into[f.Name] = Entry{f.Value.Text, f.Value.At, f.At}
	}
}

// handler finds the script of a kind: its own entry, else the default with the
// longest pattern. The pattern is "" for an entry of its own.
func (m Manifest) handler(kind string) (e Entry, pattern string, ok bool) {
	if m.Unsupported[kind] {
		return Entry{}, "", false
	}
	if e, ok := m.Kinds[kind]; ok {
		return e, "", true
	}
	patterns := slices.SortedFunc(maps.Keys(m.Defaults), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	for _, pattern := range patterns {
		if Matches(pattern, kind) {
			return m.Defaults[pattern], pattern, true
		}
	}
	return Entry{}, "", false
}

// Idle finds the defaults that no kind comes to, because each has an entry of its own, a
// longer pattern, or is unsupported.
func (m Manifest) Idle(cat *catalogue.Catalogue) []*diagnostic.Fault {
	r := &reader{file: ManifestFile}
	busy := map[string]bool{}
	for _, kind := range cat.Kinds {
		_, pattern, _ := m.handler(kind.Name)
		busy[pattern] = true
	}
	for _, pattern := range slices.Sorted(maps.Keys(m.Defaults)) {
		covers := slices.ContainsFunc(cat.Kinds, func(k catalogue.Kind) bool { return Matches(pattern, k.Name) })
		if covers && !busy[pattern] {
			r.fault(diagnostic.NeverApplies, m.Defaults[pattern].KeyAt, "defaults: %s never applies: each kind that it covers has an entry of its own, a longer pattern, or is unsupported", pattern)
		}
	}
	return r.faults
}
