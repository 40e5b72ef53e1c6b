package rulebook

import (
	"maps"
	"slices"

	"msgx/engine/catalogue"
)

// Globals lists the names that a script may use beside its own locals, require among them.
func Globals() []string {
	names := allowedNames()
	names["require"] = true
	return slices.Sorted(maps.Keys(names))
}

// Natives lists the functions of the libraries string, table and math, by library.
func Natives() map[string][]string {
	out := map[string][]string{}
	var m *machine
	for name, fns := range m.libraries() {
		out[name] = slices.Sorted(maps.Keys(fns))
	}
	return out
}

// Expected says what a text should be to be a value of a field that is a text in Lua, ""
// when it is one.
func Expected(f *catalogue.Field, text string) string { return check(f, text) }
