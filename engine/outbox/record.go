package outbox

import (
	"strconv"
	"time"

	"msgx/engine/event"
)

// Record is the form in which an event goes to the broker. The timestamp is
// the time of sending: a topic's retention must not count the time that an event
// waited for the broker.
func Record(e event.Event, now time.Time) event.Record {
	r := event.Record{Key: e.Key, Value: e.Value(), At: now, Headers: []event.Header{
		{Key: "event_id", Value: strconv.FormatInt(e.ID, 10)},
		{Key: "flid", Value: e.FLID.String()},
		{Key: "state_version", Value: strconv.FormatInt(e.Version, 10)},
		{Key: "type", Value: string(e.Type)},
		{Key: "kind", Value: e.Kind},
		{Key: "ruleset", Value: e.Ruleset},
		{Key: "msg_id", Value: strconv.FormatInt(e.MsgID, 10)},
		{Key: "created_at", Value: e.CreatedAt.UTC().Format(time.RFC3339Nano)},
	}}
	if e.Resent {
		r.Headers = append(r.Headers, event.Header{Key: "resent", Value: "true"})
	}
	return r
}
