package ledger

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// FormatPath is the file that makes a tree a ledger.
const FormatPath = "format"

// FormatFile is the content of the file `format`.
func FormatFile() []byte { return []byte(strconv.Itoa(FormatVersion) + "\n") }

const (
	eventDir   = "events/"
	archiveDir = "archive/"
	maxNumber  = 99_999_999
)

// EventPath is where the events of commit number belong. at only makes the folder; order is by number.
func EventPath(number int, at time.Time, token string) string {
	return fmt.Sprintf("%s%s/%08d-%s.jsonl", eventDir, at.UTC().Format("2006/01/02"), number, token)
}

// EventFile is what the path of an event file says.
type EventFile struct {
	Path   string
	Number int
	Token  string
}

// ParseEventPath reads a path that EventPath made; ok is false for any other.
func ParseEventPath(path string) (f EventFile, ok bool) {
	day, name, ok := cutPath(path)
	if !ok {
		return EventFile{}, false
	}
	if _, err := time.Parse("2006/01/02", day); err != nil {
		return EventFile{}, false
	}
	num, token, ok := strings.Cut(name, "-")
	if !ok || len(num) != 8 || !only(num, "0123456789") || !validToken(token) {
		return EventFile{}, false
	}
	n, err := strconv.Atoi(num)
	return EventFile{Path: path, Number: n, Token: token}, err == nil && n > 0
}

func cutPath(path string) (day, name string, ok bool) {
	rest, ok := strings.CutPrefix(path, eventDir)
	if !ok || len(rest) < 12 || rest[10] != '/' {
		return "", "", false
	}
	name, ok = strings.CutSuffix(rest[11:], ".jsonl")
	return rest[:10], name, ok
}
