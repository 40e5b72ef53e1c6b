package rulebook

import (
	"maps"
	"slices"

	lua "github.com/yuin/gopher-lua"

	"msgx/engine/rulebook/declaration"
)

// maxDeclared bounds how deep a table is read: a manifest has two levels.
const maxDeclared = 3

// declared gives a table that a file returned as a declaration.
func declared(v lua.LValue, depth int) declaration.Value {
	switch v := v.(type) {
	case *lua.LNilType:
		return declaration.Value{}
	case lua.LString:
		return declaration.Value{Type: declaration.Text, Text: string(v)}
	case *lua.LFunction:
		return declaration.Value{Type: declaration.Function}
	case *lua.LTable:
		out := declaration.Value{Type: declaration.Table}
		if depth == 0 {
			return out
		}
		for i := 1; i <= v.Len(); i++ {
			out.List = append(out.List, declared(v.RawGetInt(i), depth-1))
		}
		fields := map[string]lua.LValue{}
		v.ForEach(func(k, entry lua.LValue) {
			if _, position := k.(lua.LNumber); !position {
				fields[k.String()] = entry
			}
		})
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			out.Fields = append(out.Fields, declaration.Field{Name: name, Value: declared(fields[name], depth-1)})
		}
		return out
	}
	return declaration.Value{Type: declaration.Other}
}
