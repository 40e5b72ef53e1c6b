package rulebook

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"

	"msgx/engine/catalogue"
	"msgx/engine/flight"
	"msgx/engine/rulebook/diagnostic"
)

// canonical turns a value of a decision into canonical text, or says what is
// wrong with it. It accepts exactly what the codec would have produced.
func (t taker) canonical(f *catalogue.Field, v lua.LValue) (string, error) {
	text, err := t.exact(f, v)
	return text, diagnostic.With(diagnostic.DecisionValue, err)
}

func (t taker) exact(f *catalogue.Field, v lua.LValue) (string, error) {
	if t.shapes.integer[f.Type] {
		n, ok := v.(lua.LNumber)
		if !ok || math.Trunc(float64(n)) != float64(n) || math.Abs(float64(n)) > math.MaxInt32 {
			return "", t.wrong(v, "an integer of 32 bits")
		}
		if f.Type == catalogue.Duration && n < 0 {
			return "", t.wrong(v, "whole minutes, not negative")
		}
		return strconv.FormatInt(int64(n), 10), nil
	}
	s, ok := v.(lua.LString)
	if !ok {
		return "", t.wrong(v, "a string")
	}
	text := string(s)
	if want := check(f, text); want != "" {
		return "", t.wrong(v, want)
	}
	return text, nil
}

func (t taker) wrong(v lua.LValue, want string) error {
	return fmt.Errorf("found %s, expected %s", t.describe(v), want)
}

// check says what a text should have been, and "" when it is right.
func check(f *catalogue.Field, text string) string {
	switch f.Type {
	case catalogue.ID:
		if id, err := flight.ParseID(text); err != nil || id.String() != text {
			return "1 to 18 digits without leading zeros"
		}
	case catalogue.Decimal:
		if !isDecimal(text) {
			return "a decimal without superfluous zeros"
		}
	case catalogue.Datetime, catalogue.Stamp:
		if at, err := time.Parse(time.RFC3339, text); err != nil || at.Nanosecond() != 0 || at.Format(time.RFC3339) != text {
			return "a time such as 2021-01-23T05:35:00+08:00"
		}
	case catalogue.Date:
		if _, err := time.Parse(time.DateOnly, text); err != nil {
			return "a date such as 2021-01-23"
		}
	case catalogue.Flag:
		if !slices.Contains(f.Flags, text) {
			return "one of " + strings.Join(f.Flags, ", ")
		}
	default:
		return checkText(f, text)
	}
	return ""
}

func checkText(f *catalogue.Field, text string) string {
	switch {
	case text == "":
		return "a value; to empty the field, clear it"
	case strings.TrimSpace(text) != text:
		return "text without blanks around it"
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return "valid UTF-8 without NUL"
	case utf8.RuneCountInString(text) > f.MaxLen:
		return fmt.Sprintf("at most %d characters", f.MaxLen)
	}
	return ""
}

// isDecimal tells canonical decimals: 0, 12, -3.5, 0.25, and not 1.50, .5, -0 or 007.
func isDecimal(text string) bool {
	digits := strings.TrimPrefix(text, "-")
	whole, fraction, point := strings.Cut(digits, ".")
	switch {
	case whole == "" || strings.Trim(whole+fraction, "0123456789") != "":
		return false
	case len(whole) > 1 && whole[0] == '0':
		return false
	case point && (fraction == "" || fraction[len(fraction)-1] == '0'):
		return false
	}
	return text != "-0"
}
