package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// column is one JSON member of a record: its name and where its value lives.
type column[T any] struct {
	name string
	at   func(*T) any // a pointer to string, int, bool, time, raw JSON, []string, or a list type of this package
}

// table maps a struct to a JSON object, in both directions, with its keys sorted. It takes the place of reflection:
// a ledger is read whole at each run.
type table[T any] struct {
	fields []column[T]
	index  map[string]int
	slots  [256]uint8 // hash of a name to its column + 1; a taken slot is passed over
}

func newTable[T any](cols ...column[T]) *table[T] {
	t := &table[T]{fields: cols, index: make(map[string]int, len(cols))}
	for i, c := range cols {
		if i > 0 && cols[i-1].name >= c.name || i >= 64 {
			panic("ledger: columns must be sorted and at most 64: " + c.name)
		}
		t.index[c.name] = i
		h := nameHash([]byte(c.name))
		for t.slots[h] != 0 {
			h++
		}
		t.slots[h] = uint8(i + 1)
	}
	return t
}

// nameHash spreads the names of columns; it need not be good, only fast.
func nameHash(name []byte) uint8 {
	n := len(name)
	if n == 0 {
		return 0
	}
	return uint8(n&0xff)*37 + name[0]*11 + name[n-1]*5 + name[n/2]
}

// find returns the column of a name, or -1.
func (t *table[T]) find(name []byte) int {
	for h := nameHash(name); t.slots[h] != 0; h++ {
		if i := int(t.slots[h] - 1); t.fields[i].name == string(name) {
			return i
		}
	}
	return -1
}

func (t *table[T]) bits(names ...string) uint64 {
	var m uint64
	for _, n := range names {
		m |= 1 << t.index[n]
	}
	return m
}

func (t *table[T]) first(bits uint64) string {
	for i := range t.fields {
		if bits&(1<<i) != 0 {
			return t.fields[i].name
		}
	}
	return ""
}

// unknownError is a member that the table does not have.
type unknownError struct{ name string }

func (e *unknownError) Error() string { return fmt.Sprintf("field %q is not known", e.name) }

// read fills v from the object that comes next and tells which members it had. An unknown member is reported after the
// rest is read, so that an unknown kind is noticed first.
func (t *table[T]) read(s *scanner, v *T) (present uint64, err error) {
	if !s.take('{') {
		return 0, errSyntax
	}
	if s.take('}') {
		return 0, nil
	}
	var unknown error
	for {
		k, err := s.key()
		if err != nil {
			return 0, err
		}
		if !s.take(':') {
			return 0, errSyntax
		}
		i := t.find(k)
		switch {
		case i < 0:
			unknown = &unknownError{clip(string(k), 64)}
			if err := s.skip(0); err != nil {
				return 0, err
			}
		case present&(1<<i) != 0:
			return 0, fmt.Errorf("field %q: %w", t.fields[i].name, errDupKey)
		default:
			present |= 1 << i
			if err := readValue(s, t.fields[i].at(v)); err != nil {
				return 0, fmt.Errorf("field %q: %w", t.fields[i].name, err)
			}
		}
		if s.take('}') {
			return present, unknown
		}
		if !s.take(',') {
			return 0, errSyntax
		}
	}
}

func readValue(s *scanner, p any) (err error) {
	switch p := p.(type) {
	case *string:
		*p, err = s.text()
	case *int:
		*p, err = s.number()
	case *bool:
		*p, err = s.boolean()
	case *time.Time:
		*p, err = s.instant()
	case *json.RawMessage:
		*p, err = s.raw()
	case *[]string:
		err = readList(s, p, func(t *string) error { return readValue(s, t) })
	case *[]ClaimPart:
		err = readRecords(s, partTable, p)
	case *[]Attempt:
		err = readRecords(s, attemptTable, p)
	case *[]PartReceipt:
		err = readRecords(s, receiptTable, p)
	case *[]namedStep:
		err = readRecords(s, stepTable, p)
	case *[]fileDigest:
		err = readRecords(s, digestTable, p)
	case *PartReceipt:
		_, err = receiptTable.read(s, p)
	default:
		err = errors.New("unreadable type")
	}
	return err
}

func readRecords[T any](s *scanner, t *table[T], list *[]T) error {
	return readList(s, list, func(v *T) error {
		_, err := t.read(s, v)
		return err
	})
}

func readList[T any](s *scanner, list *[]T, read func(*T) error) error {
	if !s.take('[') {
		return errSyntax
	}
	*list = nil
	if s.take(']') {
		return nil
	}
	for {
		*list = append(*list, *new(T))
		if err := read(&(*list)[len(*list)-1]); err != nil {
			return err
		}
		if s.take(']') {
			return nil
		}
		if !s.take(',') {
			return errSyntax
		}
	}
}

// write appends v as an object: the members in always, and those that are not zero.
func (t *table[T]) write(dst []byte, v *T, always uint64) []byte {
	dst = append(dst, '{')
	sep := false
	for i := range t.fields {
		p := t.fields[i].at(v)
		if always&(1<<i) == 0 && isZero(p) {
			continue
		}
		if sep {
			dst = append(dst, ',')
		}
		sep = true
		dst = append(dst, '"')
		dst = append(dst, t.fields[i].name...)
		dst = append(dst, '"', ':')
		dst = writeValue(dst, p)
	}
	return append(dst, '}')
}

func writeValue(dst []byte, p any) []byte {
	switch p := p.(type) {
	case *string:
		return appendText(dst, *p)
	case *int:
		return strconv.AppendInt(dst, int64(*p), 10)
	case *bool:
		return strconv.AppendBool(dst, *p)
	case *time.Time:
		dst = append(dst, '"')
		dst = p.UTC().AppendFormat(dst, instantForm)
		return append(dst, '"')
	case *json.RawMessage:
		return append(dst, *p...)
	case *[]string:
		return writeList(dst, *p, func(dst []byte, t *string) []byte { return appendText(dst, *t) })
	case *[]ClaimPart:
		return writeRecords(dst, partTable, *p)
	case *[]Attempt:
		return writeRecords(dst, attemptTable, *p)
	case *[]PartReceipt:
		return writeRecords(dst, receiptTable, *p)
	case *[]namedStep:
		return writeRecords(dst, stepTable, *p)
	case *[]fileDigest:
		return writeRecords(dst, digestTable, *p)
	case *PartReceipt:
		return receiptTable.write(dst, p, 0)
	}
	panic(fmt.Sprintf("ledger: unwritable type %T", p))
}

func writeRecords[T any](dst []byte, t *table[T], list []T) []byte {
	return writeList(dst, list, func(dst []byte, v *T) []byte { return t.write(dst, v, 0) })
}

func writeList[T any](dst []byte, list []T, write func([]byte, *T) []byte) []byte {
	dst = append(dst, '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = write(dst, &list[i])
	}
	return append(dst, ']')
}

func isZero(p any) bool {
	switch p := p.(type) {
	case *string:
		return *p == ""
	case *int:
		return *p == 0
	case *bool:
		return !*p
	case *time.Time:
		return p.IsZero()
	case *json.RawMessage:
		return len(*p) == 0
	case *[]string:
		return len(*p) == 0
	case *[]ClaimPart:
		return len(*p) == 0
	case *[]Attempt:
		return len(*p) == 0
	case *[]PartReceipt:
		return len(*p) == 0
	case *[]namedStep:
		return len(*p) == 0
	case *[]fileDigest:
		return len(*p) == 0
	case *PartReceipt:
		return *p == PartReceipt{}
	}
	return false
}

const hexDigits = "0123456789abcdef"

// appendText writes a JSON string with only those escapes that JSON demands. s is valid UTF-8.
func appendText(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}
