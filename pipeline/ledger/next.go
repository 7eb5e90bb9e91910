package ledger

import (
	"errors"
	"fmt"
	"time"
)

// NextFile makes the file of the next commit: events, which must be legal one after the other from s, and a tip at the
// end. Tips among events become that one, the last of them counting; where there is none it is made from the tip before.
// Its Next is never later than NextWake. next is the state that the file leads to; s stays as it is. at names the folder;
// token is random, 8 to 64 lower-case letters and digits.
func NextFile(s *State, events []Event, at time.Time, token string) (path string, data []byte, next *State, err error) {
	switch {
	case len(events) == 0:
		return "", nil, nil, errors.New("ledger: no events to write")
	case !validToken(token):
		return "", nil, nil, errors.New("ledger: the token must be 8 to 64 lower-case letters and digits")
	case s.Number >= maxNumber:
		return "", nil, nil, errors.New("ledger: no number is left for another file")
	}
	if s.ahead > 0 {
		return "", nil, nil, fmt.Errorf("ledger: the state is %d events ahead of its files: the file would repeat them", s.ahead)
	}
	next = s.Fork()
	next.Number++
	last := events[len(events)-1]
	tip := Event{Kind: TipEv, Content: s.Tip.Content, Config: s.Tip.Config, Told: s.Tip.Told}
	out := make([]Event, 0, len(events)+1)
	for i, e := range events {
		if e.Kind == TipEv {
			tip = e
			continue
		}
		if err := next.Apply(e); err != nil {
			return "", nil, nil, fmt.Errorf("event %d of %d: %w", i+1, len(events), err)
		}
		out = append(out, e)
	}
	if wake := next.NextWake(last.At); tip.Next.IsZero() || (!wake.IsZero() && wake.Before(tip.Next)) {
		tip.Next = wake
	}
	if tip, err = next.make(Stamp{At: last.At, Run: last.Run}, tip); err != nil {
		return "", nil, nil, err
	}
	if err := next.Apply(tip); err != nil {
		return "", nil, nil, err
	}
	if data, err = Encode(append(out, tip)); err != nil {
		return "", nil, nil, err
	}
	next.ahead = 0
	return EventPath(next.Number, at, token), data, next, nil
}
