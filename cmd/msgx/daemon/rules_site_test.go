package daemon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
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
	return fmt.Sprintf(`return { kind = "FLOP-STND", writes = { "STND" }, decide = function(_, msg)
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
