package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// raw consumes any value and returns its bytes as they stand.
func (s *scanner) raw() (json.RawMessage, error) {
	s.space()
	start := s.i
	if err := s.skip(0); err != nil {
		return nil, err
	}
	return json.RawMessage(bytes.Clone(s.b[start:s.i])), nil
}

// skip consumes any value. It leaves a clone to the caller.
func (s *scanner) skip(depth int) error {
	if depth > MaxNesting {
		return errDeep
	}
	s.space()
	if s.i >= len(s.b) {
		return errSyntax
	}
	switch c := s.b[s.i]; c {
	case '{':
		return s.skipObject(depth)
	case '[':
		s.i++
		if s.take(']') {
			return nil
		}
		for {
			if err := s.skip(depth + 1); err != nil {
				return err
			}
			if s.take(']') {
				return nil
			}
			if !s.take(',') {
				return errSyntax
			}
		}
	case '"':
		in, escaped, err := s.literal()
		if err == nil && escaped {
			_, err = unescape(in)
		}
		return err
	default:
		return s.skipScalar()
	}
}

func (s *scanner) skipObject(depth int) error {
	s.i++
	if s.take('}') {
		return nil
	}
	// Canonical JSON has its keys in order, so that comparing with the one before finds a double; the set is for the rest.
	var last []byte
	var seen map[string]bool
	var before [][]byte
	for first := true; ; first = false {
		k, err := s.key()
		if err != nil {
			return err
		}
		switch {
		case seen != nil:
			if seen[string(k)] {
				return errDupKey
			}
			seen[string(k)] = true
		case first || bytes.Compare(last, k) < 0:
			before = append(before, k)
		default:
			seen = make(map[string]bool, len(before)+8)
			for _, b := range before {
				seen[string(b)] = true
			}
			if seen[string(k)] {
				return errDupKey
			}
			seen[string(k)] = true
		}
		last = k
		if !s.take(':') {
			return errSyntax
		}
		if err := s.skip(depth + 1); err != nil {
			return err
		}
		if s.take('}') {
			return nil
		}
		if !s.take(',') {
			return errSyntax
		}
	}
}

func (s *scanner) skipScalar() error {
	start := s.i
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ',', ']', '}', ' ', '\t', '\r', ':', '"', '{', '[':
		default:
			s.i++
			continue
		}
		break
	}
	if !json.Valid(s.b[start:s.i]) {
		return errSyntax
	}
	return nil
}

// checkRaw tells whether raw is one JSON value that can stand inside a line: compact enough to hold no line break, not
// nested too deeply, without doubled keys.
func checkRaw(raw []byte) error {
	if bytes.IndexByte(raw, '\n') >= 0 {
		return errors.New("holds a line break")
	}
	if !utf8.Valid(raw) {
		return errSyntax
	}
	s := scanner{b: raw}
	if s.space(); s.i > 0 {
		return errors.New("begins with a space")
	}
	if err := s.skip(0); err != nil {
		return err
	}
	if s.i != len(raw) {
		return errSyntax
	}
	return nil
}
