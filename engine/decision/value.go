package decision

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"msgx/engine/catalogue"
	"msgx/engine/flight"
	"msgx/engine/message"
)

// CheckText says what is wrong with a value in canonical text, "" when it
// fits the field. Equality of states is equality of texts, so one value has one text.
func CheckText(f *catalogue.Field, text string, zone *time.Location) string {
	want := ""
	switch f.Type {
	case catalogue.ID:
		if len(text) > 18 || !digits(text) || (len(text) > 1 && text[0] == '0') {
			want = "1 to 18 digits without leading zeros"
		}
	case catalogue.Int:
		if n, err := strconv.ParseInt(text, 10, 32); err != nil || strconv.FormatInt(n, 10) != text {
			want = "an integer of 32 bits without leading zeros"
		}
	case catalogue.Duration:
		if n, err := strconv.ParseInt(text, 10, 32); err != nil || n < 0 || strconv.FormatInt(n, 10) != text {
			want = "whole minutes"
		}
	case catalogue.Decimal:
		if !canonicalDecimal(text) {
			want = "a decimal without superfluous zeros"
		}
	case catalogue.Datetime, catalogue.Stamp:
		if !canonicalTime(text, zone) {
			want = "a time of the airport's zone, such as 2021-01-23T05:35:00+08:00"
		}
	case catalogue.Date:
		if t, err := time.Parse(time.DateOnly, text); err != nil || t.Format(time.DateOnly) != text {
			want = "a date such as 2021-01-23"
		}
	case catalogue.Flag:
		if !slices.Contains(f.Flags, text) {
			want = "one of " + strings.Join(f.Flags, ", ")
		}
	default:
		want = checkFreeText(f, text)
	}
	if want == "" {
		return ""
	}
	return fmt.Sprintf("is %q, expected %s", message.SafeText(text, 64), want)
}

func checkFreeText(f *catalogue.Field, text string) string {
	switch {
	case text == "":
		return "a text (nothing is set by clear)"
	case !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0:
		return "valid UTF-8 without NUL"
	case strings.TrimSpace(text) != text:
		return "a text without blanks around it"
	case len(text) > f.MaxLen && utf8.RuneCountInString(text) > f.MaxLen:
		return fmt.Sprintf("at most %d characters", f.MaxLen)
	}
	return ""
}

func digits(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return text != ""
}

func canonicalDecimal(text string) bool {
	unsigned, negative := strings.CutPrefix(text, "-")
	whole, fraction, point := strings.Cut(unsigned, ".")
	if !digits(whole) || (len(whole) > 1 && whole[0] == '0') {
		return false
	}
	if point && (!digits(fraction) || fraction[len(fraction)-1] == '0') {
		return false
	}
	return !negative || unsigned != "0"
}

// canonicalTime tells whether a text is a time as the codec writes it: whole
// seconds in the airport's zone, Z when that has no offset.
func canonicalTime(text string, zone *time.Location) bool {
	t, err := time.Parse(time.RFC3339, text)
	return err == nil && t.In(zone).Format(time.RFC3339) == text
}

// checkParts holds an object or a list entry to its fields.
func (a *application) checkParts(where string, fields []catalogue.Field, parts map[string]string) {
	for tag, text := range parts {
		f, ok := catalogue.PartOf(fields, tag)
		if !ok {
			a.fault("%s: %s is not a part of it", where, message.SafeText(tag, 32))
			continue
		}
		if wrong := CheckText(f, text, a.options.Zone); wrong != "" {
			a.fault("%s.%s: %s", where, tag, wrong)
		}
	}
}

// checkRecords holds a whole list, nested lists too, to the catalogue.
func (a *application) checkRecords(where string, lists []catalogue.List, tag string, records []flight.Record) {
	i := slices.IndexFunc(lists, func(l catalogue.List) bool { return l.Tag == tag })
	if i < 0 {
		a.fault("%s: %s is not a list there", where, message.SafeText(tag, 32))
		return
	}
	for n, r := range records {
		at := where + "." + tag + "[" + strconv.Itoa(n+1) + "]"
		a.checkParts(at, lists[i].Fields, r.Fields)
		for nested, inner := range r.Lists {
			a.checkRecords(at, lists[i].Lists, nested, inner)
		}
	}
}
