package pump

import (
	"context"
	"errors"
	"time"

	"msgx/engine/fault"
	"msgx/engine/outage"
)

// waits is the back-off while a server is away.
var waits = []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second}

// away is what follows from an error that is no message's fault: a lost lease
// ends the pump, a shutdown is none, anything else is waited for.
func (p *Pump) away(ctx context.Context, s *outage.Outage, err error) step {
	if errors.Is(err, fault.ErrFenced) {
		return step{leave: true, err: err}
	}
	if ctx.Err() != nil {
		return step{leave: true}
	}
	return step{leave: true, wait: s.Failed(err)}
}
