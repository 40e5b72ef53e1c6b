package codec

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

// maxDigits bounds a decimal, so that none can be made to fill a column.
const maxDigits = 38

// badValue says why a text is not a value of its field.
type badValue struct {
	class message.ErrorClass
	want  string
}

func notParsed(want string) *badValue  { return &badValue{message.Malformed, want} }
func notAllowed(want string) *badValue { return &badValue{message.CodecError, want} }

// canonical brings the trimmed, non-empty text of a field into canonical form.
func canonical(f *catalogue.Field, text string, zone *time.Location) (string, *badValue) {
	switch f.Type {
	case catalogue.ID:
		id, err := flight.ParseID(text)
		if err != nil {
			return "", notParsed("1 to 18 digits")
		}
		return id.String(), nil
	case catalogue.Int:
		return integer(text)
	case catalogue.Decimal:
		return decimal(text)
	case catalogue.Datetime:
		return datetime(text, zone)
	case catalogue.Date:
		return date(text)
	case catalogue.Stamp:
		return stamp(text, zone)
	case catalogue.Duration:
		return duration(text)
	case catalogue.Code, catalogue.Text:
		if len(text) > f.MaxLen && utf8.RuneCountInString(text) > f.MaxLen {
			return "", notAllowed(fmt.Sprintf("%s of at most %d characters", f.Type, f.MaxLen))
		}
		return text, nil
	case catalogue.Flag:
		if !slices.Contains(f.Flags, text) {
			return "", notAllowed("one of " + strings.Join(f.Flags, ", "))
		}
		return text, nil
	}
	return "", notAllowed(fmt.Sprintf("a type that the codec knows, not %q", f.Type))
}

func integer(text string) (string, *badValue) {
	bad := notParsed("a whole number within 32 bits")
	digits := strings.TrimPrefix(text, "+")
	if digits == text {
		digits = strings.TrimPrefix(text, "-")
	}
	if !isDigits(digits) {
		return "", bad
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return "", bad
	}
	return strconv.FormatInt(n, 10), nil
}

func decimal(text string) (string, *badValue) {
	bad := notParsed(fmt.Sprintf("digits with an optional point, at most %d of them", maxDigits))
	whole, fraction, _ := strings.Cut(text, ".")
	if !isDigits(whole + fraction) {
		return "", bad
	}
	whole = strings.TrimLeft(whole, "0")
	fraction = strings.TrimRight(fraction, "0")
	if len(whole)+len(fraction) > maxDigits {
		return "", bad
	}
	if whole == "" {
		whole = "0"
	}
	if fraction == "" {
		return whole, nil
	}
	return whole + "." + fraction, nil
}

// duration reads HHMM, hours with two to four digits, as whole minutes.
func duration(text string) (string, *badValue) {
	bad := notParsed("a duration HHMM such as 0201")
	if len(text) < 4 || len(text) > 6 || !isDigits(text) {
		return "", bad
	}
	hours, minutes := number(text[:len(text)-2]), number(text[len(text)-2:])
	if minutes > 59 {
		return "", bad
	}
	return strconv.Itoa(hours*60 + minutes), nil
}

func isDigits(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return text != ""
}

// number is the value of a few digits that isDigits has approved.
func number(digits string) int {
	n := 0
	for i := range len(digits) {
		n = n*10 + int(digits[i]-'0')
	}
	return n
}
