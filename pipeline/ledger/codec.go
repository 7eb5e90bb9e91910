package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

var eventTable = newTable(
	column[Event]{"actor", func(e *Event) any { return &e.Actor }},
	column[Event]{"at", func(e *Event) any { return &e.At }},
	column[Event]{"attempt", func(e *Event) any { return &e.Attempt }},
	column[Event]{"blob", func(e *Event) any { return &e.Blob }},
	column[Event]{"by", func(e *Event) any { return &e.By }},
	column[Event]{"by_whom", func(e *Event) any { return &e.ByWhom }},
	column[Event]{"chain", func(e *Event) any { return &e.Chain }},
	column[Event]{"config", func(e *Event) any { return &e.Config }},
	column[Event]{"content", func(e *Event) any { return &e.Content }},
	column[Event]{"content_branch", func(e *Event) any { return &e.ContentBranch }},
	column[Event]{"dest", func(e *Event) any { return &e.Dest }},
	column[Event]{"detail", func(e *Event) any { return &e.Detail }},
	column[Event]{"digest", func(e *Event) any { return &e.Digest }},
	column[Event]{"due", func(e *Event) any { return &e.Due }},
	column[Event]{"evidence", func(e *Event) any { return &e.Evidence }},
	column[Event]{"expires", func(e *Event) any { return &e.Expires }},
	column[Event]{"file", func(e *Event) any { return &e.File }},
	column[Event]{"finished", func(e *Event) any { return &e.Finished }},
	column[Event]{"gen", func(e *Event) any { return &e.Gen }},
	column[Event]{"handle", func(e *Event) any { return &e.Handle }},
	column[Event]{"hold", func(e *Event) any { return &e.Hold }},
	column[Event]{"home_url", func(e *Event) any { return &e.HomeURL }},
	column[Event]{"id", func(e *Event) any { return &e.ID }},
	column[Event]{"kind", func(e *Event) any { return (*string)(&e.Kind) }},
	column[Event]{"lease_until", func(e *Event) any { return &e.LeaseUntil }},
	column[Event]{"ledger", func(e *Event) any { return &e.Ledger }},
	column[Event]{"login", func(e *Event) any { return &e.Login }},
	column[Event]{"next", func(e *Event) any { return &e.Next }},
	column[Event]{"not_before", func(e *Event) any { return &e.NotBefore }},
	column[Event]{"part", func(e *Event) any { return &e.Part }},
	column[Event]{"parts", func(e *Event) any { return &e.Parts }},
	column[Event]{"path", func(e *Event) any { return &e.Path }},
	column[Event]{"post", func(e *Event) any { return &e.Post }},
	column[Event]{"purpose", func(e *Event) any { return &e.Purpose }},
	column[Event]{"reason", func(e *Event) any { return (*string)(&e.Reason) }},
	column[Event]{"ref", func(e *Event) any { return &e.Ref }},
	column[Event]{"rendition", func(e *Event) any { return &e.Rendition }},
	column[Event]{"repo_id", func(e *Event) any { return &e.RepoID }},
	column[Event]{"run", func(e *Event) any { return &e.Run }},
	column[Event]{"scope", func(e *Event) any { return &e.Scope }},
	column[Event]{"sent", func(e *Event) any { return &e.Sent }},
	column[Event]{"sent_at", func(e *Event) any { return &e.SentAt }},
	column[Event]{"seq", func(e *Event) any { return &e.Seq }},
	column[Event]{"signer", func(e *Event) any { return &e.Signer }},
	column[Event]{"slot", func(e *Event) any { return &e.Slot }},
	column[Event]{"source", func(e *Event) any { return &e.Source }},
	column[Event]{"state", func(e *Event) any { return &e.State }},
	column[Event]{"step", func(e *Event) any { return &e.Step }},
	column[Event]{"target", func(e *Event) any { return (*string)(&e.Target) }},
	column[Event]{"told", func(e *Event) any { return &e.Told }},
	column[Event]{"told_at", func(e *Event) any { return &e.ToldAt }},
	column[Event]{"url", func(e *Event) any { return &e.URL }},
	column[Event]{"v", func(e *Event) any { return &e.V }},
	column[Event]{"waiting", func(e *Event) any { return &e.Waiting }},
	column[Event]{"why", func(e *Event) any { return &e.Why }},
)

var partTable = newTable(
	column[ClaimPart]{"key", func(p *ClaimPart) any { return &p.Key }},
	column[ClaimPart]{"payload", func(p *ClaimPart) any { return &p.Payload }},
)

// Encode writes events as JSON Lines, keys sorted, times in UTC to the millisecond. It refuses an event whose fields
// are not those of its kind.
func Encode(events []Event) ([]byte, error) {
	var out []byte
	for i := range events {
		e := &events[i]
		e2 := normal(*e)
		if err := check(&e2); err != nil {
			return nil, &LineError{Line: i + 1, Err: err}
		}
		out = appendEvent(out, &e2)
		out = append(out, '\n')
	}
	return out, nil
}

func appendEvent(dst []byte, e *Event) []byte {
	return eventTable.write(dst, e, kindMasks[e.Kind].required)
}

// check validates an event that was made here, not read: its raw JSON is checked too.
func check(e *Event) error {
	if err := validate(e, presence(e)); err != nil {
		return err
	}
	if e.Handle != nil {
		if err := checkRaw(e.Handle); err != nil {
			return &FieldError{e.Kind, "handle", err.Error()}
		}
	}
	for _, p := range e.Parts {
		if err := checkRaw(p.Payload); err != nil {
			return &FieldError{e.Kind, "parts", "payload: " + err.Error()}
		}
	}
	return nil
}

// normal brings the times of e to the ledger's precision.
func normal(e Event) Event {
	for _, t := range []*time.Time{
		&e.At, &e.Due, &e.By, &e.Expires, &e.LeaseUntil, &e.Sent, &e.SentAt, &e.NotBefore, &e.Next, &e.ToldAt,
	} {
		*t = Instant(*t)
	}
	return e
}

// Decode reads JSON Lines. It refuses what Encode would not write, but for the order of keys and spaces between tokens:
// unknown kinds (*UnknownKindError), unknown, misplaced, missing or doubled fields, other versions (*VersionError), lines
// over MaxLine, values nested deeper than MaxNesting, and a last line without its end. Errors are *LineError.
func Decode(data []byte) ([]Event, error) {
	return decodeFile(data, newWords(), nil)
}

// decodeFile is Decode into the room of into.
func decodeFile(data []byte, words *words, into []Event) ([]Event, error) {
	out := slices.Grow(into[:0], bytes.Count(data, []byte{'\n'}))
	for n := 1; len(data) > 0; n++ {
		line, rest, err := cutLine(data)
		if err == nil {
			out = append(out, Event{})
			err = decodeLine(line, words, &out[len(out)-1])
		}
		if err != nil {
			return nil, &LineError{Line: n, Err: err}
		}
		data = rest
	}
	return out, nil
}

func cutLine(data []byte) (line, rest []byte, err error) {
	line, rest, ok := bytes.Cut(data, []byte{'\n'})
	switch {
	case !ok:
		return nil, nil, errors.New("the last line has no end: the file is cut off")
	case len(line) > MaxLine:
		return nil, nil, fmt.Errorf("longer than %d bytes", MaxLine)
	}
	return line, rest, nil
}

// decodeLine reads one line into e, which is zero; after an error e is undefined.
func decodeLine(line []byte, words *words, e *Event) error {
	if !utf8.Valid(line) {
		return errors.New("not valid UTF-8")
	}
	s := scanner{b: line, words: words}
	present, err := eventTable.read(&s, e)
	unknown, ok := err.(*unknownError) //nolint:errorlint // inside a nested value it is wrapped, and final
	if err != nil && !ok {
		return err
	}
	if s.space(); s.i != len(line) {
		return errSyntax
	}
	if _, ok := kindMasks[e.Kind]; !ok {
		return &UnknownKindError{Kind: clip(string(e.Kind), 64)}
	}
	if e.V != FormatVersion {
		return &VersionError{Found: strconv.Itoa(e.V)}
	}
	if unknown != nil {
		return &FieldError{e.Kind, unknown.name, "is not known"}
	}
	return validate(e, present)
}

// MarshalJSON writes e as its line.
func (e Event) MarshalJSON() ([]byte, error) {
	e = normal(e)
	if err := check(&e); err != nil {
		return nil, err
	}
	return appendEvent(nil, &e), nil
}

// UnmarshalJSON reads e as Decode does.
func (e *Event) UnmarshalJSON(b []byte) error {
	var d Event
	err := decodeLine(bytes.TrimSpace(bytes.ReplaceAll(b, []byte{'\n'}, []byte{' '})), nil, &d)
	if err == nil {
		*e = d
	}
	return err
}

var (
	_ json.Marshaler   = Event{}
	_ json.Unmarshaler = (*Event)(nil)
)
