package message

import (
	"strings"
	"unicode"
)

// Identity is the business identity of a message: SNDR|TYPE|STYP|SEQN in the
// trimmed text as it stands, and with day the airport date of DTTM appended.
// The codec refuses a separator inside a part.
func (m Meta) Identity(withDay bool) string {
	parts := []string{m.Sender, m.Type, m.Subtype, m.Sequence}
	if withDay && len(m.SentAt) >= len("2006-01-02") {
		parts = append(parts, m.SentAt[:len("2006-01-02")])
	}
	return strings.Join(parts, "|")
}

// SafeText makes a text safe to store and print whatever it held: NUL, control characters, characters that
// are not seen and turn or hide what is beside them, and broken UTF-8 are replaced, and it is cut to limit
// characters with an ellipsis.
func SafeText(text string, limit int) string {
	var b strings.Builder
	n := 0
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		if n == limit {
			b.WriteString("…")
			break
		}
		if r == '\n' || r == '\t' {
			r = ' '
		} else if Unsafe(r) {
			r = '\uFFFD'
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

// Unsafe tells the characters that a terminal or a reader's eye may take for something else: control characters (escape
// sequences begin with them, U+009B among them), format characters (U+202E turns a line round, U+200B is not seen), the
// two separators, and what is no character at all.
func Unsafe(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) || r&0xfffe == 0xfffe || (r >= 0xfdd0 && r <= 0xfdef)
}
