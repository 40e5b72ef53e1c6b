package pump

import (
	"context"
	"sync"
	"time"

	"msgx/engine/clock"
)

// transaction gives a transaction a context of its own. When the pump is
// stopped before the decision is made, it ends at once and everything is
// rolled back; a commit that is already under way gets some grace.
type transaction struct {
	ctx    context.Context
	cancel context.CancelFunc
	detach func() bool
	clock  clock.Clock
	grace  time.Duration

	mu         sync.Mutex
	committing bool
	stopped    bool
}

func begin(ctx context.Context, c clock.Clock, grace time.Duration) *transaction {
	t := &transaction{clock: c, grace: grace}
	t.ctx, t.cancel = context.WithCancel(context.WithoutCancel(ctx))
	t.detach = context.AfterFunc(ctx, t.stop)
	return t
}

// commit says that from here on the transaction is committing; an error when
// the pump was stopped before.
func (t *transaction) commit() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return context.Canceled
	}
	t.committing = true
	return nil
}

func (t *transaction) stop() {
	t.mu.Lock()
	t.stopped = true
	committing := t.committing
	t.mu.Unlock()
	if committing {
		_ = clock.Sleep(t.ctx, t.clock, t.grace) // until the transaction is over
	}
	t.cancel()
}

func (t *transaction) end() {
	t.detach()
	t.cancel()
}
