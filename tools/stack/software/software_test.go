package software

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRelink: absolute links lead into the unpacked tree where it has what they
// mean, all others stay as they are.
func TestRelink(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"etc/maven", "usr/share/maven"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	links := []struct{ path, target, want string }{
		{"usr/share/maven/conf", "/etc/maven", filepath.Join(root, "etc/maven")},
		{"usr/share/maven/lib.jar", "../../java/lib.jar", "../../java/lib.jar"},
		{"usr/share/maven/hosts", "/etc/hosts", "/etc/hosts"},
	}
	for _, link := range links {
		if err := os.Symlink(link.target, filepath.Join(root, link.path)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // unpacking more packages goes over the same tree again
		if err := relink(root); err != nil {
			t.Fatal(err)
		}
	}
	for _, link := range links {
		got, err := os.Readlink(filepath.Join(root, link.path))
		if err != nil || got != link.want {
			t.Errorf("%s -> %s: got %s, %v, want %s", link.path, link.target, got, err, link.want)
		}
	}
}

// TestFindPostgresTakesTheHighestCompleteVersion: a version whose server package
// has been removed leaves a folder behind, and 9 sorts after 15 as text.
func TestFindPostgresTakesTheHighestCompleteVersion(t *testing.T) {
	root := t.TempDir()
	for _, program := range []string{"9/bin/initdb", "9/bin/postgres", "15/bin/initdb", "15/bin/postgres", "17/bin/initdb"} {
		path := filepath.Join(root, "usr/lib/postgresql", program)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	got, ok := findPostgres(root)
	want := Home{Prefix: root, Bin: filepath.Join(root, "usr/lib/postgresql/15/bin")}
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("found %v (-want +got):\n%s", ok, diff)
	}
}
