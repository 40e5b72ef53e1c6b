package pump_test

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The tables of the package comment name tests; each of them is there.
func TestTheTablesNameTestsThatExist(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for _, name := range regexp.MustCompile(`Test[A-Z]\w+`).FindAllString(string(doc), -1) {
		missing[name] = true
	}
	if len(missing) < 15 {
		t.Fatalf("the package comment names %d tests, want at least 15", len(missing))
	}
	root := os.DirFS("../..")
	err = fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && path != "engine" && path != "cmd" && !strings.HasPrefix(path, "engine/") && !strings.HasPrefix(path, "cmd/"):
			return fs.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		source, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		for _, found := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(source), -1) {
			delete(missing, found[1])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range missing {
		t.Errorf("there is no %s", name)
	}
}
