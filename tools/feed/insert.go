package feed

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
	"unicode/utf8"
)

// Inserting says how a mailbox is filled.
type Inserting struct {
	Seed uint64
	// Writers is how many connections write; default 1. Ids are given out in the
	// order of the messages however many there are.
	Writers int
	// OutOfOrder lets writers keep their transactions open and commit in another
	// order than that of their ids.
	OutOfOrder bool
	// RolledBack is how many ids for each thousand messages are taken and given up, so that they never appear.
	RolledBack int
	PerSecond  int // 0 for as fast as it goes
	// Together is how many messages share a transaction, to fill a mailbox fast; default 1. It
	// goes with one writer and with nothing out of order or rolled back.
	Together int
	// Done, when set, is told each message with its id once it is committed.
	Done func(m Message, id int64)
}

// Inserted says which id each message has, by Seq, and which ids stay empty.
type Inserted struct {
	IDs        map[int]int64
	RolledBack []int64
}

const insertMessage = `INSERT INTO CMINMSGS (CMINMSGS_CLOB_MSG, CMINMSGS_DATE_RECEIVED, CMINMSGS_SUBSYSTEM_NAME,
  CMINMSGS_SUBSYSTEM_SEQUENCE, CMINMSGS_SUBSYSTEM_DATE_SENT, CMINMSGS_SUBSYSTEM_SUBTYPE, CMINMSGS_SUBSYSTEM_TYPE, CMINMSGS_STATUS)
VALUES (?, ?, ?, ?, ?, ?, ?, 'VALID')`

// Insert puts messages into the mailbox that db is connected to, as its
// writers would: each message in a transaction of its own.
func Insert(ctx context.Context, db *sql.DB, messages []Message, o Inserting) (Inserted, error) {
	w := &inserter{ctx: ctx, o: o, rng: rand.New(rand.NewPCG(o.Seed, 7)), done: Inserted{IDs: map[int]int64{}}, begun: time.Now()}
	defer w.close()
	for range max(1, o.Writers) {
		conn, err := db.Conn(ctx)
		if err != nil {
			return w.done, fmt.Errorf("mailbox writer: %w", err)
		}
		w.conns = append(w.conns, conn)
	}
	if o.Together > 1 {
		for some := range slices.Chunk(messages, o.Together) {
			if err := w.together(some); err != nil {
				return w.done, err
			}
		}
		return w.done, nil
	}
	for start := 0; start < len(messages); start += len(w.conns) {
		window := messages[start:min(start+len(w.conns), len(messages))]
		if err := w.window(window); err != nil {
			return w.done, err
		}
		if err := w.pace(start + len(window)); err != nil {
			return w.done, err
		}
	}
	return w.done, nil
}

type inserter struct {
	ctx   context.Context //nolint:containedctx // of one call of Insert
	o     Inserting
	rng   *rand.Rand
	conns []*sql.Conn
	done  Inserted
	begun time.Time
}

func (w *inserter) close() {
	for _, c := range w.conns {
		_ = c.Close()
	}
}

// open is a transaction with its id taken, not yet committed.
type open struct {
	tx *sql.Tx
	m  Message
	id int64
}

// together writes messages in one transaction.
func (w *inserter) together(messages []Message) error {
	tx, err := w.conns[0].BeginTx(w.ctx, nil)
	if err != nil {
		return fmt.Errorf("message %d: %w", messages[0].Seq, err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	written := make([]open, 0, len(messages))
	for _, m := range messages {
		p, err := w.write(tx, m)
		if err != nil {
			return err
		}
		written = append(written, p)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("message %d and %d behind it: commit: %w", messages[0].Seq, len(messages)-1, err)
	}
	for _, p := range written {
		w.committed(p)
	}
	return nil
}

// window writes one message on each connection. The ids follow the messages;
// the commits follow nothing.
func (w *inserter) window(messages []Message) (err error) {
	var pending []open
	defer func() {
		for _, p := range pending {
			_ = p.tx.Rollback()
		}
	}()
	for i, m := range messages {
		if w.rng.IntN(1000) < w.o.RolledBack {
			if err := w.giveUp(w.conns[i], m); err != nil {
				return err
			}
		}
		p, err := w.insert(w.conns[i], m)
		if err != nil {
			return err
		}
		pending = append(pending, p)
		if !w.o.OutOfOrder {
			if err := w.commit(p); err != nil {
				return err
			}
			pending = nil
		}
	}
	w.rng.Shuffle(len(pending), func(i, j int) { pending[i], pending[j] = pending[j], pending[i] })
	for len(pending) > 0 {
		p := pending[0]
		pending = pending[1:]
		if err := w.commit(p); err != nil {
			return err
		}
	}
	return nil
}

func (w *inserter) insert(conn *sql.Conn, m Message) (open, error) {
	tx, err := conn.BeginTx(w.ctx, nil)
	if err != nil {
		return open{}, fmt.Errorf("message %d: %w", m.Seq, err)
	}
	p, err := w.write(tx, m)
	if err != nil {
		_ = tx.Rollback()
	}
	return p, err
}

// write writes a message within a transaction.
func (w *inserter) write(tx *sql.Tx, m Message) (open, error) {
	if !utf8.Valid(m.Body) {
		return open{}, fmt.Errorf("message %d: found bytes in %s, expected characters: the mailbox column holds text", m.Seq, m.Encoding)
	}
	const local = "2006-01-02 15:04:05"
	result, err := tx.ExecContext(w.ctx, insertMessage, string(m.Body), m.At.Format(local), m.Sender, m.Sequence, m.At.Format(local), m.Subtype, m.Type)
	if err != nil {
		return open{}, fmt.Errorf("message %d: insert: %w", m.Seq, err)
	}
	id, err := result.LastInsertId()
	if err != nil {
		return open{}, fmt.Errorf("message %d: id: %w", m.Seq, err)
	}
	return open{tx: tx, m: m, id: id}, nil
}

func (w *inserter) commit(p open) error {
	if err := p.tx.Commit(); err != nil {
		return fmt.Errorf("message %d: commit id %d: %w", p.m.Seq, p.id, err)
	}
	w.committed(p)
	return nil
}

func (w *inserter) committed(p open) {
	w.done.IDs[p.m.Seq] = p.id
	if w.o.Done != nil {
		w.o.Done(p.m, p.id)
	}
}

// giveUp takes an id that no row will ever have.
func (w *inserter) giveUp(conn *sql.Conn, m Message) error {
	p, err := w.insert(conn, m)
	if err != nil {
		return err
	}
	w.done.RolledBack = append(w.done.RolledBack, p.id)
	return p.tx.Rollback()
}

// pace waits until so many messages are due.
func (w *inserter) pace(sent int) error {
	if w.o.PerSecond <= 0 {
		return w.ctx.Err()
	}
	due := w.begun.Add(time.Duration(sent) * time.Second / time.Duration(w.o.PerSecond))
	select {
	case <-w.ctx.Done():
		return w.ctx.Err()
	case <-time.After(time.Until(due)):
		return nil
	}
}
