package mailbox

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"msgx/engine/failpoint"
	"msgx/engine/message"
)

const (
	sqlInsert = "INSERT INTO %s (%s) VALUES (%s)"
	// arrived is the status of a row that nobody has looked at.
	arrived = "VALID"
	// maxSequence is what the usual sequence column (a MEDIUMINT) holds.
	maxSequence = 1<<23 - 1
)

// Insert puts a message into the mailbox as if it had come in at the given
// time, and returns its id. The envelope columns are for people and other readers: a
// value that does not fit is cut or left out, since the message itself says it too. If the
// call fails because the server is away the row may be there all the same.
func (m *Mailbox) Insert(ctx context.Context, body []byte, meta message.Meta, at time.Time) (int64, error) {
	var id int64
	err := m.writing(ctx, "insert a message", func(ctx context.Context, l *layout) error {
		if size := l.sizeOf(body); l.body.length > 0 && size > l.body.length { // a server that is not strict would cut it
			return fmt.Errorf("the body has a length of %d, expected at most %d as the column has", size, l.body.length)
		}
		columns, values := m.newRow(l, body, meta, at)
		marks := strings.TrimSuffix(strings.Repeat("?,", len(columns)), ",")
		failpoint.Before(failpoint.Insert)
		result, err := m.db.ExecContext(ctx, fmt.Sprintf(sqlInsert, l.table, strings.Join(columns, ","), marks), values...)
		failpoint.After(failpoint.Insert)
		if err != nil {
			return err
		}
		if id, err = result.LastInsertId(); err == nil && id == 0 {
			err = errors.New("the server gave the row no id, expected an AUTO_INCREMENT column")
		}
		return err
	})
	return id, err
}

// sizeOf is the size of a body as the length of its column counts: characters of CHAR and VARCHAR, else bytes.
func (l *layout) sizeOf(body []byte) int64 {
	if l.characters && strings.HasSuffix(l.body.kind, "char") {
		return int64(utf8.RuneCount(body))
	}
	return int64(len(body))
}

func (m *Mailbox) newRow(l *layout, body []byte, meta message.Meta, at time.Time) (columns []string, values []any) {
	put := func(c column, value any) {
		if c.exists() && value != nil {
			columns, values = append(columns, c.name), append(values, value)
		}
	}
	if l.characters {
		put(l.body, string(body)) // in the session's character set, transcoded by the server
	} else {
		put(l.body, body) // as it is
	}
	put(l.received, formatTime(at, l.received.zone(m.config.Zone)))
	put(l.status, arrived)
	put(l.envelope.sender, clipped(l.envelope.sender, meta.Sender))
	put(l.envelope.kind, clipped(l.envelope.kind, meta.Type))
	put(l.envelope.subtype, clipped(l.envelope.subtype, meta.Subtype))
	put(l.envelope.sequence, sequence(l.envelope.sequence, meta.Sequence))
	if sent, err := time.Parse(time.RFC3339, meta.SentAt); err == nil {
		put(l.envelope.sentAt, formatTime(sent, l.envelope.sentAt.zone(m.config.Zone)))
	}
	return columns, values
}

func clipped(c column, text string) any {
	if text == "" {
		return nil
	}
	text = message.SafeText(text, len(text))
	if runes := []rune(text); int64(len(runes)) > c.length {
		text = string(runes[:c.length])
	}
	return text
}

func sequence(c column, text string) any {
	if contains(characters, c.kind) {
		return clipped(c, text)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > maxSequence {
		return nil
	}
	return n
}
