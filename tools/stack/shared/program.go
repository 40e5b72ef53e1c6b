package shared

import (
	"context"

	"msgx/tools/stack/software"
)

// Luacheck finds luacheck, and installs it while nobody else changes the stack.
func (s *Stack) Luacheck(ctx context.Context) (p software.Program, err error) {
	err = s.change(ctx, func() error {
		p, err = software.Finder{Dir: s.Dir, Say: s.say}.EnsureLuacheck(ctx)
		return err
	})
	return p, err
}
