package audit

import (
	"context"
	"errors"

	"msgx/engine/fault"
)

// scan walks rows in ascending order of a key, a page at a time.
type scan[T any] struct {
	read  func(ctx context.Context, after int64) ([]T, error)
	key   func(*T) int64
	rows  []T
	after int64
	ended bool
}

func newScan[T any](after int64, read func(ctx context.Context, after int64) ([]T, error), key func(*T) int64) *scan[T] {
	return &scan[T]{read: read, key: key, after: after}
}

// peek is the next row, nil at the end.
func (s *scan[T]) peek(ctx context.Context) (*T, error) {
	if len(s.rows) == 0 && !s.ended {
		rows, err := s.read(ctx, s.after)
		if err != nil {
			return nil, err
		}
		s.rows, s.ended = rows, len(rows) == 0
	}
	if s.ended {
		return nil, nil
	}
	return &s.rows[0], nil
}

// pass goes on to the row after the one that peek gave.
func (s *scan[T]) pass() {
	s.after = s.key(&s.rows[0])
	s.rows = s.rows[1:]
}

// bits is a set of numbers that lie close together, a bit each.
type bits map[int64]*[64]uint64

func (b bits) has(n int64) bool {
	chunk := b[n>>12]
	return chunk != nil && chunk[n>>6&63]&(1<<(n&63)) != 0
}

func (b bits) add(n int64) {
	chunk := b[n>>12]
	if chunk == nil {
		chunk = new([64]uint64)
		b[n>>12] = chunk
	}
	chunk[n>>6&63] |= 1 << (n & 63)
}

// without calls fn for each number of b that is not in other.
func (b bits) without(other bits, fn func(n int64)) {
	for high, chunk := range b {
		for word, set := range chunk {
			if rest := other[high]; rest != nil {
				set &^= rest[word]
			}
			for bit := range 64 {
				if set&(1<<bit) != 0 {
					fn(high<<12 | int64(word)<<6 | int64(bit))
				}
			}
		}
	}
}

// load asks for a rule set; nil is one that is not at hand.
func load(ctx context.Context, from Rulesets, hash string) (*Ruleset, error) {
	if from == nil || hash == "" {
		return nil, nil
	}
	set, err := from.Load(ctx, hash)
	if errors.Is(err, fault.ErrNotFound) {
		return nil, nil
	}
	return set, err
}
