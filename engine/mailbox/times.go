package mailbox

import (
	"strings"
	"time"
)

// seconds is how the server writes a time; fractions may follow.
const seconds = "2006-01-02 15:04:05"

// parseTime reads a time column as text. NULL, zero dates and dates that are in
// no calendar are the zero time.
func parseTime(text string, zone *time.Location) time.Time {
	if text == "" || strings.HasPrefix(text, "0000") {
		return time.Time{}
	}
	t, err := time.ParseInLocation(seconds, text, zone)
	if err != nil {
		return time.Time{}
	}
	return t
}

// formatTime writes whole seconds, cut off: the server would round a fraction up.
func formatTime(t time.Time, zone *time.Location) string {
	return t.In(zone).Format(seconds)
}
