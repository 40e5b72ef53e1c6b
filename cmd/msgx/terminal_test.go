package main

import "testing"

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"message 1\n\t延误 <b>":       "message 1\n\t延误 <b>",
		"\x1b[2Jgone":               `\u001b[2Jgone`,
		"\u009b31mred\u202egnp.exe": `\u009b31mred\u202egnp.exe`,
		"a\u200bb\U000e0041":        `a\u200bb\udb40\udc41`,
		"broken \xff":               "broken \uFFFD",
	} {
		if got := printable(text); got != want {
			t.Errorf("printable(%q) is %q, want %q", text, got, want)
		}
	}
}
