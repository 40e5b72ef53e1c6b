package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"msgx/engine/clock"
	"msgx/engine/decision"
	"msgx/engine/fault"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/rehearse"
)

// Store is what is read and written of our own database.
type Store interface {
	RawCopy(ctx context.Context, msgID int64) (message.Raw, bool, error)
	// Look reads what a claim names, without a lock.
	Look(ctx context.Context, c decision.Claim) (decision.View, error)
	// Holders tells which of the identities are bound.
	Holders(ctx context.Context, identities []string) (map[string]message.Binding, error)
	// Touches lists the last versions of each flight that later messages brought about.
	Touches(ctx context.Context, flights []flight.ID, after int64, limit int) ([]message.Touch, error)
	// Replay makes messages PENDING, unless leave, which sees the locked row, has a reason not to.
	Replay(ctx context.Context, ids []int64, o message.Order, leave func(message.Standing) string) ([]message.Standing, []message.Left, error)
}

// Mailbox is where bodies are.
type Mailbox interface {
	Bodies(ctx context.Context, ids []int64, maxBytes int64) (raws []message.Raw, last int64, err error)
}

// Parts are what a replay works with.
type Parts struct {
	Store   Store
	Mailbox Mailbox // nil to read our own copies alone
	Decoder rehearse.Decoder
	Judge   rehearse.Judge
	Clock   clock.Clock
	// Classes are those that may be sent through again.
	Classes []message.ErrorClass
	// IdentityMemory is how long an identity is remembered; 0 for ever.
	IdentityMemory time.Duration
}

// Replay plans and sends through. It is for one goroutine.
type Replay struct {
	Parts
	away error // the mailbox did not answer: it is not asked for every message again
}

// New makes a replay.
func New(p Parts) *Replay {
	if p.Clock == nil {
		p.Clock = clock.System{}
	}
	return &Replay{Parts: p}
}

// Leave says why a message is not sent through again, "" when it may be.
func (r *Replay) Leave(m message.Standing) string {
	switch m.State {
	case message.Dead, message.Failed:
	case message.Pending:
		return "it is PENDING: it is decided in its turn"
	case message.Archived:
		return "it is ARCHIVED: all that is left of it here is the memory of its identity"
	default:
		return fmt.Sprintf("it is %s: what is finished is not decided again", m.State)
	}
	if !slices.Contains(r.Classes, m.Class) {
		return fmt.Sprintf("class %s is not replayed, only %s", m.Class, classNames(r.Classes))
	}
	return ""
}

func classNames(classes []message.ErrorClass) string {
	names := make([]string, len(classes))
	for i, c := range classes {
		names[i] = string(c)
	}
	return strings.Join(names, " ")
}

// Send sends the messages of a plan through again. Those that have moved on since are left out.
func (r *Replay) Send(ctx context.Context, p Plan, o message.Order) (sent []message.Standing, left []message.Left, err error) {
	ids := make([]int64, len(p.Forecasts))
	for i, f := range p.Forecasts {
		ids[i] = f.Message.MsgID
	}
	if len(ids) == 0 {
		return nil, nil, nil
	}
	return r.Store.Replay(ctx, ids, o, r.Leave)
}

// body reads a body from the mailbox or else from our own copies. A reason says why there is none: a mailbox that
// does not answer is one, and no error.
func (r *Replay) body(ctx context.Context, msgID int64) (raw message.Raw, reason string, err error) {
	raws, unreadable := r.ask(ctx, msgID)
	if len(raws) == 1 {
		return raws[0], "", nil
	}
	if ctx.Err() != nil {
		return raw, "", ctx.Err()
	}
	raw, found, err := r.Store.RawCopy(ctx, msgID)
	switch {
	case err != nil:
		return raw, "", err
	case found:
		return raw, "", nil
	case unreadable != "":
		reason = "its body cannot be read, and we keep no copy: " + unreadable
	case r.Mailbox == nil:
		reason = "we keep no copy of its body, and no mailbox is configured"
	default:
		reason = "its body is neither in the mailbox nor among our own copies"
	}
	return raw, reason, nil
}

// ask reads a body from the mailbox; unreadable is why that cannot be done.
func (r *Replay) ask(ctx context.Context, msgID int64) (raws []message.Raw, unreadable string) {
	if r.Mailbox == nil {
		return nil, ""
	}
	if r.away != nil {
		return nil, r.away.Error()
	}
	raws, _, err := r.Mailbox.Bodies(ctx, []int64{msgID}, 1)
	if err == nil {
		return raws, ""
	}
	if errors.Is(err, fault.ErrUnavailable) {
		r.away = err
	}
	return nil, err.Error()
}
