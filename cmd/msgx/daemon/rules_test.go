package daemon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"msgx/cmd/msgx/core"
	"msgx/cmd/msgx/daemon"
	"msgx/engine/decision"
	"msgx/engine/message"
	"msgx/engine/rollout"
	"msgx/engine/ruleset"
	"msgx/engine/store"
)

// site is a rule set directory with a small corpus of its own, as a site would keep it.
type site struct {
	*place
	dir string
}

// newSite makes a place whose rule set directory is watched closely.
func newSite(t *testing.T, changed map[string]string, set ...string) *site {
	t.Helper()
	dir := rulesWith(t, changed)
	s := &site{newPlace(t, append([]string{"rules.dir=" + dir, "rules.watch-interval=50ms", "rules.golden=" + smallCorpus(t)}, set...)...), dir}
	s.recorded = true
	return s
}

// byRecord judges each message by the rule set whose hash it records.
type byRecord struct {
	of     map[int64]string
	judges map[string]rollout.Judge
}

func (j byRecord) Claim(m *message.Message) decision.Claim { return j.judges[j.of[m.ID]].Claim(m) }

func (j byRecord) Judge(m *message.Message, found decision.Claimed, at time.Time) decision.Settlement {
	return j.judges[j.of[m.ID]].Judge(m, found, at)
}

func (j byRecord) Broken(raw message.Raw, err error, at time.Time) decision.Settlement {
	return j.judges[j.of[raw.MsgID]].Broken(raw, err, at)
}

// recordedJudge loads every rule set that a message records from our own database.
func (p *place) recordedJudge(mind *core.Core) byRecord {
	p.t.Helper()
	j := byRecord{map[int64]string{}, map[string]rollout.Judge{}}
	workshop := core.NewWorkshop(p.config(), mind.Catalogue, "test")
	db, err := daemon.OpenStore(p.t.Context(), p.config(), mind)
	if err != nil {
		p.t.Fatal(err)
	}
	defer db.Close()
	var id int64
	var hash string
	p.each(`SELECT msg_id, ruleset FROM proc_state WHERE ruleset IS NOT NULL`, func() {
		j.of[id] = hash
		if j.judges[hash] != nil {
			return
		}
		set, err := db.Ruleset(p.t.Context(), hash)
		if err != nil {
			p.t.Fatal(err)
		}
		c, err := workshop.Load(set.Files)
		if err != nil || c.Set.Hash != hash {
			p.t.Fatalf("rule set %s of the record: %v", hash, err)
		}
		j.judges[hash] = c.Judge
	}, &id, &hash)
	return j
}

// smallCorpus holds one case, of a kind that the tests do not change, so that a proof is quick.
func smallCorpus(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	one, err := os.ReadFile("../../../golden/cases/flop-remc.txtar")
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "cases"), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "cases", "flop-remc.txtar"), one, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// write puts a file into the rule set directory, whole at once.
func (s *site) write(name, source string) {
	s.t.Helper()
	s.writeIn(s.dir, name, source)
}

func (s *site) writeIn(dir, name, source string) {
	s.t.Helper()
	whole := filepath.Join(dir, ".new")
	if err := os.WriteFile(whole, []byte(source), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(whole, filepath.Join(dir, name)); err != nil {
		s.t.Fatal(err)
	}
}

// marking is a rule for stands that leaves its own mark instead of what the message says.
func marking(mark string) string {
	return fmt.Sprintf(`return { kind = "FLOP-STND", writes = { "STND" }, decide = function(view, msg)
  return { changes = { { flid = msg.records[1].flid, op = "update", set = { STND = %q } } } }
end }`, mark)
}

const standRule = "rules/flop-stnd@1.lua"

const liveHash = `SELECT hash FROM ruleset_live WHERE live_to IS NULL`

// hashOf is the hash of a rule set directory as a daemon of this place has it.
func (s *site) hashOf(dir string) string {
	s.t.Helper()
	c := s.config()
	c.Rules.Dir = dir
	mind, err := core.New(c)
	if err != nil {
		s.t.Fatal(err)
	}
	return mind.Rules.Hash()
}

// ask asks the leader, as the commands do, and waits for its answer.
func (s *site) ask(action ruleset.How, hash string) ruleset.Answer {
	s.t.Helper()
	db := s.db()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	id, err := db.AskRuleset(ctx, ruleset.Request{Action: action, Hash: hash, Who: "tester", Why: "a test", At: time.Now()})
	if err != nil {
		s.t.Fatal(err)
	}
	var q ruleset.Request
	s.until("an answer to "+string(action), func() (string, bool) {
		q, err = db.RulesetRequest(ctx, id)
		return fmt.Sprint(err), err == nil && q.Answer != nil
	})
	return *q.Answer
}

// db is our own database as commands open it.
func (s *site) db() *store.Store {
	s.t.Helper()
	mind, err := core.Prepare(s.config())
	if err != nil {
		s.t.Fatal(err)
	}
	db, err := daemon.OpenStore(context.Background(), s.config(), mind)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(db.Close)
	return db
}

// history tells each entry as "how hash12" or "how refused", the oldest first.
func (s *site) history() []string {
	s.t.Helper()
	return s.list(`SELECT e FROM (
		SELECT live_from AS at, how || ' ' || left(hash, 12) || CASE WHEN pinned THEN ' pinned' ELSE '' END AS e FROM ruleset_live
		UNION ALL SELECT at, how || ' refused' FROM ruleset_refusal) AS all_of_it ORDER BY at`)
}

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
	s.write(standRule, marking("B"))
	b := s.hashOf(s.dir)
	s.write("rules/flop-remc@1.lua", strings.ReplaceAll(strings.ReplaceAll(marking("X"), "FLOP-STND", "FLOP-REMC"), "STND", "REMC"))
	s.await("2", refused)
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
	for _, want := range []string{`msgx_rules_live_info{ruleset="` + a + `"} 1`, `msgx_rules_refused_total{how="watch"} 2`, "msgx_rules_refused 1"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("want %s in the metrics", want)
		}
	}

	remc, err := os.ReadFile("../../../rules/flop-remc@1.lua")
	if err != nil {
		t.Fatal(err)
	}
	s.write("rules/flop-remc@1.lua", string(remc))
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
	d = s.start()
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
	want := []string{"start " + a[:12], "watch refused", "watch refused", "activate refused", "watch " + b[:12],
		"rollback " + a[:12] + " pinned", "rollback refused", "watch " + c[:12]}
	if got := s.history(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("history\n%q, want\n%q", got, want)
	}
	s.settled()
}

// body reads a page of a daemon.
func (s *site) body(d *instance, path string) string {
	s.t.Helper()
	answer, err := http.Get("http://" + d.address + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		s.t.Fatalf("GET %s: %s, %v", path, answer.Status, err)
	}
	return string(body)
}

func (s *site) get(d *instance, path string, into any) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(s.body(d, path)), into); err != nil {
		s.t.Fatal(err)
	}
}
