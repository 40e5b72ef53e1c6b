package explain_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"msgx"
	"msgx/engine/catalogue"
	"msgx/engine/codec"
	"msgx/engine/decision"
	"msgx/engine/explain"
	"msgx/engine/message"
	"msgx/engine/rehearse"
	"msgx/engine/rulebook"
	"msgx/engine/verdict"
	"msgx/schemas"
)

var zone = time.FixedZone("CST", 8*3600)

// stage is what runs messages in a test.
type stage struct {
	cat     *catalogue.Catalogue
	decoder *codec.Codec
	before  rehearse.World
}

func newStage(t *testing.T, state string) *stage {
	t.Helper()
	cat, err := schemas.Load()
	if err != nil {
		t.Fatal(err)
	}
	decoder, err := codec.New(cat, codec.Options{Zone: zone})
	if err != nil {
		t.Fatal(err)
	}
	before, err := rehearse.ParseState(cat, zone, []byte(state))
	if err != nil {
		t.Fatal(err)
	}
	return &stage{cat, decoder, before}
}

// explainer is one on the shipped rule set with the text of some files changed.
func (s *stage) explainer(t *testing.T, changed map[string]string) *explain.Explainer {
	t.Helper()
	files := fstest.MapFS{}
	err := fs.WalkDir(msgx.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(msgx.Files, name)
		if text, ok := changed[name]; ok {
			data = []byte(text)
		}
		files[name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	book, err := rulebook.LoadTraced(files, s.cat, rulebook.Settings{}, rulebook.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return explain.New(s.cat, book, verdict.Options{Options: decision.Options{Zone: zone, CodeShareKey: decision.KeyMaster}})
}

// run explains messages one after the other.
func (s *stage) run(e *explain.Explainer, beside rehearse.Judge, bodies ...string) []*explain.Explanation {
	r := rehearse.New(s.decoder, e, func() time.Time { return time.Unix(0, 0) }, s.before)
	var out []*explain.Explanation
	for i, body := range bodies {
		r.RunBeside(message.Raw{MsgID: int64(i + 1), Body: []byte(body)}, beside)
		out = append(out, e.Explain(""))
	}
	return out
}

func envelope(seqn int, typ, subtype, payload string) string {
	return fmt.Sprintf("<MSG><META><SNDR>A</SNDR><SEQN>%d</SEQN><DTTM>20210123080000</DTTM><TYPE>%s</TYPE><STYP>%s</STYP></META>%s</MSG>", seqn, typ, subtype, payload)
}

// A message that no rule sees is explained without one.
func TestNoRuleIsAsked(t *testing.T) {
	s := newStage(t, "- flight: 1\n")
	stand := envelope(1, "FLOP", "STND", "<FLOP><FLID>1</FLID><STND>7</STND></FLOP>")
	told := s.run(s.explainer(t, nil), nil, stand, stand, "<MSG>", envelope(2, "LDM", "X", "<X/>"),
		envelope(3, "SCHD", "DNLD", "<SCHD><RECS>2</RECS><FLTR><FLID>1</FLID><SODT>23JAN210935</SODT></FLTR></SCHD>"))
	if told[0].Script == nil || told[0].Script.ID != "flop-stnd@1" {
		t.Errorf("script of the first: %+v", told[0].Script)
	}
	for i, want := range map[int]string{1: "duplicate-of:1", 2: "expected well-formed XML", 3: "ignored:LDM-*", 4: "record-count 2, found 1"} {
		x := told[i]
		text := x.Text(explain.TextOptions{})
		if x.Script != nil || !strings.Contains(text, want) || !strings.Contains(text, "no rule was asked") {
			t.Errorf("message %d:\n%s\nwant %q and that no rule was asked", i+1, text, want)
		}
	}
	if told[2].Said != nil || told[4].Said == nil || told[4].Said.Declared == nil {
		t.Errorf("a broken message says nothing, another what it said: %+v, %+v", told[2].Said, told[4].Said)
	}
}

// A script that fails is followed to where it failed.
func TestAScriptThatFails(t *testing.T) {
	s := newStage(t, "- flight: 1\n")
	e := s.explainer(t, map[string]string{"rules/flop-stnd@1.lua": `return { kind = "FLOP-STND", writes = { "STND" }, decide = function(view, msg)
  local stand = msg.records[1].STND
  if stand == "7" then
    error("no stand seven")
  end
  return {}
end }`})
	x := s.run(e, nil, envelope(1, "FLOP", "STND", "<FLOP><FLID>1</FLID><STND>7</STND></FLOP>"))[0]
	text := x.Text(explain.TextOptions{})
	for _, want := range []string{"FAILED(RULE_ERROR)", "no stand seven", "    1x     4      error(\"no stand seven\")\n", "     -     6    return {}\n",
		"rules/flop-stnd@1.lua:3  yes  if stand == \"7\"  stand = \"7\"\n", "\nwritten\n  nothing\n", "\nchanges\n  none\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in:\n%s", want, text)
		}
	}
}

func TestWhatAMessageSaid(t *testing.T) {
	s := newStage(t, "- flight: 1\n")
	x := s.run(s.explainer(t, nil), nil, envelope(1, "SCHD", "ADFT", `<SCHD><RECS>1</RECS><FLTR><FLID>1</FLID><FFID>F</FFID><FLNO>CA1</FLNO><SODT>23JAN210935</SODT>
<REMC></REMC><MAXP>180</MAXP><FDIV DIVC="W"><DDES>PEK</DDES></FDIV><GTDT GTNO="1"><GATE>"G" &lt;1&gt;</GATE></GTDT><XYZ/></FLTR></SCHD>`))[0]
	said := map[string]string{}
	for _, e := range x.Said.Records[0].Elements {
		said[e.Tag] = string(e.Value)
		if e.Empty {
			said[e.Tag] = "empty"
		}
	}
	delete(said, "FDIV")
	want := map[string]string{"FLID": `"1"`, "FFID": `"F"`, "FLNO": `"CA1"`, "SODT": `"2021-01-23T09:35:00+08:00"`, "REMC": "empty", "MAXP": "180",
		"GTDT": `[{"GTNO":1,"GATE":"\"G\" <1>"}]`}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("said (-want +got):\n%s", diff)
	}
	if absent := strings.Join(x.Said.Records[0].Absent, " "); !strings.Contains(absent, "STND") || strings.Contains(absent, "REMC") || strings.Contains(absent, "FLID") {
		t.Errorf("absent: %s", absent)
	}
	if _, err := json.Marshal(x); err != nil {
		t.Error(err)
	}
}

func TestAnotherRuleSet(t *testing.T) {
	s := newStage(t, "- flight: 1\n  STND: 7\n")
	other := s.explainer(t, map[string]string{"rules/flop-stnd@1.lua": `local merge = require("merge")
return { kind = "FLOP-STND", writes = { "STND" }, decide = function(view, msg)
  if #view.flights["1"].STND == 1 then return { skip = "stand-known" } end
  return merge.flop(view, msg, { STND = merge.value })
end }`})
	e := s.explainer(t, nil)
	x := s.run(e, other, envelope(1, "FLOP", "STND", "<FLOP><FLID>1</FLID><STND>8</STND></FLOP>"))[0]
	x.With = e.With("candidate", other)
	if len(x.With.Differences) != 1 || x.With.Differences[0].New != "SKIPPED stand-known" || x.With.Branch == nil || x.With.Branch.Line != 3 {
		t.Errorf("with: %+v", x.With)
	}
	text := x.Text(explain.TextOptions{Colour: true})
	if !strings.Contains(text, "the two part at rules/flop-stnd@1.lua:3, only with candidate:") || !strings.Contains(text, "\x1b[33mSKIPPED\x1b[0m") {
		t.Errorf("with colour:\n%q", text)
	}
}

// However much there is to tell, the text stays short and its lines fit.
func TestLongPartsAreShortened(t *testing.T) {
	s := newStage(t, "- flight: 1\n")
	var records strings.Builder
	for n := range 40 {
		fmt.Fprintf(&records, "<FLTR><FLID>%d</FLID><FLNO>CA1</FLNO><SODT>23JAN210935</SODT><REMC>%s</REMC></FLTR>", n+1, strings.Repeat("天气", 35))
	}
	body := envelope(1, "SCHD", "ADFT", "<SCHD><RECS>40</RECS>"+records.String()+"</SCHD>")
	x := s.run(s.explainer(t, nil), nil, body)[0]
	short, all := x.Text(explain.TextOptions{}), x.Text(explain.TextOptions{All: true})
	for _, want := range []string{"and 37 more records", "and 35 more flights", "more branches", "more reads"} {
		if !strings.Contains(short, want) || strings.Contains(all, want) {
			t.Errorf("want %q in the short text only", want)
		}
	}
	for line := range strings.Lines(short + all) {
		wide := strings.Count(line, "天") + strings.Count(line, "气")
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")) + wide; n > 100 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if n := strings.Count(short, "\n"); n > 270 {
		t.Errorf("%d lines, expected at most 270", n)
	}
}
