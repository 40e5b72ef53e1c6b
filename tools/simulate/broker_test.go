package simulate_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"msgx/engine/event"
	"msgx/engine/fault"
)

// sent is a record on its way, or in a topic.
type sent struct {
	id      int64
	flid    string
	key     string
	version int64
	by      int64 // lease epoch of its sender
	target  int   // slot of the dispatcher
	until   time.Duration
}

// broker holds both topics.
type broker struct {
	w      *world
	topics [2][]sent // msg, schd
	flying []sent    // taken without an answer, stored later
}

// arrive stores what is on its way and due.
func (b *broker) arrive(now time.Duration) {
	b.flying = slices.DeleteFunc(b.flying, func(r sent) bool {
		if now < r.until {
			return false
		}
		b.store(r, false)
		return true
	})
}

func (b *broker) store(r sent, acknowledged bool) {
	b.w.landed(r, acknowledged)
	topic := r.target - slotMsg
	b.topics[topic] = append(b.topics[topic], r)
}

func header(r event.Record, key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return h.Value
		}
	}
	return ""
}

func (c conn) sent(r event.Record) sent {
	number := func(key string) int64 {
		n, err := strconv.ParseInt(header(r, key), 10, 64)
		if err != nil {
			c.world().violate("header %s of a record: %v", key, err)
		}
		return n
	}
	return sent{id: number("event_id"), flid: header(r, "flid"), key: r.Key, version: number("state_version"), by: c.epoch, target: c.slot}
}

// Publish sends records: those of one key are stored in order, and none after one that is not.
func (c conn) Publish(ctx context.Context, records []event.Record) []event.Receipt {
	w := c.world()
	w.publishing(c)
	all := make([]sent, len(records))
	ids := make([]int64, len(records))
	for i, r := range records {
		all[i] = c.sent(r)
		ids[i] = all[i].id
	}
	v, err := c.at(ctx, sends, "Publish", ids)
	receipts := make([]event.Receipt, len(records))
	if v == away || v == dead {
		for i := range receipts {
			receipts[i] = event.Receipt{Fate: event.NotStored, Reason: "away", Err: fmt.Errorf("%w: %w", fault.ErrUnavailable, err)}
		}
		return receipts
	}
	done := map[string]bool{}
	for i := range records {
		if !done[records[i].Key] {
			done[records[i].Key] = true
			c.publishKey(all, records, receipts, records[i].Key, v)
		}
	}
	return receipts
}

// publishKey sends the records of one key, which stand or fall together.
func (c conn) publishKey(all []sent, records []event.Record, receipts []event.Receipt, key string, v verdict) {
	w, t := c.world(), c.world().tape
	var batch []int
	for i, r := range records {
		if r.Key == key {
			batch = append(batch, i)
		}
	}
	for n, i := range batch {
		id, _ := strconv.ParseInt(header(records[i], "msg_id"), 10, 64)
		if w.byID[id].poison {
			for _, later := range batch[n:] {
				receipts[later] = event.Receipt{Fate: event.Untried}
			}
			receipts[i] = event.Receipt{Fate: event.RefusedForGood, Reason: "too-large"}
			batch = batch[:n]
			break
		}
	}
	fate, arrives := event.Landed, time.Duration(0)
	if v == through && w.trouble.broker && t.chance(25) {
		fate = one(t, event.NotStored, event.Unknown, event.Untried, event.Refused)
		if fate == event.Unknown {
			arrives = one(t, -1, 0, time.Second, brokerBound-time.Millisecond)
		}
	}
	if fate == event.Refused {
		fate = c.refusal(all, batch)
	}
	for _, i := range batch {
		receipts[i] = event.Receipt{Fate: fate, Reason: "drawn"}
		if fate == event.Landed {
			w.broker.store(all[i], v == through)
		}
		if fate == event.Unknown && arrives >= 0 {
			all[i].until = w.now() + arrives
			w.broker.flying = append(w.broker.flying, all[i])
		}
		if fate == event.Unknown && w.mutant == lostIsLanded {
			receipts[i].Fate = event.Landed
		}
	}
	if fate != event.Landed && len(batch) > 0 { // what was to be refused behind it is not looked at
		for i, r := range records {
			if r.Key == key && i > batch[len(batch)-1] {
				receipts[i] = event.Receipt{Fate: event.Untried}
			}
		}
	}
}

// refusal is a refusal of the batch, once: repeated refusals would make a dead letter of an event that is well.
func (c conn) refusal(all []sent, batch []int) event.Fate {
	w := c.world()
	for _, i := range batch {
		if w.refused[all[i].id] {
			return event.NotStored
		}
	}
	for _, i := range batch {
		w.refused[all[i].id] = true
	}
	if len(batch) > 1 {
		return event.Suspect
	}
	return event.Refused
}
