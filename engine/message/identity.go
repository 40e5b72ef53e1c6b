package message

import "strings"

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

// SafeText makes a text safe to store and print whatever it held: NUL and
// control characters and broken UTF-8 are replaced, and it is cut to limit
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
		} else if r < 0x20 || (r >= 0x7f && r < 0xa0) || r == '\u2028' || r == '\u2029' {
			r = '\uFFFD'
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}
