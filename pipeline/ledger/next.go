package ledger

import (
	"errors"
	"fmt"
	"time"
)

// NextFile makes the file of the next commit: events, which must be legal one after the other from s, and a tip at the end
// (one is made from the last tip and NextWake where events has none). It returns the state that the file leads to;
// s stays as it is. at names the folder; token is random, 8 to 64 lower-case letters and digits.
func NextFile(s *State, events []Event, at time.Time, token string) (path string, data []byte, next *State, err error) {
	switch {
	case len(events) == 0:
		return "", nil, nil, errors.New("ledger: no events to write")
	case !validToken(token):
		return "", nil, nil, errors.New("ledger: the token must be 8 to 64 lower-case letters and digits")
	case s.Number >= maxNumber:
		return "", nil, nil, errors.New("ledger: no number is left for another file")
	}
	next = s.Fork()
	next.Number++
	for i, e := range events {
		if err := next.Apply(e); err != nil {
			return "", nil, nil, fmt.Errorf("event %d of %d: %w", i+1, len(events), err)
		}
	}
	if last := events[len(events)-1]; last.Kind != TipEv {
		st := Stamp{At: last.At, Run: last.Run}
		tip, err := next.TipEvent(st, TipInput{Next: next.NextWake(last.At)})
		if err != nil {
			return "", nil, nil, err
		}
		if err := next.Apply(tip); err != nil {
			return "", nil, nil, err
		}
		events = append(events[:len(events):len(events)], tip)
	}
	if err := checkTipLast(events); err != nil {
		return "", nil, nil, err
	}
	if data, err = Encode(events); err != nil {
		return "", nil, nil, err
	}
	return EventPath(next.Number, at, token), data, next, nil
}
