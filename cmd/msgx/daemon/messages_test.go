package daemon_test

import (
	"fmt"
	"strings"
	"sync/atomic"
)

var sequence atomic.Int64

// envelope makes a message with a sequence number of its own.
func envelope(typ, subtype, payload string) string {

	return numbered(int(sequence.Add(1)), typ, subtype, payload)
}

func numbered(seqn int, typ, subtype, payload string) string {
	return fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8"?>
<MSG><META><SNDR>AODB</SNDR><SEQN>%d</SEQN><DTTM>20260301080000</DTTM><TYPE>%s</TYPE><STYP>%s</STYP></META>%s</MSG>`, seqn, typ, subtype, payload)
}

// schedule carries flights first to last.
func schedule(first, last int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<SCHD><RECS>%d</RECS>", last-first+1)
	for id := first; id <= last; id++ {
		fmt.Fprintf(&b, "<FLTR><FLID>%d</FLID><FFID>CA-CA%d-D</FFID><FLNO>CA%d</FLNO><MVIN>D</MVIN><SODT>01MAR261%03d</SODT><REMC>中国国际航空 %d</REMC></FLTR>", id, id, id, id%60, id)
	}
	return envelope("SCHD", "DNLD", b.String()+"</SCHD>")
}

func stand(flid int, value string) string {
	return envelope("FLOP", "STND", fmt.Sprintf("<FLOP><FLID>%d</FLID><STND>%s</STND></FLOP>", flid, value))
}

func remark(flid int, value string) string {
	return envelope("FLOP", "REMC", fmt.Sprintf("<FLOP><FLID>%d</FLID><REMC>%s</REMC></FLOP>", flid, value))
}
