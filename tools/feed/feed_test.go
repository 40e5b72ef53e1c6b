package feed

import (
	"bytes"
	"database/sql"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"msgx/tools/stack/stacktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var someDay = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func generate(t *testing.T, o Options) []Message {
	t.Helper()
	o.Date = someDay
	messages, err := Generate(o)
	if err != nil {
		t.Fatal(err)
	}
	return messages
}

func TestSameSeedSameBytes(t *testing.T) {
	for _, form := range []Form{Characters, Bytes} {
		o := Options{Seed: 5, Flights: 60, Operations: 700, BadPerMille: 40, Holding: 4, Form: form}
		a, b := generate(t, o), generate(t, o)
		o.Seed = 6
		other := generate(t, o)
		differ := 0
		for i := range a {
			if !bytes.Equal(a[i].Body, b[i].Body) || a[i].Expect != b[i].Expect || !a[i].At.Equal(b[i].At) {
				t.Fatalf("%s: message %d differs between two runs of one seed:\n%s\n%s", form, i+1, a[i].Body, b[i].Body)
			}
			if !bytes.Equal(a[i].Body, other[i].Body) {
				differ++
			}
		}
		if differ < len(a)*9/10 {
			t.Errorf("%s: another seed changes %d of %d messages, want nearly all", form, differ, len(a))
		}
	}
}

func TestADayIsAsOrdered(t *testing.T) {
	messages := generate(t, Options{Seed: 1})
	t.Logf("%s", Summary(messages))
	kinds, encodings, states := map[string]int{}, map[string]int{}, map[string]int{}
	operations, flights, stragglers := 0, 0, 0
	scheduled := false
	for i, m := range messages {
		if m.Seq != i+1 {
			t.Fatalf("message %d has Seq %d", i+1, m.Seq)
		}
		if i > 0 && m.At.Before(messages[i-1].At) {
			t.Fatalf("message %d is sent at %v, before its predecessor at %v", m.Seq, m.At, messages[i-1].At)
		}
		if !utf8.Valid(m.Body) {
			t.Fatalf("message %d is not characters", m.Seq)
		}
		kinds[m.Kind]++
		encodings[m.Encoding]++
		states[string(m.Expect.State)+string(m.Expect.Class)]++
		if scheduled && m.Bad == "" {
			operations++
		}
		if m.Kind == "SCHD-DNLD" && !scheduled {
			scheduled = true
			flights = strings.Count(string(m.Body), "<FLTR>")
		}
		if m.Bad == "" && strings.HasPrefix(m.Kind, "FLOP-") && m.Expect.State != "SUCCEEDED" {
			stragglers++
			if m.Expect.Reason != "flight-deleted" {
				t.Errorf("message %d is a good %s, but expects %+v", m.Seq, m.Kind, m.Expect)
			}
		}
	}
	if stragglers == 0 || stragglers > 50 {
		t.Errorf("got %d operations of deleted flights, want a few", stragglers)
	}
	if flights != 1000 || operations != 12000 {
		t.Errorf("got %d flights and %d operations, want 1000 and 12000", flights, operations)
	}
	for _, kind := range []string{"STND", "GTDT", "CKDT", "CLDT", "CHDT", "PSDT", "ABTM", "CHOT", "ERUT", "ROUT", "DELY", "SRVT", "VIPF", "PORT", "TIPT", "PSHT",
		"EXSS", "HNAG", "TAOP", "VIPP", "FDIV", "FRET", "ACFT", "ACTT", "APPT", "BOTM", "CNCL", "COBT", "CTOT", "EGSR", "EGST", "EOBT", "ESTT", "FINT", "FLIN",
		"FLTY", "FTSS", "IEST", "LACL", "MAXP", "NAAT", "NEAT", "PADT", "PEDT", "REMC", "RENO", "RUNW", "TOBT", "TRML"} {
		if kinds["FLOP-"+kind] == 0 {
			t.Errorf("no FLOP-%s in the day", kind)
		}
	}
	for _, kind := range []string{"SCHD-ADFT", "FDEL", "REF-AIRL", "LDM-NONE", "REGN-UPD", "RSTA-STAT"} {
		if kinds[kind] == 0 {
			t.Errorf("no %s in the day", kind)
		}
	}
	for _, e := range []string{"UTF-8", "GBK", "GB18030", "GB2312", "UTF-16", ""} {
		if encodings[e] == 0 {
			t.Errorf("no message declares %q", e)
		}
	}
}

func TestBadMessagesOfEveryClass(t *testing.T) {
	messages := generate(t, Options{Seed: 3, Flights: 100, Operations: 1000, BadPerMille: 60, Holding: 10, Form: Bytes})
	got := map[string]int{}
	for _, m := range messages {
		got[m.Bad]++
	}
	for _, class := range slices.Concat(badClasses(), holdingClasses(Bytes)) {
		if got[class] == 0 {
			t.Errorf("no message of class %s", class)
		}
	}
	if n := len(messages) - got[""]; n != 70 {
		t.Errorf("got %d bad messages, want 60 and 10", n)
	}
	for _, m := range generate(t, Options{Seed: 3, Flights: 100, Operations: 1000, BadPerMille: -1}) {
		if m.Bad != "" {
			t.Errorf("message %d is of class %s, want no bad ones", m.Seq, m.Bad)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for want, o := range map[string]Options{
		"no date": {}, "9 flights": {Date: someDay, Flights: 9}, `form "x"`: {Date: someDay, Form: "x"},
	} {
		if _, err := Generate(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want an error with %q", o, err, want)
		}
	}
}

func TestSave(t *testing.T) {
	messages := generate(t, Options{Flights: 10, Operations: 20, Form: Bytes})
	dir := t.TempDir() + "/day"
	if err := Save(dir, messages); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != len(messages)+1 {
		t.Fatalf("got %d files, %v, want %d", len(files), err, len(messages)+1)
	}
	body, err := os.ReadFile(dir + "/" + FileName(messages[10]))
	if err != nil || !bytes.Equal(body, messages[10].Body) {
		t.Errorf("message 11: got %q, %v, want %q", body, err, messages[10].Body)
	}
	if err := Save(dir, messages); err == nil || !strings.Contains(err.Error(), "expected an empty folder") {
		t.Errorf("into a full folder: got %v, want a refusal", err)
	}
}

func TestInsert(t *testing.T) {
	db, err := sql.Open("mysql", stacktest.Mailbox(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	messages := generate(t, Options{Seed: 2, Flights: 20, Operations: 150, BadPerMille: 100})
	var commits []int64
	done, err := Insert(t.Context(), db, messages, Inserting{Seed: 1, Writers: 4, OutOfOrder: true, RolledBack: 100,
		Done: func(_ Message, id int64) { commits = append(commits, id) }})
	if err != nil {
		t.Fatal(err)
	}
	if slices.IsSorted(commits) {
		t.Error("commits are in the order of ids, want another order")
	}
	if len(done.RolledBack) < 5 {
		t.Errorf("ids given up: got %d, want about a tenth of %d", len(done.RolledBack), len(messages))
	}
	rows, err := db.QueryContext(t.Context(), "SELECT CMINMSGS_ID, CMINMSGS_CLOB_MSG FROM CMINMSGS ORDER BY CMINMSGS_ID")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		var id int64
		var body string
		if err := rows.Scan(&id, &body); err != nil {
			t.Fatal(err)
		}
		if n == len(messages) {
			t.Fatal("more rows than messages")
		}
		if m := messages[n]; id != done.IDs[m.Seq] || body != string(m.Body) {
			t.Fatalf("row %d: got id %d %q, want id %d %q", n+1, id, body, done.IDs[m.Seq], m.Body)
		}
		n++
	}
	if err := rows.Err(); err != nil || n != len(messages) {
		t.Errorf("got %d rows, %v, want %d", n, err, len(messages))
	}
}
