package pump_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"msgx/engine/decision"
	"msgx/engine/fault"
	"msgx/engine/message"
	"msgx/engine/pump"
)

// numbered is a judge that notes which messages it claims, and says which it is in what it judges.
type numbered struct {
	*model
	n      int
	claims map[int64]int
}

func (j numbered) Claim(m *message.Message) decision.Claim {
	j.claims[m.ID] = j.n
	return j.model.Claim(m)
}

func (j numbered) Judge(m *message.Message, found decision.Claimed, at time.Time) decision.Settlement {
	s := j.model.Judge(m, found, at)
	s.Ruleset = fmt.Sprint(j.n)
	if claimed := j.claims[m.ID]; claimed != j.n {
		j.violate("message %d was claimed by judge %d and judged by %d", m.ID, claimed, j.n)
	}
	return s
}

// Whenever judges change, and whatever happens to messages meanwhile, each attempt is claimed and judged by one judge, and each message
// that is decided is told once to whoever looks on, with what that judge said.
func TestJudgesChangeBetweenMessages(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(rt, "messages")
		scripts := map[int64]script{}
		for id := int64(1); id <= int64(n); id++ {
			scripts[id] = script{
				fates:   rapid.SampledFrom([][]fate{{succeed}, {ruleError, succeed}, {skip}, {infra, succeed}, {ruleError, ruleError, succeed}}).Draw(rt, "fates"),
				hiccups: rapid.SampledFrom([][]hiccup{nil, {away}, {moved}, {doubtLost}}).Draw(rt, "hiccups"),
			}
		}
		changes := rapid.SliceOfN(rapid.SampledFrom([]string{"stay", "change", "away"}), 1, 20).Draw(rt, "turns")
		synctest.Test(t, func(t *testing.T) {
			m := newModel(int64(n), scripts)
			claims, told, turns, current := map[int64]int{}, map[int64]int{}, 0, 1
			r := start(t, m, pump.Options{
				Turn: func(context.Context) (pump.Judge, error) {
					step := changes[turns%len(changes)]
					turns++
					if step == "away" && turns < 100 {
						return nil, fmt.Errorf("%w: for a while", fault.ErrUnavailable)
					}
					if step == "change" {
						current++
					}
					return numbered{m, current, claims}, nil
				},
				Beside: func(msg *message.Message, claim decision.Claim, found decision.Claimed, said decision.Settlement) {
					told[msg.ID]++
					if said.Ruleset == "" || claim.MsgID != msg.ID || found.Head.MsgID != msg.ID {
						m.violate("message %d is told as %+v, %+v, %+v", msg.ID, claim, found.Head, said)
					}
				},
			})
			after(10 * time.Minute)
			if err := r.stop(); err != nil {
				t.Errorf("Run = %v, want nil", err)
			}
			want := map[int64]int{}
			for id, row := range r.snapshot() {
				want[id] = 1
				if !row.State.Terminal() {
					t.Errorf("message %d is %s, want it decided", id, row.State)
				}
			}
			if diff := cmp.Diff(want, told); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
			for _, v := range r.violations {
				t.Error("violation:", v)
			}
		})
	})
}

// A judge that cannot be put on record because the lease is lost ends the pump; no message is judged.
func TestTurnFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, newModel(1, map[int64]script{1: {fates: []fate{succeed}}}), pump.Options{
			Turn: func(context.Context) (pump.Judge, error) { return nil, fault.ErrFenced },
		})
		after(time.Second)
		if err := r.stop(); err == nil {
			t.Error("Run = nil, want ErrFenced")
		}
		if got := r.snapshot()[1].State; got != message.Pending {
			t.Errorf("message 1 is %s, want PENDING", got)
		}
	})
}
