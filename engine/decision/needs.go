package decision

import (
	"maps"
	"slices"

	"msgx/engine/flight"
	"msgx/engine/message"
)

// Needs says what has to be read before a message is decided: the flights
// its records name, and the masters they state; both ascending, each once.
func Needs(msg *message.Message) (flights, masters []flight.ID) {
	if msg.Family == message.Reference || msg.Family == message.Unsupported {
		return nil, nil
	}
	named, stated := make(map[flight.ID]bool, len(msg.Records)), make(map[flight.ID]bool)
	for i := range msg.Records {
		r := &msg.Records[i]
		named[r.FLID] = true
		if e, ok := r.Elements["MAID"]; ok && !e.Empty {
			if id, err := flight.ParseID(e.Text); err == nil {
				stated[id] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(named)), slices.Sorted(maps.Keys(stated))
}
