package ledger

import "time"

const instantForm = "2006-01-02T15:04:05.000Z"

func parseInstant(b []byte) (time.Time, bool) {
	if len(b) != len(instantForm) || b[4] != '-' || b[7] != '-' || b[10] != 'T' || b[13] != ':' || b[16] != ':' ||
		b[19] != '.' || b[23] != 'Z' {
		return time.Time{}, false
	}
	ok := true
	num := func(from, to int) int {
		n := 0
		for _, c := range b[from:to] {
			if c < '0' || c > '9' {
				ok = false
			}
			n = n*10 + int(c-'0')
		}
		return n
	}
	y, mo, d, h, mi, sec, ms := num(0, 4), num(5, 7), num(8, 10), num(11, 13), num(14, 16), num(17, 19), num(20, 23)
	if !ok || y < 1970 || mo < 1 || mo > 12 || d < 1 || d > 31 || h > 23 || mi > 59 || sec > 59 {
		return time.Time{}, false
	}
	t := time.Date(y, time.Month(mo), d, h, mi, sec, ms*int(time.Millisecond), time.UTC)
	return t, d <= 28 || t.Day() == d
}

func validInstant(t time.Time) bool {
	y := t.Year()
	return y >= 1970 && y <= 9999 && t.Nanosecond()%int(time.Millisecond) == 0 && t.Location() == time.UTC
}

// Instant brings t to the ledger's precision: UTC, whole milliseconds. The zero time stays zero.
func Instant(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Millisecond)
}
