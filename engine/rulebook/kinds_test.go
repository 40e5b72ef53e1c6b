package rulebook_test

import (
	"io/fs"
	"strings"
	"testing"

	"msgx"
	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/rulebook"
)

type lists = map[string][]flight.Record

func skip(reason string) decision.Decision { return decision.Decision{Skip: reason} }

func note(id flight.ID, reason string) decision.Note { return decision.Note{FLID: id, Reason: reason} }

func object(parts ...string) message.Element {
	e := message.Element{Object: map[string]string{}}
	for i := 0; i < len(parts); i += 2 {
		e.Object[parts[i]] = parts[i+1]
	}
	return e
}

const at5, at6 = "2021-01-23T05:35:00+08:00", "2021-01-23T06:35:00+08:00"

func TestOperations(t *testing.T) {
	vip := rec("VPCD", "V1", "VFES", "2")
	vip.Lists = lists{"VIPT": {rec("VSCD", "CAR", "VTQY", "1", "VTST", at5)}}
	tests := []struct {
		name string
		msg  *message.Message
		view decision.View
		want decision.Decision
	}{
		{"value sets", msg("FLOP-STND", record(1, elements{"STND": text("12")})), view(active(1, nil, nil)),
			update(1, values("STND", "12"), nil, nil)},
		{"empty clears", msg("FLOP-REMC", record(1, elements{"REMC": empty()})), view(active(1, flight.Fields{"REMC": "x"}, nil)),
			update(1, nil, []string{"REMC"}, nil)},
		{"integer", msg("FLOP-MAXP", record(1, elements{"MAXP": text("180")})), view(active(1, nil, nil)),
			update(1, values("MAXP", "180"), nil, nil)},
		{"negative and largest integers", msg("FLOP-VIPP", record(1, elements{"VIPP": text("-3"), "VIPR": text("2147483647")})), view(active(1, nil, nil)),
			update(1, values("VIPP", "-3", "VIPR", "2147483647"), nil, nil)},
		{"longest id is exact", msg("FLOP-TAOP", record(999999999999999999, elements{"TAID": text("999999999999999998"), "TAOP": empty()})),
			view(active(999999999999999999, nil, nil)),
			update(999999999999999999, values("TAID", "999999999999999998"), []string{"TAOP"}, nil)},
		{"several elements, one absent", msg("FLOP-HNAG", record(1, elements{"PHAG": text("A"), "MHAG": empty()})), view(active(1, flight.Fields{"FHAG": "F"}, nil)),
			update(1, values("PHAG", "A"), []string{"MHAG"}, nil)},
		{"object as a whole", msg("FLOP-FDIV", record(1, elements{"FDIV": object("DDES", "PEK", "TEXT", "天气")})),
			view(active(1, flight.Fields{"FDIV.DDES": "SHA", "FDIV.DDIR": "TO"}, nil)),
			update(1, map[string]decision.Value{"FDIV": {Object: map[string]string{"DDES": "PEK", "TEXT": "天气"}}}, nil, nil)},
		{"object empty", msg("FLOP-FRET", record(1, elements{"FRET": empty()})), view(active(1, nil, nil)),
			update(1, nil, []string{"FRET"}, nil)},
		{"list replaced, same resource twice", msg("FLOP-GTDT", record(1, elements{"GTDT": list(rec("GATE", "12", "GTNO", "1"), rec("GATE", "12", "GTNO", "1"))})),
			view(active(1, nil, lists{"GTDT": {rec("GATE", "9")}})),
			update(1, nil, nil, lists{"GTDT": {rec("GATE", "12", "GTNO", "1"), rec("GATE", "12", "GTNO", "1")}})},
		{"list emptied", msg("FLOP-ROUT", record(1, elements{"ROUT": empty()})), view(active(1, nil, lists{"ROUT": {rec("APCD", "PEK")}})),
			update(1, nil, nil, lists{"ROUT": nil})},
		{"by key: replaced in place, appended, not merged", msg("FLOP-DELY", record(1, elements{"DELY": list(rec("CODE", "81", "DURA", "15"), rec("CODE", "93", "TEXT", "x"))})),
			view(active(1, nil, lists{"DELY": {rec("CODE", "81", "TEXT", "old"), rec("CODE", "77")}})),
			update(1, nil, nil, lists{"DELY": {rec("CODE", "81", "DURA", "15"), rec("CODE", "77"), rec("CODE", "93", "TEXT", "x")}})},
		{"by key: repeated key takes the first place", msg("FLOP-TIPT", record(1, elements{"TIPT": list(rec("TRST", "A", "TRTM", at5), rec("TRTM", at6), rec("TRST", "A"))})),
			view(active(1, nil, lists{"TIPT": {rec("TRST", "B"), rec("TRST", "A"), rec("TRST", "C"), rec("TRST", "A", "TRTM", at6)}})),
			update(1, nil, nil, lists{"TIPT": {rec("TRST", "B"), rec("TRST", "A", "TRTM", at5), rec("TRST", "A"), rec("TRST", "C"), rec("TRTM", at6)}})},
		{"by key: empty clears", msg("FLOP-SRVT", record(1, elements{"SRVT": empty()})), view(active(1, nil, lists{"SRVT": {rec("SRTC", "W")}})),
			update(1, nil, nil, lists{"SRVT": nil})},
		{"port: an empty time clears that port", msg("FLOP-PORT", record(1, elements{"PORT": list(rec("POID", "O"))})),
			view(active(1, nil, lists{"PORT": {rec("POID", "O", "POTM", at5), rec("POID", "C", "POTM", at6)}})),
			update(1, nil, nil, lists{"PORT": {rec("POID", "O"), rec("POID", "C", "POTM", at6)}})},
		{"push-back by stand and direction", msg("FLOP-PSHT", record(1, elements{"PSHT": list(rec("PUST", "1", "PSID", "IN", "PSTM", at5), rec("PSID", "IN"))})),
			view(active(1, nil, lists{"PSHT": {rec("PUST", "1", "PSID", "OUT"), rec("PUST", "1", "PSID", "IN"), rec("PSID", "IN")}})),
			update(1, nil, nil, lists{"PSHT": {rec("PUST", "1", "PSID", "OUT"), rec("PUST", "1", "PSID", "IN", "PSTM", at5), rec("PSID", "IN"), rec("PSID", "IN")}})},
		{"VIPs with their services", msg("FLOP-VIPF", record(1, elements{"VIPF": list(vip)})),
			view(active(1, nil, lists{"VIPF": {rec("VPCD", "V1"), rec("VPCD", "V2")}})),
			update(1, nil, nil, lists{"VIPF": {vip, rec("VPCD", "V2")}})},
		{"unknown flight", msg("FLOP-STND", record(1, elements{"STND": text("12")})), view(), skip("flight-unknown")},
		{"deleted flight", msg("FLOP-STND", record(1, elements{"STND": text("12")})), view(deleted(active(1, nil, nil))), skip("flight-deleted")},
		{"some left out", msg("FLOP-STND", record(1, elements{"STND": text("1")}), record(2, elements{"STND": text("2")}), record(3, elements{"STND": text("3")})),
			view(deleted(active(1, nil, nil)), active(3, nil, nil)),
			decision.Decision{Changes: update(3, values("STND", "3"), nil, nil).Changes, Notes: []decision.Note{note(1, "flight-deleted"), note(2, "flight-unknown")}}},
		{"several flights in document order", msg("FLOP-STND", record(9, elements{"STND": text("9")}), record(1, elements{"STND": text("1")})), view(active(1, nil, nil), active(9, nil, nil)),
			decision.Decision{Changes: []decision.Change{update(9, values("STND", "9"), nil, nil).Changes[0], update(1, values("STND", "1"), nil, nil).Changes[0]}}},
		{"one flight twice: set after clear", msg("FLOP-HNAG", record(1, elements{"PHAG": empty(), "FHAG": text("F")}), record(1, elements{"PHAG": text("P"), "FHAG": empty()})),
			view(active(1, nil, nil)), update(1, values("PHAG", "P"), []string{"FHAG"}, nil)},
		{"one flight twice: by key on the first result", msg("FLOP-DELY", record(1, elements{"DELY": list(rec("CODE", "A"))}), record(1, elements{"DELY": list(rec("CODE", "A", "TEXT", "2"), rec("CODE", "B"))})),
			view(active(1, nil, lists{"DELY": {rec("CODE", "C")}})),
			update(1, nil, nil, lists{"DELY": {rec("CODE", "C"), rec("CODE", "A", "TEXT", "2"), rec("CODE", "B")}})},
		{"one flight twice: by key after clear", msg("FLOP-DELY", record(1, elements{"DELY": empty()}), record(1, elements{"DELY": list(rec("CODE", "B"))})),
			view(active(1, nil, lists{"DELY": {rec("CODE", "C")}})), update(1, nil, nil, lists{"DELY": {rec("CODE", "B")}})},
	}
	b := shipped(t, rulebook.Settings{})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { same(t, decide(t, b, tt.msg, tt.view), tt.want) })
	}
}

func TestSchedules(t *testing.T) {
	full := elements{"FLID": text("1"), "FFID": text("CA-1"), "SODT": text(at5), "STND": text("7"), "MAXP": empty(),
		"GTDT": list(rec("GATE", "1")), "DELY": empty(), "FDIV": object("DDES", "PEK"), "FRET": empty()}
	merged := func(op decision.Op) decision.Decision {
		set := values("FFID", "CA-1", "SODT", at5, "STND", "7")
		set["FDIV"] = decision.Value{Object: map[string]string{"DDES": "PEK"}}
		return decision.Decision{Changes: []decision.Change{change(1, op, set, []string{"FRET", "MAXP"}, lists{"GTDT": {rec("GATE", "1")}, "DELY": nil})}}
	}
	setOnly := func(op decision.Op) decision.Decision {
		d := merged(op)
		d.Changes[0].Clear = nil
		delete(d.Changes[0].Lists, "DELY")
		return d
	}
	old := func() *flight.State {
		return active(1, flight.Fields{"SODT": at5, "FFID": "old", "RENO": "B1", "STND": "5", "FLAB.ARES": "O"}, lists{"CKDT": {rec("CHKC", "A")}, "GTDT": {rec("GATE", "9")}})
	}
	cleared := merged(decision.Update)
	cleared.Changes[0].Clear = []string{"FLAB", "FRET", "MAXP", "RENO"}
	cleared.Changes[0].Lists["CKDT"] = nil
	dropped := decision.Decision{Changes: []decision.Change{change(1, decision.Update, values("SODT", at5), []string{"FLAB", "RENO", "STND"}, lists{"CKDT": nil, "GTDT": nil})}}
	tests := []struct {
		name, kind, absent string
		elements           elements
		view               decision.View
		want               decision.Decision
	}{
		{"pushed, new", "SCHD-DNLD", "keep", full, view(), merged(decision.Create)},
		{"asked for, new", "SCHD-RESP", "keep", full, view(), merged(decision.Create)},
		{"update keeps what is absent", "SCHD-DNLD", "keep", full, view(old()), merged(decision.Update)},
		{"update clears what is absent", "SCHD-RESP", "clear", full, view(old()), cleared},
		{"clear leaves what is mandatory", "SCHD-DNLD", "clear", elements{"SODT": text(at5)}, view(old()), dropped},
		{"clear on a new flight", "SCHD-DNLD", "clear", full, view(), merged(decision.Create)},
		{"revive", "SCHD-DNLD", "keep", full, view(deleted(old())), merged(decision.Revive)},
		{"revive starts blank, nothing to clear", "SCHD-DNLD", "clear", full, view(deleted(old())), merged(decision.Revive)},
		{"additional, new", "SCHD-ADFT", "keep", full, view(), setOnly(decision.Create)},
		{"additional, update", "SCHD-ADFT", "clear", full, view(old()), setOnly(decision.Update)},
		{"additional, revive", "SCHD-ADFT", "keep", full, view(deleted(old())), setOnly(decision.Revive)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := shipped(t, rulebook.Settings{AbsentOptional: tt.absent})
			same(t, decide(t, b, msg(tt.kind, record(1, tt.elements)), tt.view), tt.want)
		})
	}
}

func TestDeletion(t *testing.T) {
	b := shipped(t, rulebook.Settings{})
	v := view(active(1, nil, nil), deleted(active(2, nil, nil)))
	got := decide(t, b, msg("FDEL", record(1, elements{"FDEL": empty()}), record(2, nil), record(3, nil), record(1, nil)), v)
	same(t, got, decision.Decision{
		Changes: []decision.Change{change(1, decision.Delete, nil, nil, nil)},
		Notes:   []decision.Note{note(2, "flight-deleted"), note(3, "flight-unknown")},
	})
}

func TestReferenceData(t *testing.T) {
	b := shipped(t, rulebook.Settings{})
	stands := func(subtype string, declared int) *message.Message {
		return &message.Message{Kind: "REF-SLST", Family: message.Reference, Declared: &declared,
			Meta: message.Meta{Type: "SLST", Subtype: subtype},
			Records: []message.Record{
				{Key: "S209", Value: []byte(`{"SCOD":"S209", "X":["a",{"b":"c"}]}`)},
				{Key: "S210", Value: []byte(`{"SCOD":"S210"}`)},
			}}
	}
	upsert := []decision.RefChange{
		{Type: "SLST", Key: "S209", Op: decision.RefUpsert, Value: []byte(`{"SCOD":"S209", "X":["a",{"b":"c"}]}`)},
		{Type: "SLST", Key: "S210", Op: decision.RefUpsert, Value: []byte(`{"SCOD":"S210"}`)},
	}
	remove := []decision.RefChange{{Type: "SLST", Key: "S209", Op: decision.RefDelete}, {Type: "SLST", Key: "S210", Op: decision.RefDelete}}
	for _, subtype := range []string{"DNLD", "RESP", "ADD", "UPD"} {
		same(t, decide(t, b, stands(subtype, 2), view()), decision.Decision{Refs: upsert})
	}
	same(t, decide(t, b, stands("DEL", 2), view()), decision.Decision{Refs: remove})
	same(t, decide(t, b, stands("DNLD", 3), view()), decision.Decision{Refs: upsert, Notes: []decision.Note{{Reason: "record-count 3, found 2"}}})
}

// TestByKeyIntoANewFlight: no shipped schedule puts records in by key, but one of
// somebody's own may, and a flight that is new has no list yet.
func TestByKeyIntoANewFlight(t *testing.T) {
	script := strings.Replace(read(t, msgx.Files, "rules/schd@1.lua"), "merge.replace", `merge.by_key("CODE")`, 1)
	b, err := rulebook.Load(changed(t, map[string]string{"rules/schd@1.lua": script}), shippedCatalogue(t), rulebook.Settings{}, rulebook.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	said := elements{"FLID": text("1"), "SODT": text(at5), "DELY": list(rec("CODE", "93"))}
	want := decision.Decision{Changes: []decision.Change{change(1, decision.Create, values("SODT", at5), nil, lists{"DELY": {rec("CODE", "93")}})}}
	same(t, decide(t, b, msg("SCHD-DNLD", record(1, said)), view()), want)
}

func read(t *testing.T, fsys fs.FS, name string) string {
	t.Helper()
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
