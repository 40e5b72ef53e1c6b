package daemon_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"msgx/engine/ruleset"
)

// Instances with different directories: a takeover is no reason to change rules; a change of one's own directory is,
// and so is a change while nobody led.
func TestRulesGoOnOverAChangeOfLeader(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{standRule: marking("A")})
	s.crashed = true
	other := rulesWith(t, map[string]string{standRule: marking("B")})
	a, b := s.hashOf(s.dir), s.hashOf(other)
	s.put(schedule(1, 1), stand(1, "1"))
	first := s.spawn("instance=first")
	s.await("A", `SELECT stnd FROM flight_schd WHERE flid = 1`)
	second := s.spawn("instance=second", "rules.dir="+other)
	s.until("the second to stand by", func() (string, bool) {
		return second.logs.String(), second.logs.count("standing by") > 0
	})
	first.signal(syscall.SIGTERM)
	s.await("second", leader)
	s.put(stand(1, "2"))
	s.await("2", `SELECT count(*) FROM proc_state WHERE ruleset = '`+a+`' AND kind = 'FLOP-STND' AND state = 'SUCCEEDED'`)
	if got := second.logs.count("level=WARN", "of another place", "here="+b[:12]); got != 1 {
		t.Errorf("the second said %d times that its directory holds something else, want once\n%s", got, second.logs)
	}

	// The second is asked for what lies in its directory.
	second.signal(syscall.SIGHUP)
	s.await(b, liveHash)
	s.put(stand(1, "3"))
	s.await("B", `SELECT stnd FROM flight_schd WHERE flid = 1`)
	second.signal(syscall.SIGTERM)
	s.until("the second to stop", func() (string, bool) { return second.logs.String(), second.logs.count("msg=stopped") > 0 })

	// Its directory changes while nobody leads: that counts when it starts again.
	s.writeIn(other, standRule, marking("C"))
	c := s.hashOf(other)
	third := s.spawn("instance=second", "rules.dir="+other)
	s.await(c, liveHash)
	third.signal(syscall.SIGTERM)
	s.until("it to stop again", func() (string, bool) { return third.logs.String(), third.logs.count("msg=stopped") > 0 })

	// And what is refused then leaves what was live in charge.
	s.writeIn(other, standRule, "return {}")
	fourth := s.spawn("instance=second", "rules.dir="+other)
	s.put(stand(1, "4"))
	s.await("C", `SELECT stnd FROM flight_schd WHERE flid = 1`)
	if got := s.query(liveHash); got != c {
		t.Errorf("live is %s, want %s\n%s", got, c, fourth.logs)
	}
	want := []string{"start " + a[:12], "signal " + b[:12], "start " + c[:12], "start refused"}
	if got := s.history(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("history\n%q, want\n%q", got, want)
	}
	s.settled()
}

// A directory that does not load ends the first start of all, since there is nothing to lead with.
func TestFirstStartWithFaultyRules(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{standRule: "return {}"})
	d := s.start()
	err := <-d.ended
	d.ended <- err
	if err == nil || !strings.Contains(err.Error(), standRule) {
		t.Errorf("got %v, want an error that names %s", err, standRule)
	}
}

// hostile are rules of every bad behaviour, by what each does. Lint refuses what can be told by reading, so
// these hide it: what a table holds under a computed name is known only when it runs.
var hostile = map[string]string{
	"raises a text":            `error("no")`,
	"raises a table":           `error({ no = "text" })`,
	"raises nothing":           `error()`,
	"returns nothing":          `return box.hidden`,
	"returns a text":           `box[msg.kind] = "done"; return box[msg.kind]`,
	"has an unknown key":       `local other = {}; other[msg.kind] = {}; return other`,
	"never ends":               `local n = 0; while n < 1 do n = n * 2 end; return update(box)`,
	"eats memory by text":      `local s = "x"; while #s > 0 do s = s .. s end; return update(box)`,
	"eats memory by tables":    `while #box >= 0 do box[#box + 1] = { box } end; return update(box)`,
	"calls itself":             `box.again = function(n) return box.again(n + 1) + 1 end; return box.again(1)`,
	"changes the message":      `box[msg.kind] = msg; box[msg.kind].kind = "FLOP-REMC"; return update(box)`,
	"changes the view":         `box[msg.kind] = view.flights; box[msg.kind]["1"].STND = "9"; return update(box)`,
	"oversteps":                `box[string.upper("remc")] = "x"; return update(box)`,
	"sets an unknown tag":      `box[string.upper("stdn")] = "x"; return update(box)`,
	"names a flight by number": `box[msg.kind] = 1; return update({}, box[msg.kind])`,
	"names a flight by NaN":    `box[msg.kind] = 0 / 0; return update({}, box[msg.kind])`,
	"sets a number":            `box[string.upper("stnd")] = 0 / 0; return update(box)`,
	"touches another flight":   `return update({ STND = "1" }, "2")`,
	"has an unknown op":        `box[msg.kind] = "explode"; return update({ STND = "1" }, nil, box[msg.kind])`,
	"creates what is there":    `return update({ STND = "1" }, nil, "create")`,
	"asks an unknown request":  `box[string.lower("REQUEST")] = "WHAT"; return { outbound = { box } }`,
}

func misbehaving(body string) string {
	return `return { kind = "FLOP-STND", writes = { "STND" }, ops = { "update", "create" }, decide = function(view, msg)
  local box = {}
  local function update(set, flid, op)
    return { changes = { { flid = flid or msg.records[1].flid, op = op or "update", set = set } } }
  end
  if not view.flights[msg.records[1].flid] then
    box.STND = "none"
    return update(box, nil, "create")
  end
  ` + body + `
end }`
}

// Whatever a rule does, its message fails and holds the line, the daemon goes on, and a rule set that is
// repaired while the message is tried again finishes it.
func TestHostileRulesAndTheirRepair(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{standRule: marking("R")}, "pipeline.max-attempts=200", "pipeline.backoff="+strings.TrimSuffix(strings.Repeat("50ms,", 199), ","))
	s.failures = map[int64]int{}
	s.put(schedule(1, 2))
	d := s.start()
	good := s.hashOf(s.dir)
	s.await(good, liveHash)
	n := 0
	for what, body := range hostile {
		n++
		s.write(standRule, misbehaving(body))
		bad := s.hashOf(s.dir)
		s.await(bad, liveHash)
		id := s.put(stand(1, fmt.Sprint(n)))
		behind := s.put(remark(1, what))
		s.await("FAILED RULE_ERROR "+bad, `SELECT concat_ws(' ', state, error_class, ruleset) FROM proc_state WHERE msg_id = $1`, id)
		if got := s.query(`SELECT last_error FROM proc_state WHERE msg_id = $1`, id); got == "" || strings.Contains(got, "panic") {
			t.Errorf("a rule that %s: error %q, want one that tells", what, got)
		}
		mark := fmt.Sprint("M", n)
		s.write(standRule, marking(mark))
		s.await("SUCCEEDED", `SELECT state FROM proc_state WHERE msg_id = $1`, id)
		s.await("SUCCEEDED", `SELECT state FROM proc_state WHERE msg_id = $1`, behind)
		if got := s.query(`SELECT stnd FROM flight_schd WHERE flid = 1`); got != mark {
			t.Errorf("a rule that %s, repaired: the stand is %q, want %q", what, got, mark)
		}
		var attempts int
		s.each(fmt.Sprintf(`SELECT attempts FROM proc_state WHERE msg_id = %d`, id), func() { s.failures[id] = attempts }, &attempts)
	}
	if len(d.ended) > 0 {
		t.Error("the daemon has ended")
	}
	s.settled()
}

// What does not even compile is never live.
func TestRulesThatDoNotCompileAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{standRule: marking("R")})
	s.put(schedule(1, 1), stand(1, "1"))
	s.start()
	good := s.hashOf(s.dir)
	s.await(good, liveHash)
	for i, source := range []string{
		"", "return {", "\x00\xff", "return 1", strings.Repeat("(", 5000), "while true do end", `error("at load")`,
		`return { kind = "FLOP-NONE", writes = { "STND" }, decide = function() end }`,
		`return { kind = "FLOP-STND", writes = { "STDN" }, decide = function() end }`,
		`io.write("x") return {}`, `x = 1 return {}`,
	} {
		s.write(standRule, source)
		s.await(fmt.Sprint(i+1), `SELECT count(*) FROM ruleset_refusal`)
	}
	// A file that has gone, and a directory that has.
	if err := os.Remove(s.dir + "/" + standRule); err != nil {
		t.Fatal(err)
	}
	s.await("12", `SELECT count(*) FROM ruleset_refusal`)
	if err := os.RemoveAll(s.dir); err != nil {
		t.Fatal(err)
	}
	if answer := s.ask(ruleset.ByActivate, ""); answer.Live || !strings.Contains(fmt.Sprint(answer.Reasons), "cannot be read") {
		t.Errorf("an activation without a directory: %+v", answer)
	}
	s.put(stand(1, "2"))
	s.settled()
	if got := s.query(liveHash); got != good {
		t.Errorf("live is %s, want %s", got, good)
	}
}
