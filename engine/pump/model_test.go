package pump_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"msgx/engine/clock"
	"msgx/engine/decision"
	"msgx/engine/event"
	"msgx/engine/fault"
	"msgx/engine/flight"
	"msgx/engine/message"
)

// fate is what one counted attempt at a message comes to.
type fate string

const (
	succeed     fate = "succeed"
	skip        fate = "skip"
	malformed   fate = "malformed"
	protocol    fate = "protocol"
	codecError  fate = "codec error"
	decodePanic fate = "decode panic"
	unsupported fate = "unsupported"
	ruleError   fate = "rule error"
	judgePanic  fate = "judge panic"
	claimPanic  fate = "claim panic"
	infra       fate = "transaction fails"
	unreadable  fate = "body unreadable"
	absent      fate = "body absent"
	copied      fate = "body only in our own copy"
)

// hiccup is trouble that counts for nothing, once per call.
type hiccup string

const (
	none           hiccup = ""
	away           hiccup = "away"
	doubtCommitted hiccup = "commit in doubt, committed"
	doubtLost      hiccup = "commit in doubt, rolled back"
	moved          hiccup = "moved"
)

// script is the way of one message: what its attempts come to (the last
// fate repeats), and what happens to the calls that would store them.
type script struct {
	fates   []fate
	hiccups []hiccup
}

func (s script) at(attempts int) fate { return s.fates[min(attempts, len(s.fates)-1)] }

// row is what the model store keeps of a message.
type row struct {
	State    message.State
	Class    message.ErrorClass
	Reason   string
	Attempts int
	next     time.Time
	identity string
	applied  int // business commits since it was enqueued or replayed
	raw      bool
}

// model is store and mailbox in one, strict about everything that the pump
// must not do.
type model struct {
	mu         sync.Mutex
	rows       map[int64]*row
	scripts    map[int64]script
	watermark  int64
	epoch      int64 // raised by a takeover
	paused     time.Time
	down       bool
	full       bool // reads well and writes nothing
	lenient    bool // Settle does not ask whether the message is the head
	downMail   bool
	order      []int64 // as committed, failures included
	violations []string
	calls      map[string]int
	last       decision.Settlement
	onClaim    func() // runs before the transaction reads the head
	onJudging  func() // runs while the judge works, without the lock
	onJudged   func() // runs after the judge has answered, before the commit
	commitTime time.Duration
	bodySize   int
	bodySizes  map[int64]int // of single messages
	decoded    int           // decoder calls
}

func newModel(watermark int64, scripts map[int64]script) *model {
	m := &model{rows: map[int64]*row{}, scripts: scripts, watermark: watermark, calls: map[string]int{}, bodySize: 10}
	for id := range scripts {
		m.rows[id] = &row{State: message.Pending}
	}
	return m
}

var (
	errConstraint = errors.New("constraint violated")
	errBody       = errors.New("body cannot be read\x00")
)

func now() time.Time { return clock.System{}.Now() }

func (m *model) violate(format string, args ...any) {
	m.violations = append(m.violations, fmt.Sprintf(format, args...))
}

func (m *model) unfinished() []int64 {
	var out []int64
	for id, r := range m.rows {
		if r.State == message.Pending || r.State == message.Failed {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

func (m *model) decodes() int { m.mu.Lock(); defer m.mu.Unlock(); return m.decoded }

func (m *model) do(fn func()) { m.mu.Lock(); defer m.mu.Unlock(); fn() }

func (m *model) Heads(ctx context.Context, limit int) (heads []message.Head, watermark, beyond int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls["heads"]++
	if m.down {
		return nil, 0, 0, fault.ErrUnavailable
	}
	for _, id := range m.unfinished() {
		switch {
		case id > m.watermark && beyond == 0:
			beyond = id
		case id <= m.watermark && len(heads) < limit:
			heads = append(heads, m.head(id))
		}
	}
	return heads, m.watermark, beyond, ctx.Err()
}

func (m *model) head(id int64) message.Head {
	r := m.rows[id]
	h := message.Head{MsgID: id, State: r.State, Attempts: r.Attempts, Class: r.Class, LastError: r.Reason, Identity: r.identity}
	if r.State == message.Failed {
		h.NextAttemptAt = r.next
	}
	return h
}

func (m *model) RawCopy(_ context.Context, id int64) (message.Raw, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down {
		return message.Raw{}, false, fault.ErrUnavailable
	}
	return m.rawOf(id), m.fate(id) == copied, nil
}

func (m *model) Paused(context.Context) (map[string]bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls["paused"]++
	if m.down {
		return nil, fault.ErrUnavailable
	}
	return map[string]bool{"pump": !m.paused.IsZero()}, nil
}

func (m *model) rawOf(id int64) message.Raw {
	size, ok := m.bodySizes[id]
	if !ok {
		size = m.bodySize
	}
	return message.Raw{MsgID: id, Body: make([]byte, size)}
}

func (m *model) fate(id int64) fate { return m.scripts[id].at(m.rows[id].Attempts) }

func (m *model) Bodies(ctx context.Context, ids []int64, maxBytes int64) (raws []message.Raw, last int64, err error) {
	if err := clock.Sleep(ctx, clock.System{}, time.Millisecond); err != nil {
		return nil, 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls["bodies"]++
	if m.downMail {
		return nil, 0, fmt.Errorf("mailbox: %w", fault.ErrUnavailable)
	}
	var size int64
	for _, id := range ids {
		raw := m.rawOf(id)
		if size += int64(len(raw.Body)); size > maxBytes && len(raws) > 0 {
			break
		}
		last = id
		switch m.fate(id) {
		case unreadable:
			return nil, 0, errBody
		case absent, copied:
			continue
		}
		raws = append(raws, raw)
	}
	return raws, last, nil
}

type codecFault struct{ class message.ErrorClass }

func (f codecFault) Error() string                    { return "codec: " + string(f.class) }
func (f codecFault) MessageClass() message.ErrorClass { return f.class }

func (m *model) Decode(raw message.Raw) (*message.Message, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.decoded++
	switch m.fate(raw.MsgID) {
	case malformed:
		return nil, codecFault{message.Malformed}
	case codecError:
		return nil, codecFault{message.CodecError}
	case decodePanic:
		panic("decoder bug\x00")
	}
	return &message.Message{ID: raw.MsgID, Kind: "FLOP-STND", SHA256: "sha"}, nil
}

func (m *model) Claim(msg *message.Message) decision.Claim {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fate(msg.ID) == claimPanic {
		panic("claim bug")
	}
	return decision.Claim{MsgID: msg.ID, Identity: fmt.Sprint("id|", msg.ID)}
}

func (m *model) Broken(raw message.Raw, err error, at time.Time) decision.Settlement {
	var c codecFault
	errors.As(err, &c)
	state := message.Failed
	if c.class == message.Malformed {
		state = message.Dead
	}
	return decision.Settlement{MsgID: raw.MsgID, Outcome: message.Outcome{State: state, Class: c.class, Reason: err.Error()}, At: at}
}

// Judge is called inside Decide, which holds the lock.
func (m *model) Judge(msg *message.Message, found decision.Claimed, at time.Time) decision.Settlement {
	s := decision.Settlement{MsgID: msg.ID, Identity: fmt.Sprint("id|", msg.ID), Kind: msg.Kind, At: at, Ruleset: "rules"}
	s.Effects.Events = []event.Event{{FLID: flight.ID(msg.ID)}}
	if m.onJudging != nil {
		m.mu.Unlock()
		m.onJudging()
		m.mu.Lock()
	}
	switch m.scripts[msg.ID].at(found.Head.Attempts) {
	case skip:
		s.Outcome = message.Outcome{State: message.Skipped, Reason: "no match"}
	case protocol:
		s.Outcome = message.Outcome{State: message.Dead, Class: message.Protocol, Reason: "count"}
	case unsupported:
		s.Outcome = message.Outcome{State: message.Failed, Class: message.UnsupportedErr, Reason: "kind"}
	case ruleError:
		s.Outcome = message.Outcome{State: message.Failed, Class: message.RuleError, Reason: "x.lua:1"}
	case judgePanic:
		panic("rule host bug")
	default:
		s.Outcome = message.Outcome{State: message.Succeeded}
	}
	return s
}

// writer is the model as one lease epoch may write it.
type writer struct {
	*model
	epoch int64
}

func (w writer) Decide(ctx context.Context, c decision.Claim, judge func(decision.Claimed) (decision.Settlement, error)) error {
	if err := clock.Sleep(ctx, clock.System{}, time.Millisecond); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls["decide"]++
	h, err := w.admit(c.MsgID)
	if err != nil {
		return err
	}
	if ids := w.unfinished(); ids[0] != c.MsgID || c.MsgID > w.watermark {
		return fault.ErrMoved
	}
	if w.onClaim != nil {
		w.onClaim()
	}
	s, err := judge(decision.Claimed{Head: w.head(c.MsgID)})
	if err != nil {
		return err
	}
	if w.onJudged != nil {
		w.onJudged()
	}
	if w.commitTime > 0 {
		w.mu.Unlock() // a bubble's clock stands still while somebody waits for a mutex
		err := clock.Sleep(ctx, clock.System{}, w.commitTime)
		w.mu.Lock()
		if err != nil {
			return fmt.Errorf("%w: %w", fault.ErrCommitInDoubt, err)
		}
	}
	if w.fate(c.MsgID) == infra {
		return errConstraint
	}
	return w.store(s, h)
}

func (w writer) Settle(ctx context.Context, s decision.Settlement) error {
	if err := clock.Sleep(ctx, clock.System{}, time.Millisecond); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls["settle"]++
	h, err := w.admit(s.MsgID)
	if err != nil {
		return err
	}
	if w.rows[s.MsgID].Attempts != s.Before { // sent through again meanwhile
		return fault.ErrMoved
	}
	if !w.lenient && (w.unfinished()[0] != s.MsgID || s.MsgID > w.watermark) {
		return fault.ErrMoved
	}
	if s.Outcome.State == message.Succeeded {
		w.violate("message %d: Settle with SUCCEEDED", s.MsgID)
	}
	return w.store(s, h)
}

func (w writer) Resolve(ctx context.Context, id int64) (message.State, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls["resolve"]++
	if w.down || w.full {
		return "", fault.ErrUnavailable
	}
	return w.rows[id].State, ctx.Err()
}

// admit checks what both writes check, and takes the next hiccup of the message.
func (w writer) admit(id int64) (hiccup, error) {
	if w.down || w.full {
		return none, fault.ErrUnavailable
	}
	if w.model.epoch != w.epoch {
		return none, fault.ErrFenced
	}
	r := w.rows[id]
	if r.State != message.Pending && r.State != message.Failed {
		return none, fault.ErrMoved
	}
	s := w.scripts[id]
	if len(s.hiccups) == 0 {
		return none, nil
	}
	h := s.hiccups[0]
	s.hiccups = s.hiccups[1:]
	w.scripts[id] = s
	switch h {
	case away:
		return none, fault.ErrUnavailable
	case moved:
		return none, fault.ErrMoved
	}
	return h, nil
}

// store commits, or pretends to.
func (w writer) store(s decision.Settlement, h hiccup) error {
	if h == doubtLost {
		return fault.ErrCommitInDoubt
	}
	r := w.rows[s.MsgID]
	at := now()
	if r.State == message.Failed && at.Before(r.next) {
		w.violate("message %d: tried again at %v, due at %v", s.MsgID, at, r.next)
	}
	if !w.paused.IsZero() && at.Sub(w.paused) > 510*time.Millisecond {
		w.violate("message %d: decided %v after the pause", s.MsgID, at.Sub(w.paused))
	}
	if s.Outcome.State != message.Succeeded && len(s.Effects.Events) > 0 {
		w.violate("message %d: %s with effects", s.MsgID, s.Outcome.State)
	}
	if s.Outcome.State == message.Failed && !s.NextAt.After(at.Add(-time.Second)) {
		w.violate("message %d: FAILED without a time to try again", s.MsgID)
	}
	r.State, r.Class, r.Reason, r.Attempts, r.next = s.Outcome.State, s.Outcome.Class, s.Outcome.Reason, s.Attempts, s.NextAt
	if r.identity == "" {
		r.identity = s.Identity
	}
	r.raw = r.raw || s.Raw != nil
	if s.Outcome.State == message.Succeeded {
		if r.applied++; r.applied > 1 {
			w.violate("message %d: applied %d times", s.MsgID, r.applied)
		}
	}
	w.order = append(w.order, s.MsgID)
	w.last = s
	if h == doubtCommitted {
		return fault.ErrCommitInDoubt
	}
	return nil
}
