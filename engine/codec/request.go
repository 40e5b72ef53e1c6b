package codec

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"time"

	"msgx/engine/catalogue"
	"msgx/engine/message"
)

// EncodeRequest writes an outbound request in UTF-8. Fields are keyed by tag and
// hold canonical text (datetimes as 2021-01-23T05:35:00+08:00, in any zone);
// those that the catalogue calls optional are written empty when they are not
// given. TYPE and STYP come from the catalogue; meta may repeat them but not
// contradict. What does not fit the catalogue, or would not read back as it
// was given, is refused with the field, what was found and what was expected.
func (c *Codec) EncodeRequest(req string, meta message.Meta, fields map[string]string) ([]byte, error) {
	r, ok := c.cat.Request(req)
	if !ok {
		return nil, fmt.Errorf("request %q: not in the catalogue, expected one of %s", message.SafeText(req, maxValue), c.requestNames())
	}
	e := &encoder{codec: c, request: r}
	e.begin(meta, fields)
	e.open(r.Name)
	for i := range r.Fields {
		f := &r.Fields[i]
		e.field(f, fields[f.Tag])
	}
	e.close(r.Name)
	e.close("MSG")
	for tag := range fields {
		if _, known := catalogue.PartOf(r.Fields, tag); !known {
			e.refuse(tag, fields[tag], "only fields that the request has")
		}
	}
	if e.fault != nil {
		return nil, e.fault
	}
	return e.out.Bytes(), nil
}

func (c *Codec) requestNames() string {
	var names []string
	for _, r := range c.cat.Requests {
		names = append(names, r.Name)
	}
	return strings.Join(names, ", ")
}

// encoder writes one request and keeps the first fault.
type encoder struct {
	codec   *Codec
	request *catalogue.Request
	out     bytes.Buffer
	fault   error
}

func (e *encoder) refuse(tag, value, want string) {
	if e.fault == nil {
		found := "found nothing"
		if value != "" {
			found = fmt.Sprintf("found %q", message.SafeText(value, maxValue))
		}
		e.fault = fmt.Errorf("request %s: %s: %s, expected %s", e.request.Name, message.SafeText(tag, maxValue), found, want)
	}
}

func (e *encoder) open(tag string)  { e.out.WriteString("<" + tag + ">") }
func (e *encoder) close(tag string) { e.out.WriteString("</" + tag + ">") }

func (e *encoder) begin(meta message.Meta, fields map[string]string) {
	subtype := e.request.Subtype
	if subtype == "" { // RQRD: the subtype is the reference type that is asked for
		subtype = strings.TrimSpace(fields[tagReference])
		if _, known := e.codec.cat.Reference(subtype); !known {
			e.refuse(tagReference, subtype, "a reference type of the catalogue")
		}
	}
	if meta.Type != "" && meta.Type != e.request.Type {
		e.refuse(tagType, meta.Type, e.request.Type)
	}
	if meta.Subtype != "" && meta.Subtype != subtype {
		e.refuse(tagSubtype, meta.Subtype, subtype)
	}
	if !isDigits(meta.Sequence) {
		e.refuse(tagSequence, meta.Sequence, "digits")
	}
	e.out.WriteString(xml.Header)
	e.open("MSG")
	e.open(tagMeta)
	for _, part := range [][2]string{{tagSender, meta.Sender}, {tagSequence, meta.Sequence}, {tagSent, meta.SentAt}, {tagType, e.request.Type}, {tagSubtype, subtype}} {
		if strings.Contains(part[1], "|") {
			e.refuse(part[0], part[1], "no |, which separates the parts of the identity")
		}
		e.field(e.codec.meta[part[0]], part[1])
	}
	e.close(tagMeta)
}

// tagReference is the field of RQRD that names a reference type.
const tagReference = "RTYP"

// field writes one element. The text that goes out has to read back as what was given.
func (e *encoder) field(f *catalogue.Field, value string) {
	value = strings.TrimSpace(value)
	e.open(f.Tag)
	defer e.close(f.Tag)
	if value == "" {
		if !f.Optional {
			e.refuse(f.Tag, "", "a value")
		}
		return
	}
	wire, want := wireText(f, value, e.codec.zone)
	if want != "" {
		e.refuse(f.Tag, value, want)
		return
	}
	back, bad := canonical(f, wire, e.codec.zone)
	if bad != nil {
		e.refuse(f.Tag, value, bad.want)
		return
	}
	if !sameValue(f.Type, back, value) {
		e.refuse(f.Tag, value, "a value in canonical form that the wire can carry exactly")
		return
	}
	if strings.ContainsFunc(wire, func(r rune) bool { return !writable(r) }) || strings.ToValidUTF8(wire, "") != wire {
		e.refuse(f.Tag, value, "characters that XML allows")
		return
	}
	if err := xml.EscapeText(&e.out, []byte(wire)); err != nil {
		e.refuse(f.Tag, value, err.Error())
	}
}

// wireText is the text on the wire of a canonical value, or what was expected
// when the value is not one of its type.
func wireText(f *catalogue.Field, value string, zone *time.Location) (text, want string) {
	switch f.Type {
	case catalogue.Datetime, catalogue.Stamp:
		at, err := time.Parse(time.RFC3339, value)
		if err != nil {
			return "", "a time such as 2021-01-23T05:35:00+08:00"
		}
		if f.Type == catalogue.Stamp {
			return at.In(zone).Format("20060102150405"), ""
		}
		return strings.ToUpper(at.In(zone).Format("02Jan061504")), ""
	case catalogue.Date:
		at, err := time.Parse(time.DateOnly, value)
		if err != nil {
			return "", "a date such as 2021-01-23"
		}
		return strings.ToUpper(at.Format("02Jan06")), ""
	case catalogue.Duration:
		minutes, err := strconv.Atoi(value)
		if err != nil || minutes < 0 {
			return "", "whole minutes"
		}
		return fmt.Sprintf("%02d%02d", minutes/60, minutes%60), ""
	}
	return value, ""
}

// sameValue compares what reads back with what was given; two times are the
// same when they are the same instant.
func sameValue(t catalogue.Type, back, given string) bool {
	if t != catalogue.Datetime && t != catalogue.Stamp {
		return back == given
	}
	a, errA := time.Parse(time.RFC3339, back)
	b, errB := time.Parse(time.RFC3339, given)
	return errA == nil && errB == nil && a.Equal(b)
}

// writable tells whether XML allows a character.
func writable(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || (r >= 0x20 && r <= 0xD7FF) || (r >= 0xE000 && r <= 0xFFFD) || (r >= 0x10000 && r <= 0x10FFFF)
}
