package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What the binary carries is written whole: a rule set that is well, the corpus (TestTheGuideIsTrue runs it), and
// what an editor needs.
func TestRulesExportBeginsADirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	if r := run("rules", "export", shipped, dir); r.code != 0 || !strings.Contains(r.out, filepath.Join(dir, "golden")) {
		t.Fatalf("exit %d, %s%s", r.code, r.out, r.err)
	}
	if r := run("rules", "lint", dir); r.code != 0 {
		t.Errorf("lint: exit %d, %s%s", r.code, r.out, r.err)
	}
	for _, name := range []string{".luarc.json", "schemas/generated/lua/msgx.lua", "golden/equivalent.yaml"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if r := run("rules", "export", shipped, dir); r.code != exitUsage || !strings.Contains(r.err, "is not empty") {
		t.Errorf("into what is there: exit %d, %s%s", r.code, r.out, r.err)
	}
}

// A mistyped name is told without asking a server.
func TestRulesExportOfAMistypedName(t *testing.T) {
	r := run("rules", "export", "shippped", t.TempDir())
	if r.code != exitUsage || !strings.Contains(r.err, `rule set "shippped": expected a hash, or its first 4 characters or more, did you mean shipped?`) {
		t.Errorf("exit %d, %s%s", r.code, r.out, r.err)
	}
}
