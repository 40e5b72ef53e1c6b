package feed

import (
	"fmt"
	"strings"
	"time"

	"msgx/engine/message"
)

// badClasses are the classes of bad messages that end at once.
func badClasses() []string {
	return []string{
		"broken-xml", "wrong-end-tag", "content-after-root", "empty-body", "missing-meta", "missing-seqn", "bad-seqn",
		"bad-date", "bad-number", "bad-flid", "payload-missing", "record-count", "duplicate-flid", "schedule-without-flid",
		"bad-sodt", "other-day", "unknown-flight", "deleted-flight", "duplicate", "duplicate-other-body",
	}
}

// holdingClasses are those that are tried again until the attempts are used up.
func holdingClasses(form Form) []string {
	classes := []string{"over-length", "unsupported-kind", "bad-flag", "unsupported-type"}
	if form == Bytes { // a character column does not care what is declared
		classes = append(classes, "unsupported-charset")
	}
	return classes
}

// draft is a bad message in the making.
type draft struct {
	typ, subtype string
	payload      string
	expect       Expect
	mangle       func(text string) string // on the whole text, nil for none
	encoding     string
}

func malformed(reason string) Expect {
	return Expect{State: message.Dead, Class: message.Malformed, Reason: reason}
}

func protocol(reason string) Expect {
	return Expect{State: message.Dead, Class: message.Protocol, Reason: reason}
}

func failing(class message.ErrorClass, reason string) Expect {
	return Expect{State: message.Failed, Class: class, Reason: reason}
}

// bad writes the next bad message.
func (w *writing) bad(at time.Time, holds bool) {
	from := &w.left
	if holds {
		from = &w.hold
	}
	class := (*from)[len(*from)-1]
	*from = (*from)[:len(*from)-1]
	if strings.HasPrefix(class, "duplicate") && class != "duplicate-flid" {
		w.duplicate(at, class)
		return
	}
	d, m := w.draft(class), Message{At: at, Bad: class, Sender: sender, Sequence: w.next()}
	m.Type, m.Subtype, m.Encoding, m.Expect = d.typ, d.subtype, "UTF-8", d.expect
	if d.encoding != "" {
		m.Encoding = d.encoding
	}
	m.Kind = strings.TrimSuffix(d.typ+"-"+d.subtype, "-")
	text := envelope(w.rng, m.Encoding, sender, m.Sequence, at, d.typ, d.subtype, d.payload)
	if d.mangle != nil {
		text = strings.TrimRight(d.mangle(strings.TrimRight(text, "\n")), "\n")
	}
	w.emit(m, text)
}

// duplicate sends an earlier message again.
func (w *writing) duplicate(at time.Time, class string) {
	var m Message
	for m = pick(w.rng, w.out); m.Bad != "" || len(m.Body) > 20_000; {
		m = pick(w.rng, w.out)
	}
	m.At, m.Bad, m.Seq = at, class, len(w.out)+1
	m.Expect = Expect{State: message.Skipped, Reason: "duplicate-of:"}
	if class == "duplicate-other-body" {
		marker, ending := "<!-- again --></MSG>", "</MSG>"
		if m.Encoding == "UTF-16" && w.o.Form == Bytes {
			marker, ending = widen(marker), widen(ending)
		}
		m.Body = []byte(strings.Replace(string(m.Body), ending, marker, 1))
	}
	w.out = append(w.out, m)
}

// widen is ASCII text in UTF-16LE.
func widen(text string) string {
	var b strings.Builder
	for i := range len(text) {
		b.WriteByte(text[i])
		b.WriteByte(0)
	}
	return b.String()
}

// living is a flight that is active now.
func (w *writing) living() *flight {
	for {
		f := pick(w.rng, w.flights)
		if k := w.model.flights[f.flid]; k != nil && k.active {
			return f
		}
	}
}

// stranger is a FLID that no flight has.
func (w *writing) stranger() string {
	w.ids++
	return fmt.Sprint(1_900_000 + w.base + w.ids)
}

func operationOf(f *flight, subtype, payload string) draft {
	return draft{typ: "FLOP", subtype: subtype, payload: with("FLOP", "", el("FLID", fmt.Sprint(f.flid))+el("FFID", f.ffid())+payload)}
}

func scheduleOf(recs int, records ...string) draft {
	return draft{typ: "SCHD", subtype: "DNLD", payload: with("SCHD", "", el("RECS", number(recs))+strings.Join(records, ""))}
}

func (d draft) ends(e Expect) draft { d.expect = e; return d }

func (d draft) mangled(f func(string) string) draft { d.mangle = f; return d }

// draft makes a bad message of a class.
func (w *writing) draft(class string) draft {
	f := w.living()
	stand := operationOf(f, "STND", el("STND", f.stand))
	switch class {
	case "broken-xml":
		return stand.ends(malformed("")).mangled(func(t string) string { return t[:len(t)-8-w.rng.IntN(40)] })
	case "wrong-end-tag":
		return stand.ends(malformed("")).mangled(func(t string) string { return strings.Replace(t, "</MSG>", "</MSGG>", 1) })
	case "content-after-root":
		tail := pick(w.rng, []string{"<MSG/>", "rubbish", "<MSG></MSG>", "&amp;"})
		return stand.ends(malformed("")).mangled(func(t string) string { return t + tail })
	case "empty-body":
		return draft{expect: malformed(""), mangle: func(string) string { return "" }}
	case "missing-meta":
		return stand.ends(malformed("…META")).mangled(func(t string) string { return cut(t, "<META>", "</META>") })
	case "missing-seqn":
		return stand.ends(malformed("…SEQN")).mangled(func(t string) string { return cut(t, "<SEQN>", "</SEQN>") })
	case "bad-seqn":
		return stand.ends(malformed("…SEQN")).mangled(func(t string) string { return strings.Replace(t, "<SEQN>", "<SEQN>x", 1) })
	case "bad-date":
		return operationOf(f, "ESTT", el("ESTT", pick(w.rng, []string{"31FEB260535", "23JAN262400", "2026-01-23", "23JAM260535"}))).ends(malformed("…ESTT"))
	case "bad-number":
		return operationOf(f, "MAXP", el("MAXP", "一百")).ends(malformed("…MAXP"))
	case "bad-flid":
		return draft{typ: "FLOP", subtype: "STND", payload: with("FLOP", "", el("FLID", "12A4")+el("STND", "101"))}.ends(malformed("…FLID"))
	case "payload-missing":
		return operationOf(f, "STND", "").ends(malformed("payload-missing"))
	case "unknown-flight":
		return draft{typ: "FLOP", subtype: "STND", payload: with("FLOP", "", el("FLID", w.stranger())+el("STND", "101"))}.
			ends(Expect{State: message.Skipped, Reason: "flight-unknown"})
	case "deleted-flight":
		return w.toDeleted()
	case "over-length":
		return operationOf(f, "REMC", el("REMC", strings.Repeat("很长的备注", 17))).ends(failing(message.CodecError, "…REMC"))
	case "bad-flag":
		return operationOf(f, "FLIN", el("FLIN", "X")).ends(failing(message.CodecError, "…FLIN"))
	case "unsupported-charset":
		d := stand.ends(failing(message.CodecError, ""))
		d.encoding = "EBCDIC-CP-US"
		return d
	case "unsupported-kind":
		return operationOf(f, "ZZZZ", el("ZZZZ", "1")).ends(failing(message.UnsupportedErr, ""))
	case "unsupported-type":
		return draft{typ: "WTHR", subtype: "METR", payload: with("WTHR", "", el("TEXT", "ZSQD 010500Z 15004MPS CAVOK"))}.ends(failing(message.UnsupportedErr, ""))
	}
	return w.schedule(class)
}

// toDeleted is an operation of a deleted flight, or of an unknown one while none is deleted.
func (w *writing) toDeleted() draft {
	dead := w.model.dead()
	if len(dead) == 0 {
		return w.draft("unknown-flight")
	}
	f := pick(w.rng, dead)
	return operationOf(f, "STND", el("STND", "101")).ends(Expect{State: message.Skipped, Reason: "flight-deleted"})
}

// schedule is a schedule that is rejected as a whole.
func (w *writing) schedule(class string) draft {
	a, b := w.living(), w.living()
	for a == b {
		b = w.living()
	}
	one, two := w.planned(a), w.planned(b)
	switch class {
	case "record-count":
		return scheduleOf(3, one, two).ends(protocol("record-count"))
	case "duplicate-flid":
		return scheduleOf(3, one, two, one).ends(protocol("duplicate-flid"))
	case "schedule-without-flid":
		return scheduleOf(2, one, cut(two, "<FLID>", "</FLID>")).ends(protocol("…FLID"))
	case "bad-sodt":
		return scheduleOf(2, one, strings.Replace(two, "<SODT>", "<SODT>9", 1)).ends(protocol("…SODT"))
	case "other-day":
		later := *b
		later.sodt = b.sodt.AddDate(0, 0, 1)
		return scheduleOf(2, one, w.planned(&later)).ends(protocol("operation-day"))
	}
	panic("feed: unknown class " + class)
}

// cut takes out everything from the first begin to the end after it.
func cut(text, begin, end string) string {
	i := strings.Index(text, begin)
	j := strings.Index(text, end)
	return text[:i] + text[j+len(end):]
}
