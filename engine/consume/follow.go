package consume

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"msgx/engine/clock"
	"msgx/engine/evidence"
	"msgx/engine/fault"
)

// Topic is where records come from; the reader of engine/outbox/kafka is one. Next tells what is there from a position on,
// each partition in order, and moves the position behind what was told.
type Topic interface {
	Next(ctx context.Context, p evidence.Position, tell func(evidence.Record) error) error
}

// Start says where to begin. It is asked again while the brokers are away.
type Start func(context.Context) (evidence.Position, error)

// From begins at a position that was kept; an empty one is the beginning of the topic.
func From(p evidence.Position) Start {
	return func(context.Context) (evidence.Position, error) {
		at := evidence.Position{}
		maps.Copy(at, p)
		return at, nil
	}
}

// Follower tells what a topic holds and what comes, until it is stopped.
//
// It belongs to no consumer group: it reads all partitions, and its owner keeps the position. So no rebalance takes
// a partition away from it, and who keeps the position in the transaction in which the records take effect sees each
// record's effect once. Whoever keeps it afterwards sees some records again after a crash, which Feed and Latest tell.
//
// While the brokers are away, or a partition has no leader, it tries again after Waits. Other errors end it.
type Follower struct {
	Topic Topic
	Clock clock.Clock
	Pause time.Duration   // between two looks
	Waits []time.Duration // the back-off steps while the brokers are away; the last repeats
	// Keep, unless nil, is given the position behind what was told, to be kept. Its error ends the following.
	Keep func(evidence.Position) error
	// Away and Back, unless nil, are told once each of an outage.
	Away func(error)
	Back func()
}

// The pauses that Follow sets.
const defaultPause = 300 * time.Millisecond

var defaultWaits = []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second}

// Follow makes a follower with the pauses of most.
func Follow(topic Topic) *Follower {
	return &Follower{Topic: topic, Clock: clock.System{}, Pause: defaultPause, Waits: defaultWaits}
}

// Run tells each record until ctx ends or tell returns an error, which it returns: a record is told again after that, unless the
// position behind it was kept.
func (f *Follower) Run(ctx context.Context, start Start, tell func(evidence.Record) error) error {
	var at evidence.Position
	for failures := 0; ; {
		moved, err := f.look(ctx, &at, start, tell)
		if moved && f.Keep != nil {
			if err := f.Keep(maps.Clone(at)); err != nil {
				return err
			}
		}
		wait := f.Pause
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errAway):
			if failures == 0 && f.Away != nil {
				f.Away(err)
			}
			wait = f.Waits[min(failures, len(f.Waits)-1)]
			failures++
		case err != nil:
			return err
		default:
			if failures > 0 && f.Back != nil {
				f.Back()
			}
			failures = 0
		}
		if err := clock.Sleep(ctx, f.Clock, wait); err != nil {
			return err
		}
	}
}

// errAway marks an outage of the brokers; one of whoever is told is not ours to wait for.
var errAway = errors.New("the brokers are away")

// look tells what has come, and whether the position has moved.
func (f *Follower) look(ctx context.Context, at *evidence.Position, start Start, tell func(evidence.Record) error) (moved bool, err error) {
	if *at == nil {
		*at, err = start(ctx)
		if err != nil {
			*at = nil
			return false, away(err)
		}
		moved = true // "now" is kept before anything comes
	}
	before := maps.Clone(*at)
	var told error
	err = f.Topic.Next(ctx, *at, func(r evidence.Record) error {
		told = tell(r)
		return told
	})
	moved = moved || !maps.Equal(before, *at)
	if told != nil {
		return moved, told
	}
	return moved, away(err)
}

func away(err error) error {
	if errors.Is(err, fault.ErrUnavailable) {
		return fmt.Errorf("%w: %w", errAway, err)
	}
	return err
}
