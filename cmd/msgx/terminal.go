package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"msgx/engine/message"
)

// printable is a text in which nothing that a message held can move the cursor, turn a line round or hide
// from the eye: what could is written as its number. It is for texts whose own lines are ours.
func printable(text string) string {
	safe := func(r rune) bool { return r == '\n' || r == '\t' || !message.Unsafe(r) }
	text = strings.ToValidUTF8(text, "\uFFFD")
	if strings.IndexFunc(text, func(r rune) bool { return !safe(r) }) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case safe(r):
			b.WriteRune(r)
		case r > 0xffff: // as JSON writes it
			high, low := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// onTerminal tells whether what is written is for the eyes of a person who wants colour.
func onTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
