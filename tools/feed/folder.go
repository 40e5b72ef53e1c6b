package feed

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Save writes each message to a file of its own in dir, which must be empty or
// new, and what is expected of them to expected.tsv. The names sort in the order of sending.
func Save(dir string, messages []Message) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("feed folder: %w", err)
	}
	there, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("feed folder: %w", err)
	}
	if len(there) > 0 {
		return fmt.Errorf("feed folder %s: found %s, expected an empty folder", dir, there[0].Name())
	}
	var b strings.Builder
	b.WriteString("file\tat\tencoding\tbad\tstate\tclass\treason\n")
	for _, m := range messages {
		name := FileName(m)
		if err := os.WriteFile(filepath.Join(dir, name), m.Body, 0o644); err != nil {
			return fmt.Errorf("feed folder: %w", err)
		}
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, m.At.Format("2006-01-02T15:04:05"), m.Encoding, m.Bad, m.Expect.State, m.Expect.Class, m.Expect.Reason)
	}
	if err := os.WriteFile(filepath.Join(dir, "expected.tsv"), []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("feed folder: %w", err)
	}
	return nil
}

// FileName is the name of a message's file.
func FileName(m Message) string {
	kind := m.Kind
	if kind == "" {
		kind = "none"
	}
	return fmt.Sprintf("%06d_%s.xml", m.Seq, kind)
}
