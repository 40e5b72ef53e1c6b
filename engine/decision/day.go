package decision

import (
	"fmt"
	"strings"
	"time"

	"msgx/engine/flight"
	"msgx/engine/message"
)

// ProtocolError is a conflict between the message and what is already known
// of its flights. It rejects the message whole.
type ProtocolError struct {
	Reasons []string
}

func (e *ProtocolError) Error() string { return strings.Join(e.Reasons, "; ") }

// OperationDay is the day a flight belongs to: the airport's date of its
// scheduled time, or the day before when the clock on the wall shows less than the cutover.
func OperationDay(sodt string, zone *time.Location, cutover time.Duration) (string, error) {
	at, err := time.Parse(time.RFC3339, sodt)
	if err != nil {
		return "", fmt.Errorf("operation day: SODT is %q, expected a time such as 2021-01-23T05:35:00+08:00",
			message.SafeText(sodt, 64))
	}
	local := at.In(zone)
	sinceMidnight := time.Duration(local.Hour())*time.Hour +
		time.Duration(local.Minute())*time.Minute + time.Duration(local.Second())*time.Second
	if sinceMidnight < cutover {
		local = time.Date(local.Year(), local.Month(), local.Day()-1, 12, 0, 0, 0, zone)
	}
	return local.Format(time.DateOnly), nil
}

// settleDay gives a flight its operation day, from the SODT that a schedule
// sets; it returns the conflict when the flight has another one already.
func (a *application) settleDay(after *flight.State, change *Change) (conflict string) {
	if a.context.Family != message.Schedule {
		return ""
	}
	sodt, set := change.Set["SODT"]
	if !set {
		return ""
	}
	day, err := OperationDay(sodt.Text, a.options.Zone, a.options.DayCutover)
	if err != nil {
		return "" // the value itself is already a fault
	}
	if after.OperationDay == "" {
		after.OperationDay = day
	}
	if after.OperationDay != day {
		return fmt.Sprintf("flight %s: operation day is %s, SODT %s gives %s", after.ID, after.OperationDay, sodt.Text, day)
	}
	return ""
}
