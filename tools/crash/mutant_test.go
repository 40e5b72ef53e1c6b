package crash

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// mutant is msgx with the order of two things wrong, so that a crash between them loses something.
type mutant struct {
	name    string
	file    string // of the repository
	replace []replacement
	point   string // where the crash has to come
	found   string // what the audit says
}

type replacement struct{ old, new string }

var mutants = []mutant{
	{
		name: "events are confirmed before they are sent", file: "engine/outbox/round.go", point: "produce/before",
		replace: []replacement{{"	receipts := s.d.n.Publisher.Publish(", `	early := make([]event.Delivery, len(wave))
	for i := range wave {
		early[i] = event.Delivery{Event: wave[i], Landing: event.Landing{Topic: "none"}}
	}
	if err := s.d.confirm(ctx, early); err != nil {
		return false, err
	}
	receipts := s.d.n.Publisher.Publish(`}},
		found: "\n13  broken",
	},
	{
		name: "the watermark is stored before the rows", file: "engine/store/inbox.go", point: "advance/after",
		replace: []replacement{
			{"	if err != nil {\n		return 0, err\n	}\n	return enqueued, nil\n", `	if err != nil {
		return 0, err
	}
	err = w.store.InTx(ctx, failpoint.Resolve, func(tx *Tx) error {
		ids, received := columnsOf(step.Enqueue)
		tx.Finally(sqlEnqueue, ids, received, at)
		return nil
	})
	return enqueued, err
`},
			{
				"		ids, received := columnsOf(step.Enqueue)\n		b.Queue(sqlEnqueue, ids, received, at).Exec(countInto(&enqueued))\n",
				"		enqueued = len(step.Enqueue)\n",
			},
		},
		found: "\n 2  broken",
	},
	{
		name: "marks are confirmed before they are written", file: "engine/backfill/round.go", point: "mark/before",
		replace: []replacement{
			{"	var paid payment\n", "	var paid payment\n	var late []message.MarkDue\n"},
			{"		var err error\n		paid, err = b.pay(ctx, held)\n		return paid.outcomes, err\n	})\n", `		paid, late = payment{held: map[int64]message.MarkDue{}}, held
		for _, due := range held {
			paid.held[due.MsgID] = due
			b.settle(&paid, due, map[int64]message.MarkResult{due.MsgID: message.MarkWritten}, nil)
		}
		return paid.outcomes, nil
	})
	if err == nil {
		_, err = b.pay(ctx, late)
	}
`},
		},
		found: "\n 6  broken",
	},
}

// TestMutantsAreFound shows that the harness has teeth.
func TestMutantsAreFound(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			r := crash(t, build(t, m.overlay(t)), options{seed: 3, kills: 4, messages: 200, points: []string{m.point}}, 3*time.Minute)
			if found := r.audit(); !strings.Contains(found, m.found) {
				t.Errorf("the audit says %q, expected %q", found, m.found)
			}
		})
	}
}

// overlay writes the mutated file, and the description that makes the compiler take it.
func (m mutant) overlay(t *testing.T) string {
	t.Helper()
	original, err := filepath.Abs(filepath.Join("..", "..", m.file))
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(original)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	replace := func(found, instead string) {
		if strings.Count(text, found) != 1 {
			t.Fatalf("%s: found %d times %q, expected it once", m.file, strings.Count(text, found), found)
		}
		text = strings.Replace(text, found, instead, 1)
	}
	for _, r := range m.replace {
		replace(r.old, r.new)
	}
	dir := t.TempDir()
	mutated, description := filepath.Join(dir, filepath.Base(m.file)), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {original: mutated}})
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string][]byte{mutated: []byte(text), description: list} {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return description
}
