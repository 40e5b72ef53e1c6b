// Package redact takes personal data out of a message and out of the flights around it, so that what
// happened in operation can be kept as a test. A rule names elements and says what stands there instead:
//
//	VIPF/VPCD=VIP{n}     the element VPCD in VIPF, wherever that is
//	*/TEXT=text {n}      the own text of any element, such as DELY and FDIV have it
//	REMC=remark {n}
//
// A path is matched from its end; * stands for one name. A part that is an attribute is named
// like an element, and an element's own text is TEXT, as in the catalogue.
//
// The same value under the same rule becomes the same replacement everywhere, and another value another one
// ({n} counts them), so what a rule set makes of equal and unequal values stays as it was. Only codes and texts can be
// replaced: what a rule computes with, identifiers, times and numbers, would no longer mean the same.
package redact

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"msgx/engine/catalogue"
)

// Defaults are the rules in force where the configuration names none: the codes of VIPs, and every text
// that people write freely.
var Defaults = []string{"VIPF/VPCD=VIP{n}", "REMC=remark {n}", "EXSR=remark {n}", "*/TEXT=text {n}"}

// rule is one line of the configuration.
type rule struct {
	text        string
	pattern     []string // from the end
	replacement string
	seen        map[string]string // what each value has become
}

// Redactor replaces by rules, consistently over everything that it is given. It is for one goroutine.
type Redactor struct {
	rules   []*rule
	ownText map[string]bool // elements, by their path, whose own text is a part
}

// counter in a replacement stands for the number of the value.
const counter = "{n}"

// New reads rules. All faults are told at once, each with the rule.
func New(cat *catalogue.Catalogue, lines []string) (*Redactor, error) {
	r := &Redactor{ownText: map[string]bool{}}
	walk(cat, func(path []string, f *catalogue.Field) {
		if f.Source == catalogue.FromText {
			r.ownText[strings.Join(path[:len(path)-1], "/")] = true
		}
	})
	var faults []error
	for _, line := range lines {
		path, replacement, ok := strings.Cut(line, "=")
		u := &rule{text: line, pattern: strings.Split(strings.TrimSpace(path), "/"), replacement: strings.TrimSpace(replacement), seen: map[string]string{}}
		slices.Reverse(u.pattern)
		if !ok || slices.Contains(u.pattern, "") || u.replacement == "" || u.pattern[0] == "*" {
			faults = append(faults, fmt.Errorf("redact: rule %q, expected PATH=REPLACEMENT such as VIPF/VPCD=VIP{n}", line))
			continue
		}
		faults = append(faults, u.check(cat))
		r.rules = append(r.rules, u)
	}
	return r, errors.Join(faults...)
}

// check holds a rule to the fields that it replaces.
func (u *rule) check(cat *catalogue.Catalogue) error {
	var faults []error
	longest := utf8.RuneCountInString(strings.ReplaceAll(u.replacement, counter, "999"))
	walk(cat, func(path []string, f *catalogue.Field) {
		if !u.matches(path) {
			return
		}
		where := strings.Join(path, "/")
		switch {
		case f.Type != catalogue.Code && f.Type != catalogue.Text:
			faults = append(faults, fmt.Errorf("redact: rule %q: %s is of type %s, expected a code or text", u.text, where, f.Type))
		case longest > f.MaxLen:
			faults = append(faults, fmt.Errorf("redact: rule %q: %s has at most %d characters, the replacement has up to %d", u.text, where, f.MaxLen, longest))
		}
	})
	return errors.Join(faults...)
}

// walk visits every field of a flight with its path.
func walk(cat *catalogue.Catalogue, visit func(path []string, f *catalogue.Field)) {
	fields := func(prefix []string, list []catalogue.Field) {
		for i := range list {
			visit(append(slices.Clone(prefix), list[i].Tag), &list[i])
		}
	}
	fields(nil, cat.Flight.Scalars)
	for _, o := range cat.Flight.Objects {
		fields([]string{o.Tag}, o.Parts)
	}
	var lists func(prefix []string, list []catalogue.List)
	lists = func(prefix []string, list []catalogue.List) {
		for _, l := range list {
			path := append(slices.Clone(prefix), l.Tag)
			fields(path, l.Fields)
			lists(path, l.Lists)
		}
	}
	lists(nil, cat.Flight.Lists)
}

// matches tells whether a path ends as the pattern says.
func (u *rule) matches(path []string) bool {
	if len(path) < len(u.pattern) {
		return false
	}
	for i, name := range u.pattern {
		if name != "*" && name != path[len(path)-1-i] {
			return false
		}
	}
	return true
}

// replace gives what stands in the place of a value; false when no rule is about its path. The first rule
// that is wins.
func (r *Redactor) replace(path []string, value string) (string, bool) {
	if value == "" {
		return "", false
	}
	for _, u := range r.rules {
		if !u.matches(path) {
			continue
		}
		text, known := u.seen[value]
		if !known {
			text = strings.ReplaceAll(u.replacement, counter, strconv.Itoa(len(u.seen)+1))
			u.seen[value] = text
		}
		return text, true
	}
	return "", false
}

// textPart tells whether the own text of an element is a part of it in the catalogue.
func (r *Redactor) textPart(path []string) bool {
	for i := range path {
		if r.ownText[strings.Join(path[i:], "/")] {
			return true
		}
	}
	return false
}
