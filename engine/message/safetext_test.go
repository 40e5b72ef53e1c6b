package message_test

import (
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"msgx/engine/message"
)

func TestSafeText(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"what airports write", "延误：备降 <b>南京</b> & Zürich Ñ 🛫", "延误：备降 <b>南京</b> & Zürich Ñ 🛫"},
		{"lines", "a\nb\tc", "a b c"},
		{"NUL and broken UTF-8", "a\x00b\xffc", "a\uFFFDb\uFFFDc"},
		{"an escape sequence", "\x1b[2J\x1b]0;title\a", "\uFFFD[2J\uFFFD]0;title\uFFFD"},
		{"the same in one character", "\u009b2J", "\uFFFD2J"},
		{"a text that turns round", "a\u202egnp.exe\u202c\u2066x\u2069\u200f\u061c", "a\uFFFDgnp.exe\uFFFD\uFFFDx\uFFFD\uFFFD\uFFFD"},
		{"what is not seen", "C\u200bA\u200d1\ufeff\u00ad\U000E0041", "C\uFFFDA\uFFFD1\uFFFD\uFFFD\uFFFD"},
		{"separators and no characters", "\u2028\u2029\ufffe\uffff\ufdd0\U0001FFFF", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD"},
		{"cut by characters", "航班航班航班航班航班航班", "航班航班航班航班航班…"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			limit := 60
			if tt.name == "cut by characters" {
				limit = 10
			}
			if got := message.SafeText(tt.text, limit); got != tt.want {
				t.Errorf("SafeText(%q) is %q, want %q", tt.text, got, tt.want)
			}
		})
	}
}

func TestSafeTextIsSafeWhateverItIsGiven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, limit := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))+rapid.String().Draw(t, "text"), rapid.IntRange(0, 50).Draw(t, "limit")
		safe := message.SafeText(text, limit)
		if !utf8.ValidString(safe) || utf8.RuneCountInString(safe) > limit+1 {
			t.Fatalf("SafeText(%q, %d) is %q", text, limit, safe)
		}
		for _, r := range safe {
			if message.Unsafe(r) {
				t.Fatalf("SafeText(%q, %d) is %q, which holds %U", text, limit, safe, r)
			}
		}
		if again := message.SafeText(safe, limit+1); again != safe {
			t.Fatalf("SafeText(%q) is %q, want it unchanged", safe, again)
		}
	})
}
