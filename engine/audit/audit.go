package audit

import (
	"context"
	"fmt"
	"time"

	"msgx/engine/catalogue"
	"msgx/engine/clock"
	"msgx/engine/evidence"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/rehearse"
	"msgx/engine/watermark"
)

// Records are processing records as they stood at one moment.
type Records interface {
	Limits(ctx context.Context) (evidence.Limits, error)
	Messages(ctx context.Context, after, last int64, limit int) ([]evidence.Message, error)
	AgedHoles(ctx context.Context, after int64, limit int) ([]watermark.Hole, error)
	// Exceptions tells which messages were let in out of turn.
	Exceptions(ctx context.Context, ids []int64) (map[int64]string, error)
	Decisions(ctx context.Context, after int64, limit int) ([]evidence.Decision, error)
	Copies(ctx context.Context, ids []int64) ([]message.Raw, error)
}

// Flights are flights, their histories and their events as they stood at that moment.
type Flights interface {
	FlightIDs(ctx context.Context, after flight.ID, first, last int64, limit int) ([]flight.ID, error)
	FlightSample(ctx context.Context, after flight.ID, part, parts int64, limit int) ([]flight.ID, error)
	Flights(ctx context.Context, ids []flight.ID) ([]evidence.Flight, error)
	Versions(ctx context.Context, ids []flight.ID) ([]evidence.Version, error)
	Events(ctx context.Context, ids []flight.ID) ([]evidence.Event, error)
	SentEvents(ctx context.Context, after int64, limit int) ([]int64, error)
	Schedules(ctx context.Context, after, first, last int64, limit int) ([]evidence.Schedule, error)
	References(ctx context.Context, typ, key string, limit int) ([]evidence.Reference, error)
}

// Snapshot is our own database as it stood at one moment.
type Snapshot interface {
	Records
	Flights
}

// Mailbox is the shared mailbox, for reading.
type Mailbox interface {
	Arrivals(ctx context.Context, after, last int64, limit int) ([]evidence.Arrival, error)
	Bodies(ctx context.Context, ids []int64, maxBytes int64) (raws []message.Raw, last int64, err error)
}

// Topic is a topic of the broker, read from its beginning to its present end.
type Topic interface {
	Read(ctx context.Context, begin func([]evidence.Extent), tell func(evidence.Record) error) error
}

// Outbox looks events up as they are now.
type Outbox interface {
	EventsByID(ctx context.Context, ids []int64) ([]evidence.Event, error)
}

// Rulesets finds rule sets by their hash; fault.ErrNotFound when one is not at hand.
type Rulesets interface {
	Load(ctx context.Context, hash string) (*Ruleset, error)
}

// Ruleset is a rule set that can decide again.
type Ruleset struct {
	Decoder rehearse.Decoder
	Judge   rehearse.Judge
	Writes  map[string][]string // footprint by script
}

// Needs is what an audit works on.
type Needs struct {
	Catalogue *catalogue.Catalogue
	Clock     clock.Clock
	// Look runs fn on a snapshot of our own database.
	Look     func(ctx context.Context, fn func(Snapshot) error) error
	Mailbox  Mailbox // nil to leave it alone
	Outbox   Outbox  // with the topics
	Msg      Topic   // nil to leave the broker alone
	Schd     Topic
	Rulesets Rulesets
}

// The defaults of Options, as retention is meant by default.
const (
	DefaultHistoryKept    = 90 * 24 * time.Hour
	DefaultEventsKept     = 7 * 24 * time.Hour
	DefaultIdentityMemory = 30 * 24 * time.Hour
	DefaultFindings       = 20
)

// Options bound an audit.
type Options struct {
	From, To int64 // messages; 0 is unbounded
	Rebuild  bool
	// Findings is how many are kept for each invariant; negative keeps all.
	Findings int
	// What is older than these may have been removed, and is not missed.
	HistoryKept, EventsKept time.Duration
	IdentityMemory          time.Duration
	IDStride                int64 // a gap between ids is a hole when it is wider than this
}

func (o Options) withDefaults() Options {
	if o.HistoryKept == 0 {
		o.HistoryKept = DefaultHistoryKept
	}
	if o.EventsKept == 0 {
		o.EventsKept = DefaultEventsKept
	}
	if o.IdentityMemory == 0 {
		o.IdentityMemory = DefaultIdentityMemory
	}
	switch {
	case o.Findings == 0:
		o.Findings = DefaultFindings
	case o.Findings < 0:
		o.Findings = 0
	}
	o.IDStride = max(o.IDStride, 1)
	return o
}

// page is how many rows are read at once; flightPage how many flights, with their histories.
const (
	page       = 1000
	flightPage = 50
)

// Audit is one comparison. It is for one goroutine and one run.
type Audit struct {
	n      Needs
	o      Options
	now    time.Time
	report *Report
	limits evidence.Limits
	rules  map[string]*Ruleset // by hash, nil when not at hand
	states map[flight.ID]expectation
	sent   bits
}

// New makes an audit.
func New(n Needs, o Options) *Audit {
	o = o.withDefaults()
	return &Audit{n: n, o: o, now: n.Clock.Now(), report: newReport(o.Findings),
		rules: map[string]*Ruleset{}, states: map[flight.ID]expectation{}, sent: bits{}}
}

// Run compares everything. An error means that the comparison could not be made; what
// was found is in the report.
func (a *Audit) Run(ctx context.Context) (*Report, error) {
	err := a.n.Look(ctx, func(s Snapshot) error {
		for _, step := range []func(context.Context, Snapshot) error{
			a.begin, a.messages, a.decisions, a.schedules, a.references, a.flights, a.sentEvents, a.rebuild,
		} {
			if err := step(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = a.topics(ctx)
	}
	a.report.close()
	if err != nil {
		return a.report, fmt.Errorf("audit: %w", err)
	}
	return a.report, nil
}

// begin looks at how far the database has come, and at the lease.
func (a *Audit) begin(ctx context.Context, s Snapshot) (err error) {
	if a.limits, err = s.Limits(ctx); err != nil {
		return err
	}
	if a.n.Mailbox == nil {
		for _, i := range []Invariant{Watermark, Marks, EvidenceFirst} {
			a.report.limit(i, "the mailbox was not read")
		}
	}
	a.report.limit(Fencing, "rows do not say under which lease they were written; only lease and heartbeat are compared")
	if a.limits.BeatEpoch > a.limits.Epoch {
		a.report.broken(Fencing, "instance_heartbeat", fmt.Sprintf("a beat of epoch %d", a.limits.BeatEpoch),
			fmt.Sprintf("at most epoch %d, which the lease is at", a.limits.Epoch))
	}
	if !a.o.Rebuild {
		a.report.limit(Rebuild, "a rebuild was not asked for")
	}
	return nil
}

// inRange tells whether a message is to be looked at.
func (a *Audit) inRange(id int64) bool {
	return id >= a.o.From && (a.o.To == 0 || id <= a.o.To)
}

// ruleset is a rule set by its hash, nil when it is not at hand.
func (a *Audit) ruleset(ctx context.Context, hash string) (*Ruleset, error) {
	if set, known := a.rules[hash]; known {
		return set, nil
	}
	set, err := load(ctx, a.n.Rulesets, hash)
	if err != nil {
		return nil, err
	}
	a.rules[hash] = set
	return set, nil
}
