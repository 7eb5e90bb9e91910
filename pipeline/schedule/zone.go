package schedule

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// zoneName is the form of the names in the IANA database. Names are matched with their case on each system, though some
// file systems would not.
var zoneName = regexp.MustCompile(`^[A-Z][A-Za-z0-9_+-]*(/[A-Z0-9][A-Za-z0-9_+-]*)*$`)

// LoadZone returns a zone of the IANA database by its name. "Local" is refused: it would depend on the machine.
func LoadZone(name string) (*time.Location, error) {
	bad := &Error{
		Code:    CodeUnknownZone,
		Message: fmt.Sprintf("%q is not a time zone", name),
		Hint:    "take a name of the IANA database, such as Europe/Berlin, America/New_York or UTC",
	}
	if name == "Local" || name == "Factory" || len(name) > 64 || !zoneName.MatchString(name) {
		if fixed := titled(name); fixed != name && len(name) <= 64 && zoneName.MatchString(fixed) {
			if _, err := time.LoadLocation(fixed); err == nil {
				bad.Hint = "did you mean " + fixed + "?"
			}
		}
		return nil, bad
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, bad
	}
	return loc, nil
}

// titled writes europe/berlin as Europe/Berlin.
func titled(s string) string {
	out := []byte(strings.ToLower(s))
	start := true
	for i, c := range out {
		if start && c >= 'a' && c <= 'z' {
			out[i] = c - 'a' + 'A'
		}
		start = c == '/' || c == '_'
	}
	return string(out)
}
