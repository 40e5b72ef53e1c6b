package decision

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"msgx/engine/catalogue"
	"msgx/engine/flight"
	"msgx/engine/message"
)

// maxFaults bounds the text of a broken decision.
const maxFaults = 8

// allowed are the operations of each family. What a schedule does not carry it
// cannot delete, and only a schedule brings a flight into being.
var allowed = map[message.Family][]Op{
	message.Schedule:  {Create, Update, Revive},
	message.Operation: {Update},
	message.Deletion:  {Delete},
}

func (a *application) fault(format string, args ...any) {
	a.faults = append(a.faults, fmt.Sprintf(format, args...))
}

// broken is the error for all faults found, in a fixed order, or nil.
func (a *application) broken() error {
	if len(a.faults) == 0 {
		return nil
	}
	slices.Sort(a.faults)
	found := a.faults
	rest := ""
	if len(found) > maxFaults {
		rest = fmt.Sprintf("; and %d more", len(found)-maxFaults)
		found = found[:maxFaults]
	}
	return errors.New("decision of " + a.context.Script + ": " + strings.Join(found, "; ") + rest)
}

// checkWhole holds the decision to what concerns it as a whole.
func (a *application) checkWhole(d *Decision) {
	if d.Skip != "" && d.Reject != "" {
		a.fault("it both skips and rejects")
	}
	if (d.Skip != "" || d.Reject != "") && len(d.Changes)+len(d.Refs)+len(d.Outbound) > 0 {
		a.fault("it skips or rejects and yet changes something")
	}
	named := make(map[flight.ID]bool, len(a.message.Records))
	for i := range a.message.Records {
		named[a.message.Records[i].FLID] = true
	}
	seen := make(map[flight.ID]bool, len(d.Changes))
	for i := range d.Changes {
		ch := &d.Changes[i]
		if seen[ch.FLID] {
			a.fault("flight %s: two entries, expected one", ch.FLID)
		}
		seen[ch.FLID] = true
		if !named[ch.FLID] {
			a.fault("flight %s: the message does not name it", ch.FLID)
		}
		a.checkChange(ch)
	}
	for i := range d.Refs {
		a.checkRef(&d.Refs[i])
	}
	for i := range d.Outbound {
		a.checkOutbound(&d.Outbound[i])
	}
}

func (a *application) checkChange(ch *Change) {
	where := "flight " + ch.FLID.String()
	if !slices.Contains(allowed[a.context.Family], ch.Op) {
		a.fault("%s: op %q, expected one of %v for a message of family %s", where, ch.Op, allowed[a.context.Family], a.context.Family)
		return
	}
	a.checkState(where, ch)
	if ch.Op == Delete && len(ch.Set)+len(ch.Clear)+len(ch.Lists) > 0 {
		a.fault("%s: a delete sets, clears and lists nothing", where)
	}
	for tag, v := range ch.Set {
		a.checkSet(where, ch, tag, v)
	}
	for i, tag := range ch.Clear {
		a.checkFootprint(where, tag)
		if _, scalar := a.catalogue.Scalar(tag); !scalar {
			if _, object := a.catalogue.Object(tag); !object {
				a.fault("%s: clear %s, which is no scalar or object", where, message.SafeText(tag, 32))
			}
		}
		if _, also := ch.Set[tag]; also || slices.Contains(ch.Clear[:i], tag) || tag == "FLID" {
			a.fault("%s: clear %s, which is set or cleared already or is its identity", where, tag)
		}
	}
	for tag, records := range ch.Lists {
		a.checkFootprint(where, tag)
		a.checkRecords(where, a.catalogue.Flight.Lists, tag, records)
	}
}

// checkState holds the operation to the state that the flight is in.
func (a *application) checkState(where string, ch *Change) {
	s := a.view.Flights[ch.FLID]
	found := "unknown"
	if s != nil {
		found = string(s.Status)
	}
	want := string(flight.Active)
	switch ch.Op {
	case Create:
		want = "unknown"
	case Revive:
		want = string(flight.Deleted)
	}
	if found != want {
		a.fault("%s: %s a flight that is %s, expected %s", where, ch.Op, found, want)
	}
}

func (a *application) checkSet(where string, ch *Change, tag string, v Value) {
	if tag == "FLID" {
		if v.Text != ch.FLID.String() || v.Object != nil {
			a.fault("%s: set FLID to %q, which is its identity", where, message.SafeText(v.Text, 32))
		}
		return
	}
	a.checkFootprint(where, tag)
	if f, ok := a.catalogue.Scalar(tag); ok {
		if v.Object != nil {
			a.fault("%s: set %s to an object, expected a scalar", where, tag)
		} else if wrong := CheckText(f, v.Text, a.options.Zone); wrong != "" {
			a.fault("%s.%s: %s", where, tag, wrong)
		} else if tag == "MAID" && !a.stated(ch.FLID, v.Text) {
			a.fault("%s: set MAID to %s, which the message does not state", where, v.Text)
		}
		return
	}
	o, ok := a.catalogue.Object(tag)
	if !ok {
		a.fault("%s: set %s, which is no scalar or object", where, message.SafeText(tag, 32))
		return
	}
	if v.Text != "" || len(v.Object) == 0 {
		a.fault("%s: set %s to something without parts, expected an object", where, tag)
	}
	a.checkParts(where+"."+tag, o.Parts, v.Object)
}

// stated tells whether a master is one whose children the view holds.
func (a *application) stated(child flight.ID, maid string) bool {
	if s := a.view.Flights[child]; s != nil && s.Fields["MAID"] == maid {
		return true
	}
	if a.masters == nil {
		_, a.masters = Needs(a.message)
	}
	id, err := flight.ParseID(maid)
	_, found := slices.BinarySearch(a.masters, id)
	return err == nil && found
}

func (a *application) checkFootprint(where, tag string) {
	if !a.writes[tag] && !a.writes["*"] {
		a.fault("%s: %s is outside the footprint of the script", where, message.SafeText(tag, 32))
	}
}

func (a *application) checkRef(r *RefChange) {
	where := "reference " + message.SafeText(r.Type+"/"+r.Key, 64)
	if _, ok := a.catalogue.Reference(r.Type); !ok || a.context.Kind != "REF-"+r.Type {
		a.fault("%s: a message of kind %s does not carry that type", where, a.context.Kind)
	}
	if r.Key == "" || strings.IndexByte(r.Key, 0) >= 0 {
		a.fault("%s: expected a key", where)
	}
	switch r.Op {
	case RefUpsert:
		if !json.Valid(r.Value) {
			a.fault("%s: the value is not JSON", where)
		}
	case RefDelete:
		if r.Value != nil {
			a.fault("%s: a delete with a value", where)
		}
	default:
		a.fault("%s: op %q, expected upsert or delete", where, r.Op)
	}
}

func (a *application) checkOutbound(out *Outbound) {
	where := "outbound " + message.SafeText(out.Request, 32)
	i := slices.IndexFunc(a.catalogue.Requests, func(r catalogue.Request) bool { return r.Name == out.Request })
	if i < 0 {
		a.fault("%s: there is no such request", where)
		return
	}
	for tag := range out.Fields {
		if _, ok := catalogue.PartOf(a.catalogue.Requests[i].Fields, tag); !ok {
			a.fault("%s: %s is not a field of it", where, message.SafeText(tag, 32))
		}
	}
}
