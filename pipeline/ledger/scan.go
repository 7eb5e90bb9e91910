package ledger

import (
	"bytes"
	"errors"
	"hash/maphash"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// Bounds of what is decoded.
const (
	MaxLine    = 16 << 20 // bytes of one line
	MaxNesting = 64       // of a payload or handle
)

var (
	errSyntax  = errors.New("not valid JSON")
	errDupKey  = errors.New("a key is there twice")
	errDeep    = errors.New("nested too deeply")
	errInstant = errors.New("not a time of the form 2006-01-02T15:04:05.000Z")
	errNumber  = errors.New("not a whole number from 0")
)

// scanner reads JSON values from one line. It is stricter than encoding/json: UTF-8 must be valid, surrogates paired,
// keys unique, times and numbers in one form.
type scanner struct {
	b []byte
	i int
	// words holds strings that come again and again, so that each is allocated once.
	words *words
}

// words remembers strings lately read. Most of a ledger's strings come again and again (targets, runs, kinds), so that
// each then is allocated once; the others only pass through.
type words struct {
	seed  maphash.Seed
	slots [1024]string
}

func newWords() *words { return &words{seed: maphash.MakeSeed()} }

func (w *words) of(in []byte) string {
	if w == nil || len(in) > 128 {
		return string(in)
	}
	slot := &w.slots[maphash.Bytes(w.seed, in)%uint64(len(w.slots))]
	if *slot != string(in) {
		*slot = string(in)
	}
	return *slot
}

func (s *scanner) space() {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\t' || s.b[s.i] == '\r') {
		s.i++
	}
}

// take skips spaces and consumes c if it is next.
func (s *scanner) take(c byte) bool {
	s.space()
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

// literal consumes a string token and returns what stands between the quotes, and whether it holds escapes.
func (s *scanner) literal() (in []byte, escaped bool, err error) {
	if !s.take('"') {
		return nil, false, errSyntax
	}
	b, start, i := s.b, s.i, s.i
	for i < len(b) {
		if inText[b[i]] {
			i++
			continue
		}
		switch b[i] {
		case '"':
			s.i = i + 1
			return b[start:i], escaped, nil
		case '\\':
			escaped = true
			i += 2
		default:
			return nil, false, errSyntax
		}
	}
	return nil, false, errSyntax
}

// inText tells which bytes stand for themselves in a string token.
var inText = func() (t [256]bool) {
	for i := range t {
		t[i] = i >= 0x20 && i != '"' && i != '\\'
	}
	return t
}()

// key consumes a string token that is compared with names only.
func (s *scanner) key() ([]byte, error) {
	in, escaped, err := s.literal()
	if err != nil || !escaped {
		return in, err
	}
	return unescape(in)
}

// text consumes a string token.
func (s *scanner) text() (string, error) {
	in, escaped, err := s.literal()
	if err != nil {
		return "", err
	}
	if escaped {
		if in, err = unescape(in); err != nil {
			return "", err
		}
	}
	return s.words.of(in), nil
}

func unescape(in []byte) ([]byte, error) {
	out := make([]byte, 0, len(in))
	for i := 0; i < len(in); i++ {
		if in[i] != '\\' {
			out = append(out, in[i])
			continue
		}
		i++
		if i >= len(in) {
			return nil, errSyntax
		}
		switch in[i] {
		case '"', '\\', '/':
			out = append(out, in[i])
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, ok := hexRune(in, i+1)
			if !ok {
				return nil, errSyntax
			}
			i += 4
			if utf16.IsSurrogate(r) {
				low, ok := hexRune(in, i+3)
				if !ok || in[i+1] != '\\' || in[i+2] != 'u' {
					return nil, errSyntax
				}
				if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
					return nil, errSyntax
				}
				i += 6
			}
			out = utf8.AppendRune(out, r)
		default:
			return nil, errSyntax
		}
	}
	return out, nil
}

func hexRune(in []byte, at int) (rune, bool) {
	if at+4 > len(in) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(in[at:at+4]), 16, 16)
	return rune(n), err == nil
}

func (s *scanner) number() (int, error) {
	s.space()
	start := s.i
	for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
		s.i++
	}
	in := s.b[start:s.i]
	if len(in) == 0 || len(in) > 9 || (in[0] == '0' && len(in) > 1) {
		return 0, errNumber
	}
	n := 0
	for _, c := range in {
		n = n*10 + int(c-'0')
	}
	return n, nil
}

func (s *scanner) boolean() (bool, error) {
	s.space()
	switch rest := s.b[s.i:]; {
	case bytes.HasPrefix(rest, []byte("true")):
		s.i += 4
		return true, nil
	case bytes.HasPrefix(rest, []byte("false")):
		s.i += 5
		return false, nil
	}
	return false, errSyntax
}

func (s *scanner) instant() (time.Time, error) {
	in, _, err := s.literal()
	if err != nil {
		return time.Time{}, err
	}
	t, ok := parseInstant(in)
	if !ok {
		return t, errInstant
	}
	return t, nil
}
