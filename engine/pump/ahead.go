package pump

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"msgx/engine/fault"
	"msgx/engine/message"
	"msgx/engine/outage"
)

// item is one message on its way from the mailbox to its decision.
type item struct {
	head message.Head
	raw  message.Raw
	size int // of the body, as long as it takes room

	// Exactly one of these holds.
	msg        *message.Message // decoded
	broken     error            // the decoder refused it
	panicked   string           // the decoder panicked
	absent     bool             // the body is nowhere
	unreadable error            // the body cannot be read, though the servers answer
	away       error            // a server is away; nothing follows
	server     *outage.Outage   // which
}

// session decides what it reads ahead until something makes what was read
// ahead worthless or there is no more.
func (p *Pump) session(ctx context.Context, heads []message.Head) step {
	aheadCtx, cancel := context.WithCancel(ctx)
	room := newRoom(p.opts.Ahead, p.opts.AheadBytes)
	bodies, decoded := make(chan item, p.opts.Ahead), make(chan item, p.opts.Ahead)
	var ahead sync.WaitGroup
	ahead.Go(func() { (&reader{p, room, bodies}).run(aheadCtx, heads) })
	ahead.Go(func() { p.decode(aheadCtx, bodies, decoded) })
	defer ahead.Wait()
	defer cancel()

	for it := range decoded {
		p.meters.ahead.Set(float64(len(decoded)))
		if s := p.one(ctx, it); s.leave {
			return s
		}
		room.give(it.size)
	}
	return step{leave: true}
}

// reader reads bodies ahead, in order.
type reader struct {
	p    *Pump
	room *room
	out  chan<- item
}

func (r *reader) run(ctx context.Context, heads []message.Head) {
	defer close(r.out)
	for len(heads) > 0 {
		count, bytes, err := r.room.half(ctx)
		if err != nil {
			return
		}
		some := heads[:min(count, len(heads))]
		n := r.read(ctx, some, bytes)
		if n == 0 {
			return
		}
		if heads = heads[n:]; len(heads) == 0 {
			heads = r.more(ctx, some[n-1].MsgID)
		}
	}
}

// more lists what follows the given id. Whatever goes wrong here shows again,
// and is dealt with, when the session has ended.
func (r *reader) more(ctx context.Context, after int64) []message.Head {
	// Those still in flight are in the list too.
	heads, _, _, err := r.p.Line.Heads(ctx, 2*r.p.opts.Ahead)
	if err != nil {
		return nil
	}
	for i, h := range heads {
		if h.MsgID > after {
			return heads[i:]
		}
	}
	return nil
}

// read hands on the first n of heads, with their bodies; 0 when nothing may follow.
func (r *reader) read(ctx context.Context, heads []message.Head, bytes int64) (n int) {
	raws, last, err := r.p.Mailbox.Bodies(ctx, ids(heads), bytes)
	if err != nil && !errors.Is(err, fault.ErrUnavailable) && len(heads) > 1 {
		// Find out whose fault it is: the first one's, or a later one's.
		heads = heads[:1]
		raws, last, err = r.p.Mailbox.Bodies(ctx, ids(heads), bytes)
	}
	switch {
	case errors.Is(err, fault.ErrUnavailable):
		r.send(ctx, item{head: heads[0], away: fmt.Errorf("read bodies: %w", err), server: r.p.mailbox})
		return 0
	case err == nil && last < heads[0].MsgID:
		err = fmt.Errorf("no answer for id %d", heads[0].MsgID)
		fallthrough
	case err != nil:
		r.send(ctx, item{head: heads[0], unreadable: fmt.Errorf("read body: %w", err)})
		return 0
	}
	for _, h := range heads {
		if h.MsgID > last {
			break
		}
		it := item{head: h}
		if len(raws) > 0 && raws[0].MsgID == h.MsgID {
			it.raw, raws = raws[0], raws[1:]
		} else {
			it = r.copyOf(ctx, h)
		}
		it.size = len(it.raw.Body)
		if r.room.take(ctx, it.size) != nil || !r.send(ctx, it) || it.away != nil || it.unreadable != nil {
			return 0
		}
		n++
	}
	return n
}

// copyOf falls back to our own copy of a body that the mailbox no longer has.
func (r *reader) copyOf(ctx context.Context, h message.Head) item {
	raw, ok, err := r.p.Line.RawCopy(ctx, h.MsgID)
	switch {
	case errors.Is(err, fault.ErrUnavailable):
		return item{head: h, away: fmt.Errorf("read raw copy: %w", err), server: r.p.store}
	case err != nil:
		return item{head: h, unreadable: fmt.Errorf("read raw copy: %w", err)}
	}
	return item{head: h, raw: raw, absent: !ok}
}

func (r *reader) send(ctx context.Context, it item) bool {
	select {
	case r.out <- it:
		return true
	case <-ctx.Done():
		return false
	}
}

func ids(heads []message.Head) []int64 {
	out := make([]int64, len(heads))
	for i, h := range heads {
		out[i] = h.MsgID
	}
	return out
}

// decode decodes ahead, in order.
func (p *Pump) decode(ctx context.Context, in <-chan item, out chan<- item) {
	defer close(out)
	for it := range in {
		if !it.absent && it.unreadable == nil && it.away == nil {
			p.decodeOne(&it)
		}
		select {
		case out <- it:
		case <-ctx.Done():
			return
		}
	}
}

func (p *Pump) decodeOne(it *item) {
	defer func() {
		if cause := recover(); cause != nil {
			it.msg, it.panicked = nil, p.caught("decoder", it.head.MsgID, cause)
		}
	}()
	it.msg, it.broken = p.Decoder.Decode(it.raw)
}

// caught puts a panic that one message caused into the log, with its stack,
// and returns what to store of it.
func (p *Pump) caught(who string, msgID int64, cause any) string {
	text := message.SafeText(fmt.Sprintf("%s panicked: %v", who, cause), reasonLimit)
	p.Log.Error("panic while working on a message", "msg_id", msgID, "reason", text, "stack", string(debug.Stack()))
	return text
}
