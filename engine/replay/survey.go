package replay

import (
	"context"
	"slices"
	"time"

	"msgx/engine/flight"
	"msgx/engine/message"
)

// Content is what one message of a survey says.
type Content struct {
	Message message.Standing `json:"message"`
	Kind    string           `json:"kind"` // "" when that cannot be read
	Flights []flight.ID      `json:"flights,omitempty"`
	Fault   string           `json:"fault,omitempty"` // why it cannot be read or decoded
}

// Survey is what a set of messages is made of.
type Survey struct {
	Messages []Content             `json:"messages"`
	States   map[message.State]int `json:"states"`
	Kinds    map[string]int        `json:"kinds"`
	Flights  int                   `json:"flights"` // that they name, each once
	Oldest   time.Time             `json:"oldest_enqueued_at,omitzero"`
	Newest   time.Time             `json:"newest_enqueued_at,omitzero"`
}

// Survey reads and decodes messages without deciding anything.
func (r *Replay) Survey(ctx context.Context, messages []message.Standing) (Survey, error) {
	s := Survey{Messages: []Content{}, States: map[message.State]int{}, Kinds: map[string]int{}}
	flights := map[flight.ID]bool{}
	for _, m := range inOrder(messages) {
		c, err := r.read(ctx, m)
		if err != nil {
			return Survey{}, err
		}
		s.Messages = append(s.Messages, c)
		s.States[m.State]++
		s.Kinds[c.Kind]++
		for _, id := range c.Flights {
			flights[id] = true
		}
		if s.Oldest.IsZero() || m.EnqueuedAt.Before(s.Oldest) {
			s.Oldest = m.EnqueuedAt
		}
		if m.EnqueuedAt.After(s.Newest) {
			s.Newest = m.EnqueuedAt
		}
	}
	s.Flights = len(flights)
	return s, nil
}

func (r *Replay) read(ctx context.Context, m message.Standing) (Content, error) {
	c := Content{Message: m, Kind: m.Kind}
	raw, reason, err := r.body(ctx, m.MsgID)
	if err != nil {
		return c, err
	}
	if reason != "" {
		c.Fault = reason
		return c, nil
	}
	msg, broken := r.Decoder.Decode(raw)
	if broken != nil {
		c.Fault = broken.Error()
		if s := r.Judge.Broken(raw, broken, r.Clock.Now()); s.Kind != "" {
			c.Kind = s.Kind
		}
		return c, nil
	}
	c.Kind, c.Flights = msg.Kind, slices.Clone(r.Judge.Claim(msg).Flights)
	return c, nil
}
