package daemon_test

import (
	"fmt"
	"strings"
	"testing"

	"msgx/engine/shadow"
)

// A shadow decides beside the live rule set: what differs is counted and shown, and nothing of it is applied.
func TestShadowIsComparedAndNeverApplied(t *testing.T) {
	t.Parallel()
	beside := rulesWith(t, map[string]string{standRule: marking("A")})
	s := newSite(t, map[string]string{standRule: marking("A")}, "rules.shadow="+beside)
	d := s.start()
	live, same := s.hashOf(s.dir), s.hashOf(beside)
	s.await(same, `SELECT hash FROM shadow_now`)
	s.put(schedule(1, 10), stand(1, "1"), stand(2, "2"), remark(1, "x"))
	tally := `SELECT same || ' same, ' || different || ' different' FROM shadow_run WHERE hash = $1 AND live = $2`
	s.await("4 same, 0 different", tally, same, live)

	s.writeIn(beside, standRule, marking("Z"))
	other := s.hashOf(beside)
	s.await(other, `SELECT hash FROM shadow_now`)
	var many []string
	for i := range 300 {
		many = append(many, stand(i%10+1, fmt.Sprint(i)), remark(i%10+1, fmt.Sprint("备注 ", i)))
	}
	s.put(many...)
	// Where a flight has the mark A already the live one changes nothing, and the shadow still would.
	s.await("600", `SELECT same + different + dropped FROM shadow_run WHERE hash = $1 AND live = $2`, other, live)
	if got := s.query(`SELECT array_agg(c.kind || ' ' || c.place || ' ' || (c.messages = r.different)) FROM shadow_run r JOIN shadow_count c USING (hash, live)
		WHERE hash = $1 AND live = $2`, other, live); got != `{"FLOP-STND STND true"}` {
		t.Errorf("counted as different: %s, want the stands alone", got)
	}
	if got := s.query(`SELECT count(*) BETWEEN 1 AND 20 AND bool_and(live_said IN ('"A"', 'unchanged') AND shadow_said = '"Z"' AND flid <> '')
		FROM shadow_difference WHERE hash = $1 AND place = 'STND'`, other); got != "true" {
		t.Error("the examples are not as few, or not as said")
	}
	var shown struct{ Shadow *shadow.Status }
	s.get(d, "/rules", &shown)
	if shown.Shadow == nil || shown.Shadow.Hash != other || shown.Shadow.Tally.Different == 0 {
		t.Errorf("over HTTP: %+v, want the shadow %s and what differs", shown.Shadow, other)
	}

	// One that does not load is told, one that misbehaves is counted, and the live one minds neither.
	s.writeIn(beside, standRule, "return {")
	s.await("", `SELECT hash FROM shadow_now`)
	if got := s.query(`SELECT fault FROM shadow_now`); !strings.Contains(got, standRule) {
		t.Errorf("the fault of the shadow is %q, want the place", got)
	}
	s.writeIn(beside, standRule, misbehaving("while true do end"))
	endless := s.hashOf(beside)
	s.await(endless, `SELECT hash FROM shadow_now`)
	s.put(many[:20]...) // duplicates: of these the rules know nothing, and both say so
	s.put(stand(1, "a"), stand(2, "b"), stand(3, "c"))
	s.await("3", `SELECT coalesce(sum(messages), 0) + (SELECT late + dropped FROM shadow_run WHERE hash = $1) FROM shadow_count WHERE hash = $1 AND place = 'outcome'`, endless)
	s.settled()
	if got := s.query(`SELECT count(*) FROM proc_state WHERE attempts > 0`); got != "0" {
		t.Errorf("%s messages failed, want none", got)
	}
	if got := d.logs.count("level=ERROR"); got != 0 {
		t.Errorf("%d errors in the log:\n%s", got, d.logs)
	}
}
