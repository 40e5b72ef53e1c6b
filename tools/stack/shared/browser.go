package shared

import (
	"context"

	"msgx/tools/stack/software"
)

// Browser finds a Chromium, installing one if there is none. No server of the stack is
// needed for it.
func (s *Stack) Browser(ctx context.Context) (software.Browser, error) {
	var found software.Browser
	err := s.change(ctx, func() error {
		var err error
		found, err = (software.Finder{Dir: s.Dir, Say: s.say}).EnsureBrowser(ctx)
		return err
	})
	return found, err
}
