package schedule

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// MaxDuration is the longest time that ParseDuration takes.
const MaxDuration = 366 * 24 * time.Hour

var (
	durationForm = regexp.MustCompile(`^(?:\d{1,6}[wdhms])+$`)
	durationPart = regexp.MustCompile(`(\d{1,6})([wdhms])`)
)

// ParseDuration reads a positive duration of at most MaxDuration in weeks, days (of 24 hours), hours, minutes and
// seconds: "24h", "10m", "2d", "1d12h". The error is an *Error.
func ParseDuration(s string) (time.Duration, error) {
	bad := func(why string) error {
		return &Error{
			Code: CodeBadDuration, Message: fmt.Sprintf("%q %s", s, why), Hint: "write 30m, 24h, 2d or 1d12h",
		}
	}
	if len(s) > 64 || !durationForm.MatchString(s) {
		return 0, bad("is not a duration")
	}
	units := map[string]time.Duration{
		"w": 7 * 24 * time.Hour, "d": 24 * time.Hour, "h": time.Hour, "m": time.Minute, "s": time.Second,
	}
	var sum time.Duration
	for _, m := range durationPart.FindAllStringSubmatch(s, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			return 0, bad("is not a duration")
		}
		// Six digits of weeks fit an int64 of nanoseconds only in part: compare before multiplying.
		if time.Duration(n) > MaxDuration/units[m[2]] {
			return 0, bad("is longer than a year")
		}
		sum += time.Duration(n) * units[m[2]]
	}
	switch {
	case sum <= 0:
		return 0, bad("is no time at all")
	case sum > MaxDuration:
		return 0, bad("is longer than a year")
	}
	return sum, nil
}
