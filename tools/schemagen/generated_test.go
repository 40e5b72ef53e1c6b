package main

import (
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/yuin/gopher-lua/parse"

	"msgx/engine/catalogue"
	"msgx/schemas"
)

const root = "../.."

func shipped(t *testing.T) *catalogue.Catalogue {
	t.Helper()
	cat, err := schemas.Load()
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

func TestGeneratedFilesAreCurrent(t *testing.T) {
	files := generate(shipped(t))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Errorf("%v: run go generate ./schemas", err)
			continue
		}
		if diff := cmp.Diff(string(files[name]), string(got)); diff != "" {
			t.Errorf("%s is stale: run go generate ./schemas\n(-catalogue +file)\n%.2000s", name, diff)
		}
	}
	found, err := filepath.Glob(filepath.Join(root, "schemas/generated/*.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		name, _ := filepath.Rel(root, path)
		if _, ours := files[name]; !ours {
			t.Errorf("%s is generated from nothing: delete it", name)
		}
	}
}

func TestGenerationIsRepeatable(t *testing.T) {
	for range 3 {
		if diff := cmp.Diff(generate(shipped(t)), generate(shipped(t))); diff != "" {
			t.Fatalf("two runs differ\n%.2000s", diff)
		}
	}
}

func TestRunWithSite(t *testing.T) {
	dir := t.TempDir()
	site := filepath.Join(dir, "site.yaml")
	if err := os.WriteFile(site, []byte("flight: {STND: {max: 77}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(dir, site); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"schemas/generated/msgx.xsd": `name="STND" type="code-77"`, "schemas/generated/lua/msgx.lua": "current stand (at most 77 characters)", "schemas/generated/event-schd.schema.json": `"maxLength": 77`,
	} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s: error %v, want %q in it", name, err, want)
		}
	}
	if err := run(dir, filepath.Join(dir, "none")); err == nil {
		t.Error("a site file that is not there: got no error")
	}
}

// The definitions are Lua, and name every tag in each class that has it.
func TestLuaDefinitions(t *testing.T) {
	cat := shipped(t)
	for name, data := range generate(cat) {
		if strings.HasSuffix(name, ".lua") {
			if _, err := parse.Parse(strings.NewReader(string(data)), name); err != nil {
				t.Error(err)
			}
		}
	}
	classes := map[string]map[string]string{}
	class := ""
	for line := range strings.Lines(string(luaDefinitions(cat))) {
		words := strings.Fields(line)
		switch {
		case len(words) > 1 && words[0] == "---@class":
			class = words[1]
			if classes[class] != nil {
				t.Errorf("class %s stands twice", class)
			}
			classes[class] = map[string]string{}
		case len(words) > 2 && words[0] == "---@field":
			if classes[class][words[1]] != "" {
				t.Errorf("%s: field %s stands twice", class, words[1])
			}
			classes[class][words[1]] = words[2]
		}
	}
	want := map[string]string{
		"msgx.Flight STND?": "msgx.code", "msgx.Flight GTDT": "msgx.GTDT[]", "msgx.Flight FDIV?": "msgx.FDIV", "msgx.Flight flid": "msgx.id",
		"msgx.Record STND?": "msgx.code|msgx.Clear", "msgx.Record GTDT?": "msgx.GTDT[]|msgx.Clear", "msgx.Record MVIN?": `"A"|"D"|msgx.Clear`,
		"msgx.Set MAXP?": "msgx.int", "msgx.Lists DELY?": "msgx.DELY[]", "msgx.DELY DURA?": "msgx.duration", "msgx.VIPF VIPT?": "msgx.VIPT[]", "msgx.VIPT VTQY?": "msgx.int",
		"msgx.Meta sndr": "string", "msgx.Meta dttm?": "msgx.stamp", "msgx.FLOP_GTDT.Record GTDT?": "msgx.GTDT[]|msgx.Clear", "msgx.FLOP_GTDT.Message records": "msgx.FLOP_GTDT.Record[]", "msgx.Modes GTDT?": "msgx.ListMode", "msgx.Modes STND?": "msgx.ValueMode",
		"msgx.Request.RQFD STDB": "msgx.datetime", "msgx.Change op": `"create"|"update"|"revive"|"delete"`,
	}
	for place, typ := range want {
		class, field, _ := strings.Cut(place, " ")
		if got := classes[class][field]; got != typ {
			t.Errorf("%s: got type %q, want %q", place, got, typ)
		}
	}
	for _, tag := range cat.Tags() {
		_, isList := cat.List(tag)
		for _, class := range []string{"msgx.Flight", "msgx.Record"} {
			if classes[class][tag] == "" && classes[class][tag+"?"] == "" {
				t.Errorf("%s lacks %s", class, tag)
			}
		}
		if home := map[bool]string{true: "msgx.Lists", false: "msgx.Set"}[isList]; classes[home][tag+"?"] == "" {
			t.Errorf("%s lacks %s", home, tag)
		}
	}
}

// Every type that the XSD names is in it, and its patterns accept what the
// catalogue gives as examples, and blanks.
func TestXSD(t *testing.T) {
	cat := shipped(t)
	data := string(xsd(cat))
	defined, used := map[string]bool{}, map[string]bool{}
	decoder := xml.NewDecoder(strings.NewReader(data))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		for _, a := range start.Attr {
			switch {
			case a.Name.Local == "name" && strings.HasSuffix(start.Name.Local, "Type"):
				if defined[a.Value] {
					t.Errorf("type %s stands twice", a.Value)
				}
				defined[a.Value] = true
			case (a.Name.Local == "type" || a.Name.Local == "base") && !strings.HasPrefix(a.Value, "xs:"):
				used[a.Value] = true
			}
		}
	}
	for name := range used {
		if !defined[name] {
			t.Errorf("type %s is used and not defined", name)
		}
	}
	for _, v := range cat.Types {
		if v.Pattern == "" {
			continue
		}
		pattern := regexp.MustCompile(`^(?:(` + v.Pattern + `)|\s*)$`)
		for _, text := range []string{v.Example, " " + v.Example + "\t", "", " \n"} {
			if !pattern.MatchString(text) {
				t.Errorf("%s: pattern %s refuses %q", v.Name, v.Pattern, text)
			}
		}
	}
}

// Where xmllint is installed, it has the last word on the XSD.
func TestXSDByXMLLint(t *testing.T) {
	tool, err := exec.LookPath("xmllint")
	if err != nil {
		t.Log("xmllint is not installed; TestXSD checks what can be checked without it")
		return
	}
	const head = "<MSG><META><SNDR>AODB</SNDR><SEQN>1</SEQN><TYPE>SCHD</TYPE><STYP>DNLD</STYP></META>"
	tests := []struct {
		text  string
		valid bool
	}{
		{head + `<SCHD><RECS>1</RECS><FLTR><FLID>1</FLID><SODT>23Jan210535</SODT><GTDT GTNO="1"><GATE>1</GATE></GTDT><STND/><GTDT/><FDIV DDES="PEK" DDIR="TO">x</FDIV><FRET/><VIPF><VIPT><VSCD>1</VSCD></VIPT></VIPF></FLTR></SCHD></MSG>`, true},
		{head + `<FLOP><FLID>1</FLID><FDEL/></FLOP></MSG>`, true},
		{head + `<RECS>1</RECS><SLST><SCOD>1</SCOD><ANY a="1"><X/></ANY></SLST></MSG>`, true},
		{head + `<RQFD><STDB>23JAN210535</STDB><STDE>23JAN210535</STDE></RQFD></MSG>`, true},
		{head + `</MSG>`, true},
		{`<MSG><META><SNDR>A</SNDR></META></MSG>`, false},
		{head + `<FLOP><FLID>x</FLID></FLOP></MSG>`, false},
		{head + `<FLOP><STND>123456789</STND></FLOP></MSG>`, false},
		{head + `<FLOP><MVIN>X</MVIN></FLOP></MSG>`, false},
		{head + `<FLOP><SODT>2021</SODT></FLOP></MSG>`, false},
		{head + `<FLOP><FDIV DDIR="UP"/></FLOP></MSG>`, false},
	}
	for _, test := range tests {
		command := exec.CommandContext(t.Context(), tool, "--noout", "--schema", filepath.Join(root, "schemas/generated/msgx.xsd"), "-")
		command.Stdin = strings.NewReader(test.text)
		if out, err := command.CombinedOutput(); (err == nil) != test.valid {
			t.Errorf("%s\nvalid: got %v, want %v\n%s", test.text, err == nil, test.valid, out)
		}
	}
}

func TestEventSchemas(t *testing.T) {
	const header = `"event_id":"9","schema_version":1,"flid":"1","state_version":2,"state":"ACTIVE","operation_day":"2021-01-23","msg_id":"7","kind":"FLOP-STND","ruleset":"ab","updated_at":"2021-01-23T22:31:26.123456+08:00"`
	const change = `{"type":"UPSERT",` + header + `,"op":"update","script":"flop-stnd@1","key":"1","changes":[`
	tests := []struct {
		schema, text string
		valid        bool
	}{
		{"schd", `{` + header + `}`, true},
		{"schd", `{` + header + `,"MAXP":180,"LBWT":"12.5","SODT":"2021-01-23T05:35:00+08:00","FDIV":{"DDES":"PEK"},"DELY":[{"DURA":121}],"VIPF":[{"VIPT":[{"VTQY":1}]}],"MAFL":[{"FLID":"2"}]}`, true},
		{"schd", strings.Replace(`{`+header+`}`, `"operation_day":"2021-01-23",`, "", 1), true},
		{"schd", strings.Replace(`{`+header+`}`, `"flid":"1",`, "", 1), false},
		{"schd", strings.Replace(`{`+header+`}`, `"1"`, `1`, 1), false},
		{"schd", strings.Replace(`{`+header+`}`, `"schema_version":1`, `"schema_version":2`, 1), false},
		{"schd", strings.Replace(`{`+header+`}`, `"event_id":"9",`, "", 1), false},
		{"schd", `{` + header + `,"MAXP":"180"}`, false},
		{"schd", `{` + header + `,"MAXP":2147483648}`, false},
		{"schd", `{` + header + `,"LBWT":12.5}`, false},
		{"schd", `{` + header + `,"LBWT":"12.50"}`, false},
		{"schd", `{` + header + `,"STND":""}`, false},
		{"schd", `{` + header + `,"STND":"123456789"}`, false},
		{"schd", `{` + header + `,"REMC":"` + strings.Repeat("机", 80) + `"}`, true},
		{"schd", `{` + header + `,"MVIN":"X"}`, false},
		{"schd", `{` + header + `,"SODT":"23JAN210535"}`, false},
		{"schd", `{` + header + `,"SODT":"2021-13-23T05:35:00+08:00"}`, false},
		{"schd", `{` + header + `,"GTDT":[]}`, false},
		{"schd", `{` + header + `,"FDIV":{}}`, false},
		{"schd", `{` + header + `,"NEW":1}`, false},
		{"msg", change + `{"path":"STND","before":null,"after":"12"},{"path":"FDIV.DDES","before":"PEK","after":null},{"path":"STATE","before":"DELETED","after":"ACTIVE"},{"path":"MAFL","before":null,"after":[{"FLID":"2","FLNO":"CA1"}]}]}`, true},
		{"msg", change + `]}`, true},
		{"msg", change + `{"path":"STND","before":null,"after":12}]}`, false},
		{"msg", change + `{"path":"STND","after":"12"}]}`, false},
		{"msg", change + `{"path":"NEW","before":null,"after":"12"}]}`, false},
		{"msg", strings.Replace(change, "update", "merge", 1) + `]}`, false},
		{"msg", `{` + header + `}`, false},
	}
	compiled := map[string]*jsonschema.Schema{}
	for _, name := range []string{"schd", "msg"} {
		compiler := jsonschema.NewCompiler()
		compiler.AssertFormat()
		schema, err := compiler.Compile(filepath.Join(root, "schemas/generated/event-"+name+".schema.json"))
		if err != nil {
			t.Fatal(err)
		}
		compiled[name] = schema
	}
	for _, test := range tests {
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(test.text))
		if err != nil {
			t.Fatalf("%s: %v", test.text, err)
		}
		if err := compiled[test.schema].Validate(document); (err == nil) != test.valid {
			t.Errorf("%s %s\nvalid: got %v, want %v", test.schema, test.text, err, test.valid)
		}
	}
}
