package schedule_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/schedule"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := schedule.LoadZone(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestParseWhenTakesTheDocumentedForms(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	for raw, want := range map[string]struct{ at, zone string }{
		"2026-12-03 09:00":               {"2026-12-03T08:00:00Z", "Europe/Berlin"},
		"2026-12-03T09:00":               {"2026-12-03T08:00:00Z", "Europe/Berlin"},
		"2026-12-03 09:00:30":            {"2026-12-03T08:00:30Z", "Europe/Berlin"},
		"2026-07-03T09:00:30":            {"2026-07-03T07:00:30Z", "Europe/Berlin"},
		" 2026-12-03 09:00 ":             {"2026-12-03T08:00:00Z", "Europe/Berlin"},
		"2026-12-03T09:00:00Z":           {"2026-12-03T09:00:00Z", "UTC"},
		"2026-12-03t09:00:00z":           {"2026-12-03T09:00:00Z", "UTC"},
		"2026-12-03T09:00:00+05:30":      {"2026-12-03T03:30:00Z", "+05:30"},
		"2026-12-03 09:00-03:30":         {"2026-12-03T12:30:00Z", "-03:30"},
		"2026-12-03T09:00:00.25+00:00":   {"2026-12-03T09:00:00.25Z", "+00:00"},
		"2028-02-29 12:00":               {"2028-02-29T11:00:00Z", "Europe/Berlin"}, // a leap day
		"2026-12-31 23:59:59":            {"2026-12-31T22:59:59Z", "Europe/Berlin"}, // the end of a year
		"2027-01-01 00:00":               {"2026-12-31T23:00:00Z", "Europe/Berlin"},
		"2027-01-01T00:30:00+14:00":      {"2026-12-31T10:30:00Z", "+14:00"},
		"2026-10-25T02:30:00+02:00":      {"2026-10-25T00:30:00Z", "+02:00"}, // twice on clocks, once with an offset
		"2026-10-25T02:30:00+01:00":      {"2026-10-25T01:30:00Z", "+01:00"},
		"2026-12-03T09:00:00.123456789Z": {"2026-12-03T09:00:00.123456789Z", "UTC"},
	} {
		w, err := schedule.ParseWhen(raw, berlin)
		if err != nil {
			t.Errorf("%q: %v", raw, err)
			continue
		}
		if got := w.At.UTC().Format(time.RFC3339Nano); got != want.at || w.Zone != want.zone || w.Now {
			t.Errorf("%q is %s in %s, want %s in %s", raw, got, w.Zone, want.at, want.zone)
		}
	}
	w, err := schedule.ParseWhen("now", berlin)
	if err != nil || !w.Now || !w.At.IsZero() || w.IsZero() {
		t.Errorf("now: %+v, %v", w, err)
	}
}

func TestParseWhenRefusesWithACode(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	for raw, want := range map[string]struct{ code, hint string }{
		"":                                  {"bad_time", ""},
		"soon":                              {"bad_time", "2026-12-03 09:00"},
		"next_slot":                         {"unsupported", ""},
		"2026-12-03":                        {"date_without_time", "2026-12-03 09:00"},
		"2026-12-03 9:00":                   {"bad_time", ""},
		"2026-12-03 24:00":                  {"bad_time", ""},
		"2026-12-03 09:60":                  {"bad_time", ""},
		"2026-12-03 23:59:60":               {"bad_time", ""},
		"2026-13-03 09:00":                  {"bad_time", ""},
		"2026-02-29 09:00":                  {"bad_time", ""}, // no leap year
		"2100-02-29 09:00":                  {"bad_time", ""}, // no leap year either
		"2026-00-10 09:00":                  {"bad_time", ""},
		"2026-04-31 09:00":                  {"bad_time", ""},
		"1999-12-31 09:00":                  {"year_out_of_range", ""},
		"2101-01-01 09:00":                  {"year_out_of_range", ""},
		"20260-12-03 09:00":                 {"year_out_of_range", ""},
		"99999999999999-12-03 09:00":        {"year_out_of_range", ""},
		"2026-12-03 09:00 CEST":             {"unknown_zone", "offset"},
		"2026-12-03 09:00 Mars/Base":        {"unknown_zone", "offset"},
		"2026-12-03 09:00 America/New_York": {"bad_time", "2026-12-03T09:00:00-05:00"},
		"2026-12-03T09:00:00+24:00":         {"bad_time", ""},
		"2026-12-03T09:00:00+01:60":         {"bad_time", ""},
		"2026-12-03T09:00:00+0100":          {"bad_time", ""},
		"03.12.2026 09:00":                  {"bad_time", ""},
		"2026-03-29 02:30":                  {"time_in_gap", ""},
		"2026-10-25 02:30":                  {"ambiguous_time", "2026-10-25T02:30:00+02:00 or 2026-10-25T02:30:00+01:00"},
	} {
		w, err := schedule.ParseWhen(raw, berlin)
		var e *schedule.Error
		if !errors.As(err, &e) {
			t.Errorf("%q: %+v, %v", raw, w, err)
			continue
		}
		if e.Code != want.code || !strings.Contains(e.Hint, want.hint) {
			t.Errorf("%q: %s, hint %q; want %s, %q", raw, e.Code, e.Hint, want.code, want.hint)
		}
	}
}

// TestParseWhenKnowsBothClockChanges looks at the last good second, the first and the last bad one, and the next good one
// of each change. The dates are those of the IANA database 2025b.
func TestParseWhenKnowsBothClockChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		zone           string
		gap            [4]string // last before, first inside, last inside, first after
		before, after  string    // what the message names
		twice          [4]string
		earlier, later string // the two readings of twice[1]
	}{
		{
			"Europe/Berlin",
			[4]string{"2026-03-29 01:59:59", "2026-03-29 02:00:00", "2026-03-29 02:59:59", "2026-03-29 03:00:00"},
			"2026-03-29 01:59:59 +01:00", "2026-03-29 03:00:00 +02:00",
			[4]string{"2026-10-25 01:59:59", "2026-10-25 02:00:00", "2026-10-25 02:59:59", "2026-10-25 03:00:00"},
			"2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00",
		},
		{
			"America/New_York",
			[4]string{"2026-03-08 01:59:59", "2026-03-08 02:00:00", "2026-03-08 02:59:59", "2026-03-08 03:00:00"},
			"2026-03-08 01:59:59 -05:00", "2026-03-08 03:00:00 -04:00",
			[4]string{"2026-11-01 00:59:59", "2026-11-01 01:00:00", "2026-11-01 01:59:59", "2026-11-01 02:00:00"},
			"2026-11-01T01:00:00-04:00", "2026-11-01T01:00:00-05:00",
		},
		{
			"Australia/Lord_Howe", // half an hour, in the other half of the year
			[4]string{"2026-10-04 01:59:59", "2026-10-04 02:00:00", "2026-10-04 02:29:59", "2026-10-04 02:30:00"},
			"2026-10-04 01:59:59 +10:30", "2026-10-04 02:30:00 +11:00",
			[4]string{"2026-04-05 01:29:59", "2026-04-05 01:30:00", "2026-04-05 01:59:59", "2026-04-05 02:00:00"},
			"2026-04-05T01:30:00+11:00", "2026-04-05T01:30:00+10:30",
		},
		{
			"America/Santiago", // at midnight: the day begins at one
			[4]string{"2026-09-05 23:59:59", "2026-09-06 00:00:00", "2026-09-06 00:59:59", "2026-09-06 01:00:00"},
			"2026-09-05 23:59:59 -04:00", "2026-09-06 01:00:00 -03:00",
			[4]string{"2026-04-04 22:59:59", "2026-04-04 23:00:00", "2026-04-04 23:59:59", "2026-04-05 00:00:00"},
			"2026-04-04T23:00:00-03:00", "2026-04-04T23:00:00-04:00",
		},
	} {
		loc := zone(t, c.zone)
		code := func(raw string) (string, *schedule.Error) {
			_, err := schedule.ParseWhen(raw, loc)
			if e, ok := errors.AsType[*schedule.Error](err); ok {
				return e.Code, e
			}
			return "", nil
		}
		for i, want := range []string{"", "time_in_gap", "time_in_gap", ""} {
			if got, _ := code(c.gap[i]); got != want {
				t.Errorf("%s %s: %q, want %q", c.zone, c.gap[i], got, want)
			}
		}
		for i, want := range []string{"", "ambiguous_time", "ambiguous_time", ""} {
			if got, _ := code(c.twice[i]); got != want {
				t.Errorf("%s %s: %q, want %q", c.zone, c.twice[i], got, want)
			}
		}
		if _, e := code(c.gap[1]); !strings.Contains(e.Message, c.before) || !strings.Contains(e.Message, c.after) {
			t.Errorf("%s: the gap is told as %q", c.zone, e.Message)
		}
		if _, e := code(c.twice[1]); !strings.Contains(e.Hint, c.earlier+" or "+c.later) {
			t.Errorf("%s: the two times are told as %q", c.zone, e.Hint)
		}
		for _, s := range []string{c.earlier, c.later} {
			if w, err := schedule.ParseWhen(s, loc); err != nil || w.At.In(loc).Format(time.RFC3339) != s {
				t.Errorf("%s: %s is %v, %v", c.zone, s, w.At, err)
			}
		}
	}
}

func TestParseWhenKnowsADayThatWasSkipped(t *testing.T) {
	t.Parallel()
	_, err := schedule.ParseWhen("2011-12-30 12:00", zone(t, "Pacific/Apia"))
	var e *schedule.Error
	if !errors.As(err, &e) || e.Code != "time_in_gap" {
		t.Errorf("%v", err)
	}
}

func TestLoadZoneTakesTheDatabaseOnly(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "Asia/Kolkata"} {
		if _, err := schedule.LoadZone(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, hint := range map[string]string{
		"": "", "Local": "", "local": "", "Factory": "", "localtime": "", "posix/Europe/Berlin": "", "right/UTC": "", "../etc/passwd": "",
		"Europe/Berlinn": "Europe/Berlin", "/etc/localtime": "", "+01:00": "", "europe/berlin": "did you mean Europe/Berlin?",
		"CEST": "", "Europe": "", "Mars/Base": "", strings.Repeat("A", 10000): "", "Europe/Ber\x00lin": "",
	} {
		_, err := schedule.LoadZone(name)
		var e *schedule.Error
		if !errors.As(err, &e) || e.Code != "unknown_zone" || !strings.Contains(e.Hint, hint) {
			t.Errorf("%.40q: %v", name, err)
		}
	}
}

func TestParseDurationIsBounded(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]time.Duration{
		"24h": 24 * time.Hour, "10m": 10 * time.Minute, "2d": 48 * time.Hour, "1w": 168 * time.Hour, "1d12h": 36 * time.Hour,
		"90s": 90 * time.Second, "366d": schedule.MaxDuration,
	} {
		if got, err := schedule.ParseDuration(s); err != nil || got != want {
			t.Errorf("%s: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{
		"", "0h", "1", "h", "-1h", "1.5h", "1h ", "1y", "367d", "999999w", "999999h999999h", "9999999h", strings.Repeat("1h", 100),
	} {
		if d, err := schedule.ParseDuration(s); err == nil {
			t.Errorf("%.20q: %v", s, d)
		}
	}
}

func TestWindowTakesTheNearestWord(t *testing.T) {
	t.Parallel()
	loc := zone(t, "Europe/Berlin")
	when := func(s string) pipeline.When {
		if s == "" {
			return pipeline.When{}
		}
		w, err := schedule.ParseWhen(s, loc)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	seen := time.Date(2026, 12, 1, 10, 0, 0, 0, loc)
	for name, c := range map[string]struct {
		at, by, destAt, destBy string
		within                 time.Duration
		due, until, code       string
	}{
		"the post's own":         {at: "2026-12-03 09:00", by: "2026-12-03 18:00", due: "2026-12-03 09:00", until: "2026-12-03 18:00"},
		"a default":              {at: "2026-12-03 09:00", due: "2026-12-03 09:00", until: "2026-12-04 09:00"},
		"what the config says":   {at: "2026-12-03 09:00", within: 2 * time.Hour, due: "2026-12-03 09:00", until: "2026-12-03 11:00"},
		"over a clock change":    {at: "2026-10-24 12:00", due: "2026-10-24 12:00", until: "2026-10-25 11:00"},
		"the destination's time": {at: "2026-12-03 09:00", destAt: "2026-12-03 10:30", due: "2026-12-03 10:30", until: "2026-12-04 10:30"},
		"both of the destination": {
			at: "2026-12-03 09:00", by: "2026-12-03 10:00", destAt: "2026-12-03 11:00", destBy: "2026-12-03 12:00",
			due: "2026-12-03 11:00", until: "2026-12-03 12:00",
		},
		"now":            {at: "now", due: "2026-12-01 10:00", until: "2026-12-02 10:00"},
		"now, by a time": {at: "now", by: "2026-12-01 12:00", due: "2026-12-01 10:00", until: "2026-12-01 12:00"},
		"now, too late":  {at: "now", by: "2026-12-01 10:00", code: "publish_by_too_early"},
		"equal":          {at: "2026-12-03 09:00", by: "2026-12-03 09:00", code: "publish_by_too_early"},
		"the post's deadline before the destination's time": {
			at: "2026-12-03 09:00", by: "2026-12-03 10:00", destAt: "2026-12-03 10:30", code: "publish_by_too_early",
		},
		"a draft": {code: "no_time"},
	} {
		p := &pipeline.Post{PublishAt: when(c.at), PublishBy: when(c.by)}
		d := pipeline.PostDestination{PublishAt: when(c.destAt), PublishBy: when(c.destBy)}
		w, err := schedule.Window(p, d, &pipeline.Config{PublishWithin: c.within}, seen)
		if c.code != "" {
			var e *schedule.Error
			if !errors.As(err, &e) || e.Code != c.code {
				t.Errorf("%s: %+v, %v", name, w, err)
			}
			continue
		}
		if err != nil || !w.Due.Equal(when(c.due).At) || !w.By.Equal(when(c.until).At) {
			t.Errorf("%s: %+v, %v", name, w, err)
		}
	}
}

func TestParseHumanReadsWhatPeopleType(t *testing.T) {
	t.Parallel()
	loc := zone(t, "Europe/Berlin")
	now := time.Date(2026, 12, 2, 10, 0, 0, 0, loc) // a Wednesday
	for s, want := range map[string]string{
		"now":                  "2026-12-02 10:00",
		"today 17:30":          "2026-12-02 17:30",
		"Tomorrow 9:00":        "2026-12-03 09:00",
		"tomorrow at 9am":      "2026-12-03 09:00",
		"tomorrow 12:15 am":    "2026-12-03 00:15",
		"tomorrow 12pm":        "2026-12-03 12:00",
		"monday 09:00":         "2026-12-07 09:00",
		"wed 09:00":            "2026-12-09 09:00", // past for today
		"wednesday 11:00":      "2026-12-02 11:00",
		"in 2h":                "2026-12-02 12:00",
		"in 2 hours":           "2026-12-02 12:00",
		"in 1 day 30 minutes":  "2026-12-03 10:30",
		"2026-12-24 18:00":     "2026-12-24 18:00",
		"2026-12-24T18:00:00Z": "2026-12-24 19:00",
		"sunday 8:05pm":        "2026-12-06 20:05",
	} {
		got, err := schedule.ParseHuman(s, now, loc)
		if err != nil || schedule.Format(got, loc) != want {
			t.Errorf("%q: %v, %v; want %s", s, got, err, want)
		}
	}
	for _, s := range []string{
		"", "tomorrow", "today 9:00", "today", "9:00", "in", "in a while", "in 2 years", "someday 9:00", "tomorrow 25:00", "tomorrow 9",
		"tomorrow 13pm", "monday 9:00 utc", "in -2h",
	} {
		if got, err := schedule.ParseHuman(s, now, loc); err == nil {
			t.Errorf("%q: %v", s, got)
		}
	}
	if _, err := schedule.ParseHuman("sunday 02:30", time.Date(2026, 3, 25, 9, 0, 0, 0, loc), loc); err == nil {
		t.Error("a time in a gap was taken")
	}
}

func TestFormatNamesOneInstant(t *testing.T) {
	t.Parallel()
	loc := zone(t, "Europe/Berlin")
	for in, want := range map[string]string{
		"2026-12-03T08:00:00Z": "2026-12-03 09:00",
		"2026-12-03T08:00:30Z": "2026-12-03 09:00:30",
		"2026-10-25T00:30:00Z": "2026-10-25T02:30:00+02:00",
		"2026-10-25T01:30:00Z": "2026-10-25T02:30:00+01:00",
	} {
		at, err := time.Parse(time.RFC3339, in)
		if err != nil {
			t.Fatal(err)
		}
		if got := schedule.Format(at, loc); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func FuzzParseWhen(f *testing.F) {
	for _, s := range []string{"2026-12-03 09:00", "2026-03-29 02:30", "now", "2026-12-03T09:00:00+01:00", "2026-12-03", "2026-12-03 09:00 CET"} {
		f.Add(s)
	}
	loc := zone(f, "Europe/Berlin")
	f.Fuzz(func(t *testing.T, s string) {
		w, err := schedule.ParseWhen(s, loc)
		if err != nil {
			var e *schedule.Error
			if !errors.As(err, &e) || e.Code == "" {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		if w.Now {
			return
		}
		again, err := schedule.ParseWhen(schedule.Format(w.At, loc), loc)
		if err != nil || !again.At.Equal(w.At.Truncate(time.Second)) {
			t.Fatalf("%q: %v is written as %s", s, w.At, schedule.Format(w.At, loc))
		}
		if _, err := schedule.ParseHuman(s, w.At, loc); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
	})
}
