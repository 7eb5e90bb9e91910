// Package schedule reads times, zones and durations as authors write them, and derives from them when a delivery may
// go out. It is pure: the present time comes in as an argument.
package schedule

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
)

// The years in which a post can go out. What lies outside is a slip of the pen.
const (
	MinYear = 2000
	MaxYear = 2100
)

const timeHint = "write 2026-12-03 09:00, or with an offset 2026-12-03T09:00:00+01:00"

var (
	stamp = regexp.MustCompile(`^(\d{4,})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2})(?::(\d{2})(\.\d{1,9})?)?(Z|z|[+-]\d{2}:\d{2})?$`)
	day   = regexp.MustCompile(`^\d{4,}-\d{2}-\d{2}$`)
	zoned = regexp.MustCompile(`^(\S+[Tt ]\d{2}:\d{2}(?::\d{2})?) ?([A-Za-z][A-Za-z0-9_+/-]*)$`)
)

// ParseWhen reads publish_at or publish_by: RFC 3339 (the T may be a space, the seconds may be left out), local time in
// loc, or "now". The error is an *Error. The result has no Pos.
func ParseWhen(raw string, loc *time.Location) (pipeline.When, error) {
	raw = strings.TrimSpace(raw)
	switch raw {
	case "now":
		return pipeline.When{Raw: raw, Now: true, Zone: loc.String()}, nil
	case "next_slot":
		return pipeline.When{}, &Error{
			Code: CodeNextSlot, Message: "next_slot is not supported by this version", Hint: timeHint,
		}
	}
	w, ok := parseStamp(raw)
	if !ok {
		return pipeline.When{}, refuse(raw, loc)
	}
	if err := w.check(raw); err != nil {
		return pipeline.When{}, err
	}
	if w.offset != "" {
		at, zone, err := w.fixed(raw)
		if err != nil {
			return pipeline.When{}, err
		}
		return pipeline.When{Raw: raw, At: at, Zone: zone}, nil
	}
	at, err := w.in(raw, loc)
	if err != nil {
		return pipeline.When{}, err
	}
	return pipeline.When{Raw: raw, At: at, Zone: loc.String()}, nil
}

// wall is a reading of a clock on a wall, not yet an instant.
type wall struct {
	year, month, day, hour, minute, second, nano int
	offset                                       string
}

func parseStamp(s string) (wall, bool) {
	m := stamp.FindStringSubmatch(s)
	if m == nil {
		return wall{}, false
	}
	n := func(i int) int {
		v, err := strconv.Atoi(m[i])
		if err != nil && m[i] != "" {
			return MaxYear + 1 // more digits than fit
		}
		return v
	}
	w := wall{
		year: n(1), month: n(2), day: n(3), hour: n(4), minute: n(5), second: n(6), offset: strings.ToUpper(m[8]),
	}
	if f := m[7]; f != "" {
		v, _ := strconv.Atoi((f[1:] + "000000000")[:9]) // the pattern admits digits only
		w.nano = v
	}
	return w, true
}

func (w wall) utc() time.Time {
	return time.Date(w.year, time.Month(w.month), w.day, w.hour, w.minute, w.second, w.nano, time.UTC)
}

// check refuses what no calendar has.
func (w wall) check(raw string) error {
	if w.year < MinYear || w.year > MaxYear {
		return &Error{
			Code:    CodeYearOutOfRange,
			Message: fmt.Sprintf("the year of %q is not between %d and %d", raw, MinYear, MaxYear),
		}
	}
	t := w.utc()
	same := t.Year() == w.year && int(t.Month()) == w.month && t.Day() == w.day
	if !same || w.hour > 23 || w.minute > 59 || w.second > 59 {
		return &Error{Code: CodeBadTime, Message: fmt.Sprintf("%q is not a time that exists", raw), Hint: timeHint}
	}
	return nil
}

func (w wall) fixed(raw string) (time.Time, string, error) {
	if w.offset == "Z" {
		return w.utc(), "UTC", nil
	}
	h, _ := strconv.Atoi(w.offset[1:3]) // the pattern admits digits only
	m, _ := strconv.Atoi(w.offset[4:6])
	if h > 23 || m > 59 {
		return time.Time{}, "", &Error{
			Code: CodeBadTime, Message: fmt.Sprintf("the offset of %q does not exist", raw), Hint: timeHint,
		}
	}
	seconds := h*3600 + m*60
	if w.offset[0] == '-' {
		seconds = -seconds
	}
	z := time.FixedZone("", seconds)
	return w.utc().Add(-time.Duration(seconds) * time.Second).In(z), w.offset, nil
}

// in finds the one instant at which clocks in loc show w.
func (w wall) in(raw string, loc *time.Location) (time.Time, error) {
	found, gap := w.instants(loc)
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		before, after := gap.Add(-time.Second).In(loc), gap.In(loc)
		return time.Time{}, &Error{
			Code: CodeTimeInGap,
			Message: fmt.Sprintf("%q does not exist in %s: clocks go from %s straight to %s",
				raw, loc, before.Format(zonedForm), after.Format(zonedForm)),
			Hint: "take a time before or after the gap",
		}
	default:
		return time.Time{}, &Error{
			Code:    CodeAmbiguousTime,
			Message: fmt.Sprintf("%q happens twice in %s", raw, loc),
			Hint: fmt.Sprintf("say which with an offset: %s or %s",
				found[0].Format(time.RFC3339), found[1].Format(time.RFC3339)),
		}
	}
}

const zonedForm = "2006-01-02 15:04:05 -07:00"

// instants returns every instant at which clocks in loc show w, earliest first; with none, gap is the instant of the
// change that skips w. Offsets lie within 15 hours of UTC, so that a change further away cannot matter.
func (w wall) instants(loc *time.Location) (found []time.Time, gap time.Time) {
	const reach = 15 * time.Hour
	naive := w.utc()
	for t := naive.Add(-reach); ; {
		t = t.In(loc)
		_, offset := t.Zone()
		start, end := t.ZoneBounds()
		at := naive.Add(-time.Duration(offset) * time.Second)
		if (start.IsZero() || !at.Before(start)) && (end.IsZero() || at.Before(end)) {
			found = append(found, at.In(loc))
		}
		if end.IsZero() || end.After(naive.Add(reach)) {
			return found, gap
		}
		if _, next := end.In(loc).Zone(); !at.Before(end) && naive.Add(-time.Duration(next)*time.Second).Before(end) {
			gap = end
		}
		t = end
	}
}

// refuse explains what is wrong with a text that has not the form of a time.
func refuse(raw string, loc *time.Location) error {
	if day.MatchString(raw) {
		return &Error{
			Code:    CodeDateWithoutTime,
			Message: fmt.Sprintf("%q has no time of day", raw),
			Hint:    "add one: " + raw + " 09:00",
		}
	}
	if m := zoned.FindStringSubmatch(raw); m != nil {
		return refuseZone(raw, m[1], m[2])
	}
	return &Error{Code: CodeBadTime, Message: fmt.Sprintf("%q is not a time", raw), Hint: timeHint}
}

// refuseZone answers a time that is followed by a zone's name: with the offset to write, where the zone is known.
func refuseZone(raw, clock, name string) error {
	loc, err := LoadZone(name)
	if err != nil {
		return &Error{
			Code:    CodeUnknownZone,
			Message: fmt.Sprintf("%q names the zone %s, which does not exist", raw, name),
			Hint:    "write an offset, such as +01:00, or leave it out for the timezone of broadside.yaml",
		}
	}
	e := &Error{
		Code: CodeBadTime, Message: fmt.Sprintf("%q names a zone; a time takes an offset instead", raw), Hint: timeHint,
	}
	if w, ok := parseStamp(clock); ok && w.check(clock) == nil {
		if at, err := w.in(clock, loc); err == nil {
			e.Hint = "write " + at.Format(time.RFC3339)
		}
	}
	return e
}
