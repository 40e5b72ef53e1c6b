package daemon_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"msgx/engine/ruleset"
)

// Rule sets change again and again in the middle of a stream, and each message is decided by exactly
// the one whose hash it records.
func TestRulesChangeBetweenTwoMessages(t *testing.T) {
	t.Parallel()
	const swaps, flights = 12, 20
	s := newSite(t, map[string]string{standRule: marking("R0")})
	s.put(schedule(1, flights))
	d := s.start()
	marks := map[string]string{s.hashOf(s.dir): "R0"}
	s.await(s.hashOf(s.dir), liveHash)
	next := 0
	stream := func() {
		var bodies []*string
		for range 25 {
			next++
			body := stand(next%flights+1, fmt.Sprint("S", next))
			if next%9 == 0 {
				body = remark(next%flights+1, fmt.Sprint("备注 ", next))
			}
			bodies = append(bodies, &body)
		}
		s.putAll(bodies...)
	}
	for i := 1; i <= swaps; i++ {
		stream()
		mark := fmt.Sprint("R", i)
		s.write(standRule, marking(mark))
		hash := s.hashOf(s.dir)
		marks[hash] = mark
		s.until("rule set "+mark+" to decide in the middle of the stream", func() (string, bool) {
			stream()
			got, err := s.tryQuery(`SELECT count(*) FROM proc_state WHERE kind = 'FLOP-STND' AND ruleset = $1`, hash)
			return fmt.Sprint(got, err), err == nil && got != "0"
		})
	}
	stream()
	s.settled()

	if got := s.query(`SELECT count(*) FROM proc_state WHERE state <> 'SUCCEEDED' OR attempts > 0`); got != "0" {
		t.Errorf("%s messages were not decided at the first attempt, want none", got)
	}
	var hash, mark string
	var msg int64
	byHash, order := map[string]int{}, []string{}
	s.each(`SELECT p.msg_id, p.ruleset, coalesce((SELECT f.value ->> 'after' FROM flight_change c, json_array_elements(c.changed) f (value)
			WHERE c.msg_id = p.msg_id AND f.value ->> 'path' = 'STND'), '')
		FROM proc_state p WHERE p.kind = 'FLOP-STND' ORDER BY p.msg_id`, func() {
		byHash[hash]++
		if len(order) == 0 || order[len(order)-1] != hash {
			order = append(order, hash)
		}
		if mark != "" && mark != marks[hash] {
			t.Errorf("message %d left the mark %s and records the rule set of %s", msg, mark, marks[hash])
		}
	}, &msg, &hash, &mark)
	if len(order) < swaps || len(order) != len(byHash) {
		t.Errorf("%d rule sets in a row, %d in all, want each of %d once and in a row", len(order), len(byHash), swaps)
	}
	if got := s.query(`SELECT count(*) FROM ruleset_live`); got != fmt.Sprint(swaps+1) {
		t.Errorf("%s rule sets were live, want %d", got, swaps+1)
	}
	// What a rule set was asked about while it was live is what records it.
	var judged *int64
	s.each(`SELECT hash, judged FROM ruleset_live WHERE live_to IS NOT NULL`, func() {
		want := s.query(`SELECT count(*) FROM proc_state WHERE ruleset = $1`, hash)
		if judged == nil || fmt.Sprint(*judged) != want {
			t.Errorf("rule set %s says it judged %v messages, %s record it", marks[hash], judged, want)
		}
	}, &hash, &judged)
	if got := d.logs.count("msg=leading"); got != 1 {
		t.Errorf("the daemon began to lead %d times, want once", got)
	}
	if got := d.logs.count("level=ERROR"); got != 0 {
		t.Errorf("%d errors in the log:\n%s", got, d.logs)
	}
	if len(d.ended) > 0 {
		t.Error("the daemon has ended")
	}
}

// What is refused leaves the live one alone, once; what goes back stays back until something changes.
func TestRulesRefusedAndGoneBackTo(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{standRule: marking("A")})
	s.put(schedule(1, 1))
	d := s.start()
	a := s.hashOf(s.dir)
	s.await(a, liveHash)

	refused := `SELECT count(*) FROM ruleset_refusal`
	reasons := `SELECT reasons FROM ruleset_refusal ORDER BY refusal_id DESC LIMIT 1`
	s.write(standRule, "return { kind = ")
	s.await("1", refused)
	if got := s.query(reasons); !strings.Contains(got, standRule) {
		t.Errorf("refused for %s, want the place", got)
	}
	// A rule set that loads and decides otherwise than the corpus says.
	s.write("rules/flop-remc@1.lua", strings.ReplaceAll(strings.ReplaceAll(marking("X"), "FLOP-STND", "FLOP-REMC"), "STND", "REMC"))
	s.await("2", refused)
	s.write(standRule, marking("B"))
	s.await("3", refused)
	if got := s.query(reasons); !strings.Contains(got, "golden: ") || !strings.Contains(got, "flop-remc") {
		t.Errorf("refused for %s, want the case that fails", got)
	}
	if got := s.query(liveHash); got != a {
		t.Errorf("live is %s, want %s still", got, a)
	}
	answer := s.ask(ruleset.ByActivate, "")
	if answer.Live || len(answer.Reasons) == 0 {
		t.Errorf("an activation of a refused rule set: got %+v, want it refused with reasons", answer)
	}
	var shown struct {
		Leading bool
		Live    ruleset.Live
		Refused *ruleset.Refusal
	}
	s.get(d, "/rules", &shown)
	if !shown.Leading || shown.Live.Hash != a || shown.Refused == nil || shown.Refused.How != ruleset.ByActivate {
		t.Errorf("over HTTP: got %+v, want %s live and the activation refused", shown, a)
	}
	metrics := s.body(d, "/metrics")
	for _, want := range []string{`msgx_rules_live_info{ruleset="` + a + `"} 1`, `msgx_rules_refused_total{how="watch"} 3`, "msgx_rules_refused 1"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("want %s in the metrics", want)
		}
	}

	remc, err := os.ReadFile("../../../rules/flop-remc@1.lua")
	if err != nil {
		t.Fatal(err)
	}
	s.write("rules/flop-remc@1.lua", string(remc))
	b := s.hashOf(s.dir)
	s.await(b, liveHash)
	s.put(stand(1, "1"))
	s.await("B", `SELECT stnd FROM flight_schd WHERE flid = 1`)

	if answer = s.ask(ruleset.ByRollback, a); !answer.Live || answer.Hash != a {
		t.Fatalf("going back to %s: %+v", a, answer)
	}
	s.put(stand(1, "2"))
	s.await("A", `SELECT stnd FROM flight_schd WHERE flid = 1`)
	if answer = s.ask(ruleset.ByRollback, strings.Repeat("0", 64)); answer.Live {
		t.Errorf("going back to what never was: %+v", answer)
	}

	// The directory may go altogether: what is pinned holds, over a restart too.
	if err := d.end(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(s.dir, s.dir+".away"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(s.dir + ".away") })
	s.start()
	s.put(remark(1, "更"), stand(1, "3"))
	s.settled()
	if got := s.query(liveHash); got != a {
		t.Errorf("live is %s after a restart without the directory, want %s", got, a)
	}
	// It comes back as it was, which is no change; then it changes.
	if err := os.Rename(s.dir+".away", s.dir); err != nil {
		t.Fatal(err)
	}
	if answer = s.ask(ruleset.ByRollback, a); !answer.Live {
		t.Errorf("going back to what is live: %+v", answer)
	}
	if got := s.query(liveHash); got != a {
		t.Errorf("live is %s when the directory is back, want %s", got, a)
	}
	s.write(standRule, marking("C"))
	c := s.hashOf(s.dir)
	s.await(c, liveHash)
	if got, want := s.query(`SELECT pinned FROM ruleset_live WHERE live_to IS NULL`), "false"; got != want {
		t.Errorf("pinned: %s after a change of the directory, want %s", got, want)
	}
	want := []string{"start " + a[:12], "watch refused", "watch refused", "watch refused", "activate refused", "watch " + b[:12],
		"rollback " + a[:12] + " pinned", "rollback refused", "watch " + c[:12]}
	if got := s.history(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("history\n%q, want\n%q", got, want)
	}
	s.settled()
}
