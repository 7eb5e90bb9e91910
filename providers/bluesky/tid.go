package bluesky

import (
	"fmt"
	"strconv"
	"time"
)

// tidAlphabet is base32-sortable: its characters are in the order of their bytes.
const tidAlphabet = "234567abcdefghijklmnopqrstuvwxyz"

// tidLength is the length of every TID: 65 bits, the highest of them 0, by five.
const tidLength = 13

// clockBits is how many bits of a TID tell apart those of one microsecond.
const clockBits = 10

// tid returns the timestamp identifier of the microsecond of t. Later microseconds give greater strings.
// Layout from the AT Protocol's "TID" specification (atproto.com/specs/tid, read 2026-11-30): 53 bits of
// microseconds since 1970, then a 10-bit clock id.
func tid(t time.Time, clock uint16) (string, error) {
	us := t.UnixMicro()
	if us < 0 || us >= 1<<53 {
		return "", fmt.Errorf("the time %s does not fit into a record key", t.UTC().Format(time.RFC3339))
	}
	v := uint64(us)<<clockBits | uint64(clock&(1<<clockBits-1))
	var b [tidLength]byte
	for i := tidLength - 1; i >= 0; i-- {
		b[i] = tidAlphabet[v&31]
		v >>= 5
	}
	return string(b[:]), nil
}

// validTID tells whether s has the form of a TID.
func validTID(s string) bool {
	if len(s) != tidLength || s[0] > 'j' { // the highest bit is 0, so the first digit is below 16
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '2' || c > '7') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// clockID takes a TID's clock id from the first ten bits of an idempotency key, so that two deliveries of one
// microsecond have record keys of their own.
func clockID(key string) (uint16, error) {
	if len(key) < 3 {
		return 0, fmt.Errorf("the key %q is too short", key)
	}
	v, err := strconv.ParseUint(key[:3], 16, 16)
	if err != nil {
		return 0, fmt.Errorf("the key %q is not hexadecimal", key)
	}
	return uint16(v >> 2), nil
}
