package verdict

import (
	"fmt"
	"slices"
	"strings"

	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/message"
)

// maxReasons bounds how many contradictions are told one by one.
const maxReasons = 10

// guard says how a message contradicts itself, "" when it does not. A
// schedule is taken whole or not at all; an operation may name a flight twice.
func guard(msg *message.Message) string {
	var reasons []string
	if msg.Family == message.Schedule {
		reasons = append(reasons, guardCount(msg)...)
		reasons = append(reasons, guardFlights(msg)...)
	}
	for i := range msg.Records {
		reasons = append(reasons, msg.Records[i].Faults...)
	}
	if extra := len(reasons) - maxReasons; extra > 0 {
		reasons = append(reasons[:maxReasons], fmt.Sprintf("and %d more", extra))
	}
	return strings.Join(reasons, "; ")
}

func guardCount(msg *message.Message) []string {
	switch {
	case msg.Declared == nil:
		return []string{fmt.Sprintf("record-count missing (RECS), found %d", len(msg.Records))}
	case *msg.Declared != len(msg.Records):
		return []string{fmt.Sprintf("record-count %d, found %d", *msg.Declared, len(msg.Records))}
	}
	return nil
}

// guardFlights finds the flights that stand twice in a schedule. A record
// without a good FLID has a fault of its own.
func guardFlights(msg *message.Message) []string {
	first := make(map[flight.ID]int, len(msg.Records))
	var reasons []string
	for i := range msg.Records {
		r := &msg.Records[i]
		if r.FLID == 0 && len(r.Faults) > 0 {
			continue
		}
		if at, seen := first[r.FLID]; seen {
			reasons = append(reasons, fmt.Sprintf("duplicate-flid %s in records %d and %d", r.FLID, at, i+1))
			continue
		}
		first[r.FLID] = i + 1
	}
	return reasons
}

// scope is what a schedule covers, for the schedule log; nil for the rest.
func (j *Judge) scope(msg *message.Message) *decision.ScheduleScope {
	if msg.Family != message.Schedule {
		return nil
	}
	s := &decision.ScheduleScope{Carried: len(msg.Records)}
	if msg.Declared != nil {
		s.Declared = *msg.Declared
	}
	var days []string
	for i := range msg.Records {
		if e := msg.Records[i].Elements["SODT"]; e.Text != "" {
			if day, err := decision.OperationDay(e.Text, j.options.Zone, j.options.DayCutover); err == nil {
				days = append(days, day)
			}
		}
	}
	if len(days) > 0 {
		s.FirstDay, s.LastDay = slices.Min(days), slices.Max(days)
	}
	return s
}
