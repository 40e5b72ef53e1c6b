package software

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFindLuacheckUnpacked: the script needs its interpreter and its modules named.
func TestFindLuacheckUnpacked(t *testing.T) {
	t.Setenv("MSGX_STACK_UNPACKED", "1")
	f := Finder{Dir: t.TempDir()}
	if p, ok := f.findLuacheck(); ok {
		t.Fatalf("an empty folder: found %v", p)
	}
	for _, name := range []string{"usr/bin/luacheck", "usr/bin/lua5.1", "usr/lib/x86_64-linux-gnu/lua/5.1/lfs.so"} {
		path := filepath.Join(f.unpacked(), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p, ok := f.findLuacheck()
	if !ok || len(p.Argv) != 2 || p.Argv[0] != filepath.Join(f.unpacked(), "usr/bin/lua5.1") || p.Argv[1] != filepath.Join(f.unpacked(), "usr/bin/luacheck") {
		t.Errorf("found %v, %v, want the interpreter and the script", ok, p.Argv)
	}
	env := strings.Join(p.Environment, "\n")
	for _, want := range []string{"LUA_PATH=" + f.unpacked() + "/usr/share/lua/5.1/?.lua;", "LUA_CPATH=" + f.unpacked() + "/usr/lib/x86_64-linux-gnu/lua/5.1/?.so;"} {
		if !strings.Contains(env, want) {
			t.Errorf("%s is not in\n%s", want, env)
		}
	}
}
