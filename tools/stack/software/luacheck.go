package software

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Program is how to start something: the words of the command, and what to add to
// the environment.
type Program struct {
	Argv        []string
	Environment []string
}

// EnsureLuacheck finds luacheck, installing it if need be: the second opinion on the Lua
// rules. Only one process at a time may call it for a folder.
func (f Finder) EnsureLuacheck(ctx context.Context) (Program, error) {
	if p, ok := f.findLuacheck(); ok {
		return p, nil
	}
	if err := f.install(ctx, "lua-check"); err != nil {
		return Program{}, fmt.Errorf("install luacheck: %w", err)
	}
	if p, ok := f.findLuacheck(); ok {
		return p, nil
	}
	return Program{}, errors.New("install luacheck: the package is there, but the program was not found")
}

// findLuacheck looks on the path and below the finder's folder. It is written in Lua:
// unpacked, it needs its interpreter and the places of its modules.
func (f Finder) findLuacheck() (Program, bool) {
	if os.Getenv("MSGX_STACK_UNPACKED") != "1" {
		if path, err := exec.LookPath("luacheck"); err == nil {
			return Program{Argv: []string{path}}, true
		}
	}
	home := Home{Prefix: f.unpacked()}
	script, lua := home.Tool("luacheck"), home.Tool("lua5.1")
	if lua == "" {
		lua, _ = exec.LookPath("lua5.1")
	}
	if script == "" || lua == "" {
		return Program{}, false
	}
	modules := filepath.Join(home.Prefix, "usr/share/lua/5.1")
	compiled, _ := filepath.Glob(filepath.Join(home.Prefix, "usr/lib/*-linux-*/lua/5.1"))
	native := ""
	for _, dir := range compiled {
		native += filepath.Join(dir, "?.so") + ";"
	}
	return Program{
		Argv: []string{lua, script},
		Environment: append(home.Environment(),
			"LUA_PATH="+filepath.Join(modules, "?.lua")+";"+filepath.Join(modules, "?/init.lua")+";;",
			"LUA_CPATH="+native+";;"),
	}, true
}
