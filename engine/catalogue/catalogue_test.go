package catalogue_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"msgx/engine/catalogue"
	"msgx/engine/message"
	"msgx/schemas"
)

// parts is the shipped catalogue before New, free to be spoilt.
func parts(t *testing.T) catalogue.Catalogue {
	t.Helper()
	c, err := schemas.Load()
	if err != nil {
		t.Fatal(err)
	}
	kinds := c.Kinds[:0:0]
	for _, k := range c.Kinds {
		if k.Family != message.Reference { // New derives them again
			kinds = append(kinds, k)
		}
	}
	return catalogue.Catalogue{Types: c.Types, Flight: c.Flight, Kinds: kinds, References: c.References, Requests: c.Requests, Meta: c.Meta}
}

func TestNewNamesEveryFault(t *testing.T) {
	tests := []struct {
		want  string
		spoil func(*catalogue.Catalogue)
	}{
		{`types: "id" is not described`, func(c *catalogue.Catalogue) { c.Types = c.Types[1:] }},
		{`types: id: lua is "number"`, func(c *catalogue.Catalogue) { c.Types[0].Lua = "number" }},
		{"flight.scalars: FFID stands twice", func(c *catalogue.Catalogue) { c.Flight.Scalars[2].Tag = "FFID" }},
		{"flight.scalars: column ffid stands twice", func(c *catalogue.Catalogue) { c.Flight.Scalars[2].Column = "ffid" }},
		{"flight.scalars: FLID is missing", func(c *catalogue.Catalogue) { c.Flight.Scalars = c.Flight.Scalars[1:] }},
		{`flight.scalars.ALCD: type "cod"`, func(c *catalogue.Catalogue) { c.Flight.Scalars[2].Type = "cod" }},
		{"flight.scalars.ALCD: a code or text, and only those, has a maximum length", func(c *catalogue.Catalogue) { c.Flight.Scalars[2].MaxLen = 0 }},
		{"flight.scalars.MVIN: a flag, and only a flag, lists its values", func(c *catalogue.Catalogue) { c.Flight.Scalars[5].Flags = nil }},
		{`flight.scalars.ALCD: on-bad is "skip"`, func(c *catalogue.Catalogue) { c.Flight.Scalars[2].OnBad = "skip" }},
		{`flight.scalars.ALCD: source "cdata"`, func(c *catalogue.Catalogue) { c.Flight.Scalars[2].Source = "cdata" }},
		{"flight.scalars.ALCD: no column", func(c *catalogue.Catalogue) { c.Flight.Scalars[2].Column = "" }},
		{"flight: FFID stands twice among scalars, objects and lists", func(c *catalogue.Catalogue) { c.Flight.Objects[0].Tag = "FFID" }},
		{`flight.lists.DELY: table "flight_gtdt"`, func(c *catalogue.Catalogue) { c.Flight.Lists[7].Table = "flight_gtdt" }},
		{"meta: SNDR is missing", func(c *catalogue.Catalogue) { c.Meta = c.Meta[1:] }},
		{"meta.SNDR: a code or text, and only those", func(c *catalogue.Catalogue) { c.Meta[0].MaxLen = 0 }},
		{"requests.EROR: SEQN stands twice", func(c *catalogue.Catalogue) { c.Requests[2].Fields[1].Tag = "SEQN" }},
		{"requests: RQFD stands twice", func(c *catalogue.Catalogue) { c.Requests[1].Name = "RQFD" }},
		{`flight.lists.GTDT: seq "GATE"`, func(c *catalogue.Catalogue) { c.Flight.Lists[2].Seq = "GATE" }},
		{"messages: kind FLOP-ACTT stands twice", func(c *catalogue.Catalogue) { c.Kinds[4].Name = "FLOP-ACTT" }},
		{"TYPE FLOP STYP FDEL is already FDEL", func(c *catalogue.Catalogue) { c.Kinds[4].Wire[0].Subtype = "FDEL" }},
		{`family "oper"`, func(c *catalogue.Catalogue) { c.Kinds[4].Family = "oper" }},
		{`element "STAND" is not a tag`, func(c *catalogue.Catalogue) { c.Kinds[4].Elements = []string{"STAND"} }},
		{`references: "ABDG" with key ""`, func(c *catalogue.Catalogue) { c.References[0].Key = "" }},
		{`requests.RQFD.STDB: type "time"`, func(c *catalogue.Catalogue) { c.Requests[0].Fields[0].Type = "time" }},
	}
	for _, test := range tests {
		c := parts(t)
		test.spoil(&c)
		if _, err := catalogue.New(c); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v\nwant an error with %s", err, test.want)
		}
	}
	c := parts(t)
	c.Types[0].Lua, c.Flight.Scalars[2].Column, c.References[0].Key = "", "", ""
	_, err := catalogue.New(c)
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("three faults: got %v, want all three", err)
	}
}

func TestLookups(t *testing.T) {
	c, err := schemas.Load()
	if err != nil {
		t.Fatal(err)
	}
	ordered := []string{"FLID", "FFID", "STND", "RUNW", "FDIV", "FDIV.DDES", "FDIV.TEXT", "FLAB.TEXT", "ROUT", "VIPF", "unheard of"}
	for i := 1; i < len(ordered); i++ {
		if c.Order(ordered[i-1]) >= c.Order(ordered[i]) {
			t.Errorf("order: %s is not before %s", ordered[i-1], ordered[i])
		}
	}
	if got, want := c.Order("unheard of"), c.Order("neither"); got != want {
		t.Errorf("unknown paths: got %d and %d, want the same", got, want)
	}
	tags := c.Tags()
	if len(tags) != len(c.Flight.Scalars)+len(c.Flight.Objects)+len(c.Flight.Lists) || tags[0] != "FLID" || tags[len(tags)-1] != "VIPF" {
		t.Errorf("tags: got %v", tags)
	}
	request, ok := c.Request("RQFD")
	if !ok || request.Answered != "SCHD-RESP" {
		t.Errorf("request RQFD: got %+v", request)
	}
	if _, ok := c.Request("rqfd"); ok {
		t.Error("request rqfd: got one, want none")
	}
	var operations []string
	for _, k := range c.Kinds {
		if k.Family == message.Operation {
			operations = append(operations, strings.TrimPrefix(k.Name, "FLOP-"))
			if len(k.Required) == 0 {
				t.Errorf("%s requires nothing", k.Name)
			}
		}
	}
	want := strings.Fields(`ACFT ACTT APPT BOTM CNCL COBT CTOT EGSR EGST EOBT ESTT FINT FLIN FLTY FTSS IEST LACL MAXP NAAT NEAT PADT PEDT REMC RENO RUNW STND TOBT TRML
		FDIV FRET FLAB GTDT CKDT CLDT PSDT CHDT ABTM CHOT ERUT ROUT DELY SRVT VIPF PORT TIPT PSHT EXSS HNAG TAOP VIPP`)
	if diff := cmp.Diff(want, operations); diff != "" {
		t.Errorf("operations (-want +got)\n%s", diff)
	}
}
