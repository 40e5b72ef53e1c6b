package pump

import (
	"context"
	"sync"
)

// room bounds what is read ahead and not yet decided, in messages and in
// bytes of their bodies. One goroutine takes, another gives back.
type room struct {
	messages int
	bytes    int64

	mu        sync.Mutex
	usedCount int
	usedBytes int64
	changed   chan struct{}
}

func newRoom(messages int, bytes int64) *room {
	return &room{messages: messages, bytes: bytes, changed: make(chan struct{}, 1)}
}

// half waits until at least half of it is free, so that reads are few and
// large, and returns how much is.
func (r *room) half(ctx context.Context) (messages int, bytes int64, err error) {
	err = r.wait(ctx, func() bool {
		messages, bytes = r.messages-r.usedCount, r.bytes-r.usedBytes
		return 2*messages >= r.messages && 2*bytes >= r.bytes
	})
	return messages, bytes, err
}

// take waits until a message of the given size fits. A larger one than there
// is room altogether fits when it is alone.
func (r *room) take(ctx context.Context, size int) error {
	return r.wait(ctx, func() bool {
		fits := r.usedCount == 0 || (r.usedCount < r.messages && r.usedBytes+int64(size) <= r.bytes)
		if fits {
			r.usedCount++
			r.usedBytes += int64(size)
		}
		return fits
	})
}

func (r *room) give(size int) {
	r.mu.Lock()
	r.usedCount--
	r.usedBytes -= int64(size)
	r.mu.Unlock()
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

func (r *room) wait(ctx context.Context, ready func() bool) error {
	for {
		r.mu.Lock()
		ok := ready()
		r.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.changed:
		}
	}
}
