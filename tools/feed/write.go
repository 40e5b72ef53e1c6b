package feed

import (
	"fmt"

	"msgx/engine/message"
)

const sender = "AODB"

// writing turns operations into messages, with bad ones among them.
type writing struct {
	*day
	out  []Message
	seqn int64
	left []string // the classes of bad messages still to come, last first
	hold []string // likewise, of those that hold the head
	ids  int64    // FLIDs that nobody has
}

// write makes the messages in order.
func (d *day) write() []Message {
	w := &writing{day: d, seqn: 100_000 + d.base}
	bad := d.o.Operations * d.o.BadPerMille / 1000
	w.left = w.shuffled(badClasses(), bad)
	w.hold = w.shuffled(holdingClasses(d.o.Form), d.o.Holding)
	places := map[int][]bool{} // after which operation; true for one that holds
	first := 0
	for i, op := range d.ops {
		if op.kind == "SCHD-DNLD" {
			first = i
			break
		}
	}
	for i := range bad + d.o.Holding {
		at := first + d.rng.IntN(len(d.ops)-first)
		places[at] = append(places[at], i >= bad)
	}
	for i, op := range d.ops {
		w.good(op)
		for _, holds := range places[i] {
			w.bad(op.at, holds)
		}
	}
	return w.out
}

// shuffled gives n classes, each as often as any other, in random order.
func (d *day) shuffled(classes []string, n int) []string {
	var out []string
	for len(out) < n {
		for _, i := range d.rng.Perm(len(classes)) {
			out = append(out, classes[i])
		}
	}
	return out[:n]
}

func (w *writing) next() int64 { w.seqn++; return w.seqn }

func (w *writing) good(op operation) {
	m := Message{At: op.at, Kind: op.kind, Type: op.typ, Subtype: op.subtype, Sender: sender, Sequence: w.next(), Encoding: pickEncoding(w.rng)}
	if op.needsGB18030 {
		m.Encoding = "GB18030"
	}
	text := envelope(w.rng, m.Encoding, sender, m.Sequence, op.at, op.typ, op.subtype, op.payload)
	m.Expect = succeeded
	if op.ignored != "" {
		m.Expect = Expect{State: message.Skipped, Reason: "ignored:" + op.ignored}
	} else if len(op.touches) > 0 {
		m.Expect = w.model.apply(op.touches)
	}
	w.emit(m, text)
}

// emit gives the message its place and its bytes.
func (w *writing) emit(m Message, text string) {
	m.Seq = len(w.out) + 1
	m.Body = []byte(text)
	if w.o.Form == Bytes {
		body, err := encode(text, m.Encoding)
		if err != nil {
			panic(fmt.Sprintf("message %d: %v", m.Seq, err)) // the generator's own texts
		}
		m.Body = body
	}
	w.out = append(w.out, m)
}
