package golden

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"msgx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if report, err := Run(ctx, Options{Catalogue: catalogueOf(t), Rules: msgx.Files}); !errors.Is(err, context.Canceled) || report != nil {
		t.Errorf("%v, %v, expected the run to be given up", report, err)
	}
}
