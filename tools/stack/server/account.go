package server

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is who the servers run as. The zero value is the present user.
type account struct {
	uid, gid uint32
	name     string
	drop     bool
}

// unprivileged returns the account for the servers: as root the first of nobody
// and postgres that the machine knows, otherwise the present user.
func unprivileged() (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	for _, name := range []string{"nobody", "postgres"} {
		known, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.ParseUint(known.Uid, 10, 32)
		gid, errGID := strconv.ParseUint(known.Gid, 10, 32)
		if errUID == nil && errGID == nil && uid != 0 {
			return account{uid: uint32(uid), gid: uint32(gid), name: name, drop: true}, nil
		}
	}
	return account{}, fmt.Errorf("no unprivileged account: running as root, found neither nobody nor postgres in the user database")
}

// own makes dir and hands it to the account.
func (a account) own(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make server folder: %w", err)
	}
	if !a.drop {
		return nil
	}
	if err := os.Chown(dir, int(a.uid), int(a.gid)); err != nil {
		return fmt.Errorf("hand server folder to %s: %w", a.name, err)
	}
	return Reachable(filepath.Dir(dir))
}

// attributes returns how to start a process as the account. Its own session
// keeps a terminal's Ctrl-C and the end of the starter away from it; tied makes
// it end with its starter all the same.
func (a account) attributes(tied bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if a.drop {
		attr.Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
	}
	if tied {
		attr.Pdeathsig = syscall.SIGKILL
	}
	return attr
}

// Reachable tells whether an account without rights can get to dir: every
// folder on the way has to be searchable by others.
func Reachable(dir string) error {
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return fmt.Errorf("server folder: %w", err)
		}
		if info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("server folder %s: %s has mode %04o, expected one that others may search; set MSGX_STACK_DIR to a folder elsewhere",
				dir, at, info.Mode().Perm())
		}
		if at == "/" || at == "." {
			return nil
		}
	}
}
