package codec

import (
	"strings"
	"time"
)

const months = "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC"

// datetime reads DDMONYYHHMM in the airport's zone.
func datetime(text string, zone *time.Location) (string, *badValue) {
	bad := notParsed("a datetime DDMONYYHHMM such as 23JAN210535")
	if len(text) != 11 || !isDigits(text[7:]) {
		return "", bad
	}
	year, month, day, ok := calendarDay(text[:7])
	hour, minute := number(text[7:9]), number(text[9:])
	if !ok || hour > 23 || minute > 59 {
		return "", bad
	}
	return instant(time.Date(year, month, day, hour, minute, 0, 0, time.UTC), zone), nil
}

// date reads DDMONYY.
func date(text string) (string, *badValue) {
	year, month, day, ok := calendarDay(text)
	if !ok {
		return "", notParsed("a date DDMONYY such as 23JAN21")
	}
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Format(time.DateOnly), nil
}

// stamp reads yyyyMMddHHmmss in the airport's zone.
func stamp(text string, zone *time.Location) (string, *badValue) {
	bad := notParsed("a time yyyyMMddHHmmss such as 20210123223126")
	if len(text) != 14 || !isDigits(text) {
		return "", bad
	}
	year, month, day := number(text[:4]), time.Month(number(text[4:6])), number(text[6:8])
	hour, minute, second := number(text[8:10]), number(text[10:12]), number(text[12:])
	if year == 0 || !exists(year, month, day) || hour > 23 || minute > 59 || second > 59 {
		return "", bad
	}
	return instant(time.Date(year, month, day, hour, minute, second, 0, time.UTC), zone), nil
}

// calendarDay reads DDMONYY, the name of the month in any case, the year 20YY.
func calendarDay(text string) (year int, month time.Month, day int, ok bool) {
	if len(text) != 7 || !isDigits(text[:2]) || !isDigits(text[5:]) {
		return 0, 0, 0, false
	}
	at := strings.Index(months, strings.ToUpper(text[2:5]))
	if at < 0 || at%3 != 0 {
		return 0, 0, 0, false
	}
	year, month, day = 2000+number(text[5:]), time.Month(at/3+1), number(text[:2])
	return year, month, day, exists(year, month, day)
}

// exists tells whether the calendar has the day.
func exists(year int, month time.Month, day int) bool {
	if month < 1 || month > 12 || day < 1 {
		return false
	}
	return day <= time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// instant places a wall clock reading, given as if it were UTC, in the zone. A
// reading that occurs twice means the first occurrence; one that is skipped is
// as much later as the clocks were put forward, since a sender that adds
// minutes to a local time arrives there and its message must not be lost.
func instant(wall time.Time, zone *time.Location) string {
	const day = 24 * 60 * 60
	seconds := wall.Unix()
	_, before := time.Unix(seconds-day, 0).In(zone).Zone()
	_, after := time.Unix(seconds+day, 0).In(zone).Zone()
	at := time.Unix(seconds-int64(before), 0).In(zone)
	if before != after {
		if _, actual := at.Zone(); actual != before {
			later := time.Unix(seconds-int64(after), 0).In(zone)
			if _, actual := later.Zone(); actual == after {
				at = later
			}
		}
	}
	return at.Format(time.RFC3339)
}
