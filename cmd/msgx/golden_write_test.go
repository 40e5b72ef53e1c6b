package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReplaceFile(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "a.txtar"), filepath.Join(dir, "link.txtar")
	if err := os.WriteFile(file, []byte("was"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a.txtar", link); err != nil {
		t.Fatal(err)
	}
	holds := func(text string) {
		t.Helper()
		data, err := os.ReadFile(file)
		info, statErr := os.Stat(file)
		entries, listErr := os.ReadDir(dir)
		if err != nil || statErr != nil || listErr != nil || string(data) != text || info.Mode().Perm() != 0o640 || len(entries) != 2 {
			t.Fatalf("found %q, %v, %v, expected %q, mode 640 and nothing beside the file and the link (%v, %v, %v)", data, info, entries, text, err, statErr, listErr)
		}
	}
	if err := replaceFile(link, []byte("was"), []byte("is")); err != nil {
		t.Fatal(err)
	}
	holds("is")
	if err := replaceFile(file, []byte("was"), []byte("lost")); err == nil || !strings.Contains(err.Error(), "has changed since it was read") {
		t.Errorf("found %v, expected that the file has changed", err)
	}
	holds("is")
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("found %v, %v, expected the link as it was", info, err)
	}
}

// What an editor saves while the question stands is not overwritten.
func TestGoldenUpdateKeepsWhatWasSavedMeanwhile(t *testing.T) {
	dir := t.TempDir()
	if r := run("golden", "new", "FLOP-STND", "stand", "--dir", dir); r.code != 0 {
		t.Fatalf("exit %d, %s", r.code, r.err)
	}
	file := filepath.Join(dir, "cases", "stand.txtar")
	read, out := io.Pipe()
	var errs strings.Builder
	ended := make(chan int, 1)
	go func() {
		ended <- execute(t.Context(), []string{"golden", "update", "stand", "--dir", dir, "--yes"}, strings.NewReader(""), out, &errs)
		_ = out.Close()
	}()
	first := make([]byte, 1)
	if _, err := io.ReadFull(read, first); err != nil { // the difference is being shown
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("edited"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, read); err != nil {
		t.Fatal(err)
	}
	if code := <-ended; code != exitFailed || !strings.Contains(errs.String(), "has changed since it was read") {
		t.Errorf("exit %d, %q, expected a refusal", code, errs.String())
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "edited" {
		t.Errorf("found %q, %v, expected what was saved meanwhile", data, err)
	}
}
