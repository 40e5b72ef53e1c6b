package decision

import (
	"strconv"
	"time"

	"msgx/engine/event"
	"msgx/engine/flight"
)

// timeLayout is how instants are published: the airport's time, to the microsecond.
const timeLayout = "2006-01-02T15:04:05.999999Z07:00"

// event starts an event of an advance.
func (a *application) event(adv *Advance, target event.Target) event.Event {
	e := event.Event{
		Target: target, Key: adv.After.ID.String(), Type: event.Upsert,
		FLID: adv.After.ID, Version: adv.After.Version,
		MsgID: a.context.MsgID, Kind: a.context.Kind, Ruleset: a.context.Ruleset, CreatedAt: a.context.Now,
	}
	if adv.After.Status == flight.Deleted {
		e.Type = event.Tombstone
	}
	return e
}

// msgEvent tells one change of one flight, with what it was before and after.
func (a *application) msgEvent(adv *Advance) event.Event {
	e := a.event(adv, event.Msg)
	if e.Type == event.Upsert {
		e.Key = a.key(adv.After).String()
	}
	b := make([]byte, 0, 512)
	b = strconv.AppendInt(append(b, `{"schema_version":`...), event.SchemaVersion, 10)
	b = appendString(appendKey(b, "type"), string(e.Type))
	b = a.appendHeader(b, adv.After)
	b = appendString(appendKey(b, "op"), string(adv.Op))
	b = appendString(appendKey(b, "script"), a.context.Script)
	b = appendString(appendKey(b, "key"), e.Key)
	b = append(appendKey(b, "changes"), '[')
	for i := range adv.Changed {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendChange(b, &adv.Changed[i])
	}
	e.Payload = append(b, ']', '}')
	return e
}

func appendChange(b []byte, c *FieldChange) []byte {
	b = appendString(append(b, `{"path":`...), c.Path)
	b = appendRaw(append(b, `,"before":`...), c.Before)
	b = appendRaw(append(b, `,"after":`...), c.After)
	return append(b, '}')
}

func appendRaw(b, value []byte) []byte {
	if value == nil {
		return append(b, "null"...)
	}
	return append(b, value...)
}

// schdEvent tells the whole state, or that there is none any more.
func (a *application) schdEvent(adv *Advance) event.Event {
	e := a.event(adv, event.Schd)
	if e.Type == event.Tombstone {
		return e
	}
	b := strconv.AppendInt(append(make([]byte, 0, 2048), `{"schema_version":`...), event.SchemaVersion, 10)
	b = a.appendHeader(b, adv.After)
	e.Payload = append(AppendState(b, a.catalogue, adv.After), '}')
	return e
}

// appendHeader appends what both payloads say of the version they tell.
func (a *application) appendHeader(b []byte, s *flight.State) []byte {
	b = appendString(appendKey(b, "flid"), s.ID.String())
	b = strconv.AppendInt(appendKey(b, "state_version"), s.Version, 10)
	b = appendString(appendKey(b, "state"), string(s.Status))
	if s.OperationDay != "" {
		b = appendString(appendKey(b, "operation_day"), s.OperationDay)
	}
	b = appendString(appendKey(b, "msg_id"), strconv.FormatInt(a.context.MsgID, 10))
	b = appendString(appendKey(b, "kind"), a.context.Kind)
	b = appendString(appendKey(b, "ruleset"), a.context.Ruleset)
	b = append(appendKey(b, "updated_at"), '"')
	return append(a.appendTime(b, a.context.Now), '"')
}

func (a *application) appendTime(b []byte, at time.Time) []byte {
	return at.In(a.options.Zone).AppendFormat(b, timeLayout)
}

// key is the flight under whose key a change is announced: a child's master
// if there is one, else the flight itself.
func (a *application) key(s *flight.State) flight.ID {
	master, child := s.Master()
	if !child || a.options.CodeShareKey == KeyOwn || !a.now(master).IsMaster() {
		return s.ID
	}
	return master
}
