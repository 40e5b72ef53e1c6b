package declaration

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"msgx/engine/catalogue"
	"msgx/engine/rulebook/diagnostic"
)

// Binding ties a kind to the script that handles it.
type Binding struct {
	Kind   catalogue.Kind
	Script string
	File   string
	Header Header
}

// misfit is a script that is not there, or does not serve the kinds it is named for: one entry of
// the manifest, and perhaps many kinds.
type misfit struct {
	entry   Entry
	pattern string
	missing bool
	serves  string
	kinds   []string
}

// Bind ties every kind of the catalogue to its script. header gives what the file of a
// script declares: found is false when there is no such file, read is false when its faults
// are known already.
func (m Manifest) Bind(cat *catalogue.Catalogue, header func(file string) (h Header, found, read bool)) ([]Binding, []*diagnostic.Fault) {
	var out []Binding
	var unhandled []string
	var misfits []*misfit
	for _, kind := range cat.Kinds {
		e, pattern, ok := m.handler(kind.Name)
		if !ok {
			if !m.Unsupported[kind.Name] && m.Whole {
				unhandled = append(unhandled, kind.Name)
			}
			continue
		}
		file := path.Join(ScriptFolder, e.Script+".lua")
		h, found, read := header(file)
		serves := slices.ContainsFunc(h.Kinds, func(p string) bool { return Matches(p, kind.Name) })
		switch {
		case found && read && serves:
			out = append(out, Binding{kind, e.Script, file, h})
		case !found || read:
			misfits = add(misfits, misfit{e, pattern, !found, strings.Join(h.Kinds, ", "), []string{kind.Name}})
		}
	}
	r := &reader{file: ManifestFile}
	for _, f := range misfits {
		r.misfit(f)
	}
	switch len(unhandled) {
	case 0:
	case 1:
		r.fault(diagnostic.Unhandled, Place{}, "no script for the kind %s; name one, or list the kind under unsupported", unhandled[0])
	default:
		r.fault(diagnostic.Unhandled, Place{}, "no script for the %s; name some, or list the kinds under unsupported", several(unhandled))
	}
	return out, r.faults
}

// add puts a kind to the others of the same default.
func add(list []*misfit, f misfit) []*misfit {
	for _, other := range list {
		if f.pattern != "" && other.pattern == f.pattern {
			other.kinds = append(other.kinds, f.kinds...)
			return list
		}
	}
	return append(list, &f)
}

func (r *reader) misfit(f *misfit) {
	what := several(f.kinds) + " are"
	if len(f.kinds) == 1 {
		what = f.kinds[0] + " is"
	}
	through := ""
	if f.pattern != "" {
		through = ", through the default " + f.pattern
	}
	if f.missing {
		file := path.Join(ScriptFolder, f.entry.Script+".lua")
		r.fault(diagnostic.NoScript, f.entry.At, "%s handled by %s, and there is no %s%s", what, f.entry.Script, file, through)
		return
	}
	r.fault(diagnostic.ServesOtherKind, f.entry.At, "%s handled by %s, which says it serves %s%s", what, f.entry.Script, f.serves, through)
}

// several names kinds: all of them up to six.
func several(kinds []string) string {
	const most = 6
	if len(kinds) <= most {
		return fmt.Sprintf("kinds %s", strings.Join(kinds, ", "))
	}
	return fmt.Sprintf("%d kinds %s and %d more", len(kinds), strings.Join(kinds[:most], ", "), len(kinds)-most)
}
