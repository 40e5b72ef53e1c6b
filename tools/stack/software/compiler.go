package software

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
)

// HasCompiler tells whether there is the C compiler that Go would call, which
// its race detector needs.
func HasCompiler() bool {
	_, err := exec.LookPath(cmp.Or(os.Getenv("CC"), "gcc"))
	return err == nil
}

// EnsureCompiler installs a C compiler if there is none. Unpacking one without
// the right to install would not give one that works, so that is an error.
func (f Finder) EnsureCompiler(ctx context.Context) error {
	if HasCompiler() {
		return nil
	}
	if _, ok := f.privilege(ctx); !ok {
		return errors.New("there is no C compiler and no right to install one")
	}
	return f.install(ctx, "gcc", "libc6-dev")
}
