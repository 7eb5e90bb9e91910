package bluesky

import (
	"strings"
	"testing"
	"time"
)

func TestTIDIsThatOfTheSpecification(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		us    int64
		clock uint16
		want  string
	}{
		{0, 0, "2222222222222"},
		{1, 0, "2222222222322"},
		{0, 1, "2222222222223"},
		{0, 1023, "22222222222zz"},
		{1<<53 - 1, 1023, "bzzzzzzzzzzzz"},
		{1<<53 - 1, 0xffff, "bzzzzzzzzzzzz"}, // the clock id has ten bits
	} {
		got, err := tid(time.UnixMicro(c.us), c.clock)
		if err != nil || got != c.want {
			t.Errorf("%d, %d: %q, %v, want %q", c.us, c.clock, got, err, c.want)
		}
		if !validTID(got) {
			t.Errorf("%q is not valid", got)
		}
	}
	for _, at := range []time.Time{time.UnixMicro(-1), time.UnixMicro(1 << 53)} {
		if got, err := tid(at, 0); err == nil {
			t.Errorf("%s gives %q", at, got)
		}
	}
}

func TestTIDSortsByTime(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 3, 9, 0, 0, 0, time.UTC)
	last := ""
	for i := range 5000 {
		got, err := tid(at.Add(time.Duration(i*i)*time.Microsecond*7), uint16(1023-i%1024))
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 && got <= last {
			t.Fatalf("%q does not follow %q", got, last)
		}
		last = got
	}
}

func TestValidTIDRefusesOtherKeys(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "self", "my-own-key", "3lwafzkjqm25", "3lwafzkjqm25ss", "3LWAFZKJQM25S", "zlwafzkjqm25s", "klwafzkjqm25s",
		"3lwafzkjqm21s", "../../../../x", strings.Repeat("1", 13),
	} {
		if validTID(s) {
			t.Errorf("%q is valid", s)
		}
	}
	for _, s := range []string{"3lwafzkjqm25s", "jzzzzzzzzzzzz", "2222222222222"} {
		if !validTID(s) {
			t.Errorf("%q is not valid", s)
		}
	}
}

func TestClockIDIsTheKeysFirstTenBits(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]uint16{"000": 0, "fff": 1023, "d1f0": 0xd1f >> 2, "003f": 0, "004f": 1} {
		if got, err := clockID(key); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", key, got, err, want)
		}
	}
	for _, key := range []string{"", "ab", "xyz0"} {
		if _, err := clockID(key); err == nil {
			t.Errorf("%q is taken for a key", key)
		}
	}
}
