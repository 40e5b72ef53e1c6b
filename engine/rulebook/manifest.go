package rulebook

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	lua "github.com/yuin/gopher-lua"

	"msgx/engine/catalogue"
)

// scriptName is how a script is written in the manifest and named on disk.
var scriptName = regexp.MustCompile(`^([a-z0-9]+(?:-[a-z0-9]+)*)@([1-9][0-9]{0,4})$`)

// manifest is what handlers.lua says.
type manifest struct {
	kinds       map[string]string // kind to script at its version
	defaults    map[string]string // pattern to script
	unsupported map[string]bool
}

// readManifest checks the table that handlers.lua returned.
func readManifest(v lua.LValue, cat *catalogue.Catalogue) (manifest, []error) {
	m := manifest{kinds: map[string]string{}, defaults: map[string]string{}, unsupported: map[string]bool{}}
	r := headerReader{file: manifestFile}
	table, ok := v.(*lua.LTable)
	if !ok {
		r.fault("the manifest returns one table: kind to script at its version")
		return m, r.faults
	}
	for _, kind := range r.names(table, "unsupported") {
		m.unsupported[kind] = true
	}
	if defaults, ok := table.RawGetString("defaults").(*lua.LTable); ok {
		r.scripts(defaults, m.defaults)
	} else if table.RawGetString("defaults") != lua.LNil {
		r.fault("defaults: expected a table of scripts by pattern")
	}
	r.scripts(table, m.kinds)
	for _, kind := range slices.Sorted(maps.Keys(m.kinds)) {
		if _, known := cat.KindNamed(kind); !known {
			r.fault("%s: the catalogue has no such kind", kind)
		}
		if m.unsupported[kind] {
			r.fault("%s: has a script and is listed as unsupported", kind)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(m.unsupported)) {
		if _, known := cat.KindNamed(kind); !known {
			r.fault("unsupported: %s: the catalogue has no such kind", kind)
		}
	}
	for _, pattern := range slices.Sorted(maps.Keys(m.defaults)) {
		if !slices.ContainsFunc(cat.Kinds, func(k catalogue.Kind) bool { return matches(pattern, k.Name) }) {
			r.fault("defaults: %s covers no kind of the catalogue", pattern)
		}
	}
	return m, r.faults
}

func (r *headerReader) scripts(table *lua.LTable, into map[string]string) {
	for _, key := range keysOf(table) {
		if key == "defaults" || key == "unsupported" {
			continue
		}
		name, ok := table.RawGetString(key).(lua.LString)
		if !ok || !scriptName.MatchString(string(name)) {
			r.fault("%s: expected a script at a version, such as \"flop-gtdt@1\"", key)
			continue
		}
		into[key] = string(name)
	}
}

// handler finds the script of a kind: its own entry, else the default with the
// longest pattern.
func (m manifest) handler(kind string) (string, bool) {
	if m.unsupported[kind] {
		return "", false
	}
	if name, ok := m.kinds[kind]; ok {
		return name, true
	}
	patterns := slices.SortedFunc(maps.Keys(m.defaults), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	for _, pattern := range patterns {
		if matches(pattern, kind) {
			return m.defaults[pattern], true
		}
	}
	return "", false
}

// split takes "flop-gtdt@1" apart.
func split(name string) (string, int) {
	parts := scriptName.FindStringSubmatch(name)
	version, err := strconv.Atoi(parts[2])
	if err != nil {
		panic(fmt.Sprintf("script name %q passed the check", name))
	}
	return parts[1], version
}
