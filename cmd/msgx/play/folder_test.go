package play

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func (p *playground) refused(path string, question any, status int, says string) refusal {
	p.t.Helper()
	r := ask[refusal](p, path, question, status)
	if !strings.Contains(r.Text, says) {
		p.t.Errorf("%s: found %q, expected %q", path, r.Text, says)
	}
	return r
}

func TestSaveKeepsTheModeAndLeavesNothingBehind(t *testing.T) {
	p := start(t)
	const name = "rules/fdel@1.lua"
	if err := os.Chmod(filepath.Join(p.dir, name), 0o640); err != nil {
		t.Fatal(err)
	}
	file := fetch[File](p, "api/file?name="+name, http.StatusOK)
	// What a crash left of an earlier save is no hindrance.
	if err := os.WriteFile(filepath.Join(p.dir, "rules/.fdel@1.lua.saving"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	text := "-- 航班\n" + file.Text
	saved := ask[Saved](p, "api/file", Save{name, text, file.Digest}, http.StatusOK)
	info, err := os.Stat(filepath.Join(p.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	if got := p.onDisk(name); got != text || info.Mode().Perm() != 0o640 {
		t.Errorf("found mode %v and\n%s\nexpected -rw-r----- and\n%s", info.Mode(), got, text)
	}
	if again := fetch[File](p, "api/file?name="+name, http.StatusOK); again.Digest != saved.Digest {
		t.Errorf("the digest of the save is %s, that of the file %s", saved.Digest, again.Digest)
	}
	left, err := filepath.Glob(filepath.Join(p.dir, "rules/.*"))
	if err != nil || len(left) > 0 {
		t.Errorf("found %v, %v beside the file, expected nothing", left, err)
	}
}

// TestSaveRefusesWhatChangedOnDisk, and goes on from what is there when asked to.
func TestSaveRefusesWhatChangedOnDisk(t *testing.T) {
	p := start(t)
	const name = "rules/fdel@1.lua"
	file := fetch[File](p, "api/file?name="+name, http.StatusOK)
	const theirs = "-- somebody else's\n"
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(theirs), 0o600); err != nil {
		t.Fatal(err)
	}
	no := p.refused("api/file", Save{name, "-- mine\n", file.Digest}, http.StatusConflict, "Read it again")
	if got := p.onDisk(name); got != theirs || no.Digest != digestOf([]byte(theirs)) {
		t.Fatalf("found %q, digest %s, expected the file untouched and its digest", got, no.Digest)
	}
	ask[Saved](p, "api/file", Save{name, "-- mine\n", no.Digest}, http.StatusOK)
	if got := p.onDisk(name); got != "-- mine\n" {
		t.Errorf("found %q, expected the text saved over it", got)
	}
	if err := os.Remove(filepath.Join(p.dir, name)); err != nil {
		t.Fatal(err)
	}
	p.refused("api/file", Save{name, "-- mine\n", no.Digest}, http.StatusConflict, "no longer there")
}

func TestOnlyFilesOfTheRuleSetAreReadOrWritten(t *testing.T) {
	p := start(t)
	outside := filepath.Join(t.TempDir(), "outside.lua")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(p.dir, "rules/fdel@7.lua")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		outside, "../outside.lua", "rules/../../outside.lua", "rules/lib/../../../outside.lua", "rules/README.md", "rules/.fdel@1.lua.saving", "", ".",
		"rules/fdel@1.lua/", `rules\fdel@1.lua`, "rules/fdel@1.lua\x00", "rules//fdel@1.lua",
	} {
		t.Run(fmt.Sprintf("%q", name), func(t *testing.T) {
			fetch[refusal](p, "api/file?name="+url.QueryEscape(name), http.StatusBadRequest)
			p.refused("api/file", Save{name, "x", digestOf([]byte("secret"))}, http.StatusBadRequest, "expected handlers.lua")
			p.refused("api/evaluate", Question{File: name}, http.StatusBadRequest, "expected handlers.lua")
			p.refused("api/version", Version{File: name}, http.StatusBadRequest, "expected handlers.lua")
		})
	}
	p.refused("api/file", Save{"rules/fdel@7.lua", "x", digestOf([]byte("secret"))}, http.StatusConflict, "edit what it leads to")
	if got, err := os.ReadFile(outside); err != nil || string(got) != "secret" {
		t.Errorf("found %q, %v outside, expected it untouched", got, err)
	}
	if got := fetch[refusal](p, "api/file?name=rules/fdle@1.lua", http.StatusNotFound); !strings.Contains(got.Text, `did you mean "rules/fdel@1.lua"`) && !strings.Contains(got.Text, "fdel@1.lua") {
		t.Errorf("found %q, expected the nearest name", got.Text)
	}
}

// TestTheRuleSetInTheBinaryIsReadOnly, and everything but writing works.
func TestTheRuleSetInTheBinaryIsReadOnly(t *testing.T) {
	p := start(t, readOnly)
	q := p.gates("merge.replace", `merge.by_key("GTNO")`)
	if a := p.evaluated(q); a.Result == nil || len(a.Result.Messages) != 3 {
		t.Errorf("found %+v, expected a result", a)
	}
	p.refused("api/file", Save{q.File, q.Source, ""}, http.StatusForbidden, "--dir")
	p.refused("api/version", Version{File: q.File, Source: q.Source}, http.StatusForbidden, "--dir")
	p.refused("api/case", NewCase{Question: q, Name: "new", Comment: "New."}, http.StatusForbidden, "--golden")
}

func TestANewVersionIsFiled(t *testing.T) {
	p := start(t)
	q := p.gates("merge.replace", `merge.by_key("GTNO")`)
	saved := ask[Saved](p, "api/version", Version{File: q.File, Source: q.Source}, http.StatusOK)
	if saved.File != "rules/flop-gtdt@2.lua" || p.onDisk(saved.File) != q.Source {
		t.Fatalf("found %+v, expected version 2 with the text", saved)
	}
	p.refused("api/version", Version{File: "handlers.lua"}, http.StatusBadRequest, "has no versions")
}

// TestSavesSideBySide: of two that began with the same text one is refused.
func TestSavesSideBySide(t *testing.T) {
	f := &folder{dir: t.TempDir()}
	f.files = os.DirFS(f.dir)
	if err := os.WriteFile(filepath.Join(f.dir, "handlers.lua"), []byte("0"), 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	for _, text := range []string{"1", "2"} {
		go func() {
			_, err := f.save("handlers.lua", text, digestOf([]byte("0")))
			ended <- err
		}()
	}
	first, second := <-ended, <-ended
	if (first == nil) == (second == nil) {
		t.Errorf("found %v and %v, expected one to be refused", first, second)
	}
	if text, err := fs.ReadFile(f.files, "handlers.lua"); err != nil || string(text) == "0" {
		t.Errorf("found %q, %v, expected one of them saved", text, err)
	}
}
