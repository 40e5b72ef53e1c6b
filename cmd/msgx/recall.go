package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/txtar"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/core"
	"msgx/cmd/msgx/daemon"
	"msgx/engine/decision"
	"msgx/engine/event"
	"msgx/engine/fault"
	"msgx/engine/mailbox"
	"msgx/engine/message"
	"msgx/engine/rulebook"
	"msgx/engine/store"
)

// recall reads back what was decided, and on what.
type recall struct {
	db      *opened
	config  *config.Config
	mailbox *mailbox.Mailbox // nil: bodies come from our own copies
}

// recalled is a message that has been decided.
type recalled struct {
	store.Record
	raw message.Raw
}

// openRecall opens our own database, and the mailbox when bodies are to be read there. Close ends both.
func openRecall(ctx context.Context, db *opened, c *config.Config, fromMailbox bool) (*recall, error) {
	r := &recall{db: db, config: c}
	if !fromMailbox {
		return r, nil
	}
	if c.Mailbox.DSN == "" {
		return nil, usagef("msgx.mailbox.dsn is not set: --from-mailbox reads bodies there")
	}
	var err error
	r.mailbox, err = mailbox.Open(ctx, daemon.MailboxConfig(c))
	return r, err
}

// Close ends the connection to the mailbox.
func (r *recall) Close() {
	if r.mailbox != nil {
		_ = r.mailbox.Close()
	}
}

// message reads the record and the body of a message that has been tried.
func (r *recall) message(ctx context.Context, id int64) (recalled, error) {
	record, err := r.db.Message(ctx, id)
	if errors.Is(err, fault.ErrNotFound) {
		return recalled{}, notEnqueued(ctx, r.db, id)
	}
	if err != nil {
		return recalled{}, err
	}
	if record.State == message.Pending {
		return recalled{}, fmt.Errorf("message %d: not decided yet; `msgx message show %d` tells what it waits for", id, id)
	}
	raw, found, err := r.body(ctx, id)
	if err != nil {
		return recalled{}, err
	}
	if !found {
		return recalled{}, fmt.Errorf("message %d: %s", id, r.noBody())
	}
	if sum := raw.SHA256(); record.SHA256 != "" && sum != record.SHA256 {
		return recalled{}, fmt.Errorf("message %d: the body that is there now has the digest %.12s, expected %.12s, that of the body that was decided", id, sum, record.SHA256)
	}
	return recalled{record, raw}, nil
}

// body reads a body; false when it is not there (any more).
func (r *recall) body(ctx context.Context, id int64) (raw message.Raw, found bool, err error) {
	if r.mailbox == nil {
		return r.db.RawCopy(ctx, id)
	}
	raws, _, err := r.mailbox.Bodies(ctx, []int64{id}, int64(r.config.Codec.MaxBytes))
	if err != nil || len(raws) == 0 {
		return raw, false, err
	}
	return raws[0], true, nil
}

func (r *recall) noBody() string {
	if r.mailbox == nil {
		return "we keep no copy of its body; --from-mailbox reads it from the mailbox"
	}
	return "the mailbox has no such row any more"
}

// at is the moment of the decision; where no flight was changed, it plays no part in what is decided.
func (m *recalled) at() time.Time {
	if len(m.Changes) > 0 {
		return m.Changes[0].At
	}
	return m.Times.Updated
}

// rules gives the rule set that a message was decided with, and what has to be said about it.
func (r *recall) rules(ctx context.Context, hash string) (files fs.FS, from string, s rulebook.Settings, remarks []string, err error) {
	s = rulebook.Settings{AbsentOptional: r.config.Schd.AbsentOptional}
	if hash == "" { // nothing decided
		return core.RulesFS(r.config), core.RulesFrom(r.config), s, nil, nil
	}
	kept, err := r.db.Ruleset(ctx, hash)
	if errors.Is(err, fault.ErrNotFound) {
		remarks = append(remarks, fmt.Sprintf("rule set %.12s is not on record; this is rule set %s", hash, core.RulesFrom(r.config)))
		return core.RulesFS(r.config), core.RulesFrom(r.config), s, remarks, nil
	}
	if err != nil {
		return nil, "", s, nil, err
	}
	archive := &txtar.Archive{}
	for path, content := range kept.Files {
		archive.Files = append(archive.Files, txtar.File{Name: path, Data: content})
	}
	files, err = txtar.FS(archive)
	if absent := kept.Settings["absent-optional"]; absent != "" {
		s.AbsentOptional = absent
	}
	return files, fmt.Sprintf("%.12s on record", hash), s, remarks, err
}

// before gives what the claim of a recorded message was judged on.
func (r *recall) before(ctx context.Context) func(decision.Claim) (decision.Claimed, error) {
	return func(claim decision.Claim) (decision.Claimed, error) {
		past, err := r.db.ViewBefore(ctx, claim)
		return decision.Claimed{Head: message.Head{MsgID: claim.MsgID, State: message.Pending}, Holder: past.Holder, View: past.View}, err
	}
}

// deviations tells where a settlement is not what is on record.
func (m *recalled) deviations(s *decision.Settlement) []string {
	var out []string
	differ := func(what, recorded, now string) {
		if recorded != now {
			out = append(out, fmt.Sprintf("%s: on record %s, now %s", what, orDash(recorded), orDash(now)))
		}
	}
	o := s.Outcome
	if o.State == message.Failed && m.State == message.Dead {
		o = message.Exhaust(o.Class, o.Reason)
	}
	differ("outcome", outcome(&m.Record)+" "+m.Failure.LastError+m.Failure.SkipReason,
		outcome(&store.Record{State: o.State, Failure: store.RecordFailure{Class: o.Class}})+" "+o.Reason)
	differ("script", m.Decided.Script, s.Script)
	differ("notes", jsonOf(m.Decided.Notes), jsonOf(s.Effects.Notes))
	differ("changes", m.changesText(), changesText(s.Effects.Advances))
	differ("events", m.eventsText(), eventsText(s.Effects.Events))
	return out
}

func (m *recalled) changesText() string {
	var b strings.Builder
	for _, c := range m.Changes {
		writeChange(&b, c.FLID.String(), c.Op, c.Version, c.Changed)
	}
	return b.String()
}

func changesText(advances []decision.Advance) string {
	var b strings.Builder
	for _, a := range advances {
		writeChange(&b, a.After.ID.String(), a.Op, a.After.Version, a.Changed)
	}
	return b.String()
}

func writeChange(b *strings.Builder, flid string, op decision.Op, version int64, changed []decision.FieldChange) {
	fmt.Fprintf(b, "%s %s v%d", flid, op, version)
	for _, c := range changed {
		fmt.Fprintf(b, " %s %s -> %s;", c.Path, orNone(plainJSON(c.Before)), orNone(plainJSON(c.After)))
	}
	b.WriteByte('\n')
}

// plainJSON writes a value without the escapes of HTML, which the database has and a decision has not.
func plainJSON(raw json.RawMessage) json.RawMessage {
	if !bytes.ContainsRune(raw, '\\') {
		return raw
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return raw
	}
	return json.RawMessage(jsonOf(value))
}

// jsonOf is a value as JSON on one line; "" for nothing.
func jsonOf(v any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return err.Error()
	}
	if text := strings.TrimSpace(b.String()); text != "null" && text != "[]" {
		return text
	}
	return ""
}

// eventsText lists what is on record of KAFKA:msg; the latest state of a flight is replaced by the next.
func (m *recalled) eventsText() string {
	var events []string
	for _, e := range m.Events {
		if e.Target == string(event.Msg) {
			events = append(events, fmt.Sprintf("%s %s v%d", e.Key, e.Type, e.Version))
		}
	}
	return strings.Join(events, ", ")
}

func eventsText(list []event.Event) string {
	var events []string
	for _, e := range list {
		if e.Target == event.Msg {
			events = append(events, fmt.Sprintf("%s %s v%d", e.Key, e.Type, e.Version))
		}
	}
	return strings.Join(slices.Clip(events), ", ")
}
