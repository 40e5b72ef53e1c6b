package daemon

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"msgx/cmd/msgx/config"
	"msgx/engine/entry"
	"msgx/engine/store"
)

// leads is what the entry needs of the time of leading; nothing while this instance stands by.
type leads struct {
	now atomic.Pointer[leading]
}

type leading struct {
	writer *store.Writer
	wake   func()
}

func (l *leads) begin(writer *store.Writer, wake func()) { l.now.Store(&leading{writer, wake}) }

func (l *leads) end() { l.now.Store(nil) }

// entryPath is where the system before us took messages.
const entryPath = "POST /cminmsgs/send"

var errStandby = errors.New("this instance stands by")

// EntryOptions is the compatible entry as the configuration wants it.
func EntryOptions(c *config.Config) entry.Options {
	return entry.Options{
		Auth: c.Compat.Auth, Token: c.Compat.Token, Allow: c.Compat.Allow, MaxBytes: int64(c.Codec.MaxBytes),
		Answer: c.Compat.Answer, AnswerType: c.Compat.AnswerType,
	}
}

// openEntry serves the compatible entry where it is configured.
func (d *Daemon) openEntry() error {
	o := EntryOptions(d.config)
	if o.Auth == entry.AuthOff {
		return nil
	}
	e, err := entry.New(entry.Parts{
		Mailbox: func() entry.Mailbox {
			if m := d.servers.mailbox.Load(); m != nil {
				return m
			}
			return nil // not a nil of another type
		},
		Decoder: d.core.Codec,
		Enqueue: func(ctx context.Context, msgID int64, received, at time.Time) error {
			if l := d.leads.now.Load(); l != nil {
				return l.writer.EnqueueBeyond(ctx, msgID, received, at)
			}
			return errStandby
		},
		Wake: func() {
			if l := d.leads.now.Load(); l != nil {
				l.wake()
			}
		},
		Clock: d.clock, Log: d.log, Registry: d.metrics.process,
	}, o)
	if err != nil {
		return err
	}
	d.api.Handle(entryPath, e)
	return nil
}
