// Package declaration reads what handlers.lua and the table of a script declare: which
// script handles which kind, and what a script may do. The loader hands in tables that
// were computed, the linter the same tables as they are written, with their places; so
// both find the same faults in the same words.
package declaration

import (
	"fmt"
	"slices"

	"msgx/engine/rulebook/diagnostic"
)

// Type is what a value is.
type Type int

// The types of a value. Of an Unknown one nothing is asked: it stands for an expression
// that only running it would tell.
const (
	Nil Type = iota
	Unknown
	Text
	Table
	Function
	Other
)

// Value is a part of a declaration.
type Value struct {
	Type   Type
	Text   string // of a Text
	List   []Value
	Fields []Field // in the order of the source, or of the names
	At     Place
}

// Field is an entry of a table with a name.
type Field struct {
	Name  string
	At    Place // of the name
	Value Value
}

// Place is where something is written; zero when it was computed.
type Place struct{ Line, Column int }

// Field finds an entry by its name. Of two, the last counts, as in Lua.
func (v Value) Field(name string) Value {
	for _, f := range slices.Backward(v.Fields) {
		if f.Name == name {
			return f.Value
		}
	}
	return Value{}
}

// reader collects the faults of one file.
type reader struct {
	file   string
	faults []*diagnostic.Fault
}

func (r *reader) fault(code diagnostic.Code, at Place, format string, args ...any) {
	r.faults = append(r.faults, &diagnostic.Fault{Code: code, File: r.file, Line: at.Line, Column: at.Column, Text: fmt.Sprintf(format, args...)})
}

// name is a text of a list, with its place.
type name struct {
	text string
	at   Place
}

// names reads a list of texts. known is false when it cannot be read without running it.
func (r *reader) names(code diagnostic.Code, table Value, key string) (out []name, known bool) {
	v := table.Field(key)
	switch v.Type {
	case Nil:
		return nil, true
	case Unknown:
		return nil, false
	case Table:
	default:
		r.fault(code, v.At, "%s: expected a list of strings", key)
		return nil, true
	}
	out, known = []name{}, true
	for i, e := range v.List {
		switch e.Type {
		case Text:
			out = append(out, name{e.Text, e.At})
		case Unknown:
			known = false
		default:
			r.fault(code, e.At, "%s[%d]: expected a string", key, i+1)
		}
	}
	return out, known
}

func texts(list []name) []string {
	if list == nil {
		return nil
	}
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = n.text
	}
	return out
}
