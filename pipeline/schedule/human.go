package schedule

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const humanHint = `write "tomorrow 9:00", "monday 09:00", "in 2h" or 2026-12-03 09:00`

var clockForm = regexp.MustCompile(`^(\d{1,2})(?::(\d{2}))?(am|pm)?$`)

// ParseHuman reads a time as people type it at a prompt: "today 17:30", "tomorrow 9:00", "monday 09:00" (the next one
// that is still to come), "in 2h", "now", or anything that ParseWhen takes. Relative forms are taken in loc from now. The
// error is an *Error.
func ParseHuman(s string, now time.Time, loc *time.Location) (time.Time, error) {
	words := strings.Fields(strings.ToLower(s))
	local := now.In(loc)
	switch {
	case len(words) == 1 && words[0] == "now":
		return local, nil
	case len(words) >= 2 && words[0] == "in":
		d, err := ParseDuration(spoken(words[1:]))
		if err != nil {
			return time.Time{}, err
		}
		return local.Add(d), nil
	case len(words) >= 2:
		if days, weekday, ok := dayWord(words[0], local); ok {
			return humanDay(s, words[1:], local, days, weekday)
		}
	}
	w, err := ParseWhen(s, loc)
	if err != nil {
		return time.Time{}, err
	}
	return w.At, nil
}

// Format writes t as publish_at shows it best: local time in loc where that names one instant, else with an offset.
func Format(t time.Time, loc *time.Location) string {
	form := "2006-01-02 15:04"
	if t.Second() != 0 {
		form = "2006-01-02 15:04:05"
	}
	s := t.In(loc).Format(form)
	if w, err := ParseWhen(s, loc); err != nil || !w.At.Equal(t.Truncate(time.Second)) {
		return t.In(loc).Format(time.RFC3339)
	}
	return s
}

// spoken turns {"2", "hours"} into "2h".
func spoken(words []string) string {
	s := strings.Join(words, "")
	for _, u := range []string{"week", "day", "hour", "minute", "second", "min", "sec"} {
		s = strings.ReplaceAll(s, u+"s", u[:1])
		s = strings.ReplaceAll(s, u, u[:1])
	}
	return s
}

// dayWord tells how many days from local the word means; weekday is true where today may mean a week from now.
func dayWord(word string, local time.Time) (days int, weekday, ok bool) {
	switch word {
	case "today":
		return 0, false, true
	case "tomorrow":
		return 1, false, true
	}
	for d := time.Sunday; d <= time.Saturday; d++ {
		name := strings.ToLower(d.String())
		if word == name || word == name[:3] {
			return (int(d-local.Weekday()) + 7) % 7, true, true
		}
	}
	return 0, false, false
}

func humanDay(s string, words []string, local time.Time, days int, weekday bool) (time.Time, error) {
	if len(words) == 2 && words[0] == "at" {
		words = words[1:]
	}
	hour, minute, ok := clock(words)
	if !ok {
		return time.Time{}, &Error{Code: CodeBadTime, Message: fmt.Sprintf("%q has no time of day", s), Hint: humanHint}
	}
	at, err := onDay(s, local, days, hour, minute)
	if err != nil {
		return time.Time{}, err
	}
	if at.After(local) {
		return at, nil
	}
	if weekday {
		return onDay(s, local, days+7, hour, minute)
	}
	return time.Time{}, &Error{Code: CodeBadTime, Message: fmt.Sprintf("%q is past", s), Hint: humanHint}
}

func onDay(s string, local time.Time, days, hour, minute int) (time.Time, error) {
	d := time.Date(local.Year(), local.Month(), local.Day()+days, 0, 0, 0, 0, time.UTC)
	w := wall{year: d.Year(), month: int(d.Month()), day: d.Day(), hour: hour, minute: minute}
	if err := w.check(s); err != nil {
		return time.Time{}, err
	}
	return w.in(s, local.Location())
}

// clock reads "9:00", "17:30", "9am" or "9:30 pm".
func clock(words []string) (hour, minute int, ok bool) {
	m := clockForm.FindStringSubmatch(strings.Join(words, ""))
	if m == nil || len(words) > 2 || (m[2] == "" && m[3] == "") {
		return 0, 0, false
	}
	hour, _ = strconv.Atoi(m[1]) // the pattern admits digits only
	if m[2] != "" {
		minute, _ = strconv.Atoi(m[2])
	}
	if m[3] != "" {
		if hour < 1 || hour > 12 {
			return 0, 0, false
		}
		hour %= 12
		if m[3] == "pm" {
			hour += 12
		}
	}
	return hour, minute, hour <= 23 && minute <= 59
}
