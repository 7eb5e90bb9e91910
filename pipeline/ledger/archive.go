package ledger

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
)

// Archive files hold folded state, one record a line, each an object with one member that names its type:
//
//	{"through":{"number":42,"v":1}}      first line: the events up to this number are folded in
//	{"delivery":{...}}                   and binding, hold, credential, tip, extra
//
// archive/open.jsonl alone says up to which number the ledger is folded, and lists the month files that belong to it. A
// month file is rewritten only when it gains a delivery, so its own number may be lower. Each delivery carries the number
// of the last event file that touched it: where it is there several times, the highest wins.

type header struct {
	Number int
	V      int
	Files  []fileDigest
}

type fileDigest struct {
	Path   string
	Number int
	Digest string // SHA-256 of the file
}

type archivedDelivery struct {
	Delivery
	receipts []PartReceipt
	prepared []namedStep
}

type namedStep struct {
	Step string
	PreparedStep
}

type archivedExtra struct {
	ExtraCopy
	post, target string
}

func appendRecord[T any](dst []byte, name string, t *table[T], v *T) []byte {
	dst = append(dst, '{', '"')
	dst = append(dst, name...)
	dst = append(dst, '"', ':')
	dst = t.write(dst, v, 0)
	return append(dst, '}', '\n')
}

func appendDelivery(dst []byte, d *Delivery) []byte {
	a := archivedDelivery{Delivery: *d}
	for _, r := range d.Receipts {
		a.receipts = append(a.receipts, r)
	}
	slices.SortFunc(a.receipts, func(x, y PartReceipt) int { return cmp.Compare(x.Part, y.Part) })
	for step, p := range d.Prepared {
		a.prepared = append(a.prepared, namedStep{step, p})
	}
	slices.SortFunc(a.prepared, func(x, y namedStep) int { return cmp.Compare(x.Step, y.Step) })
	return appendRecord(dst, "delivery", deliveryTable, &a)
}

// archived is one decoded line; exactly one member is set.
type archived struct {
	through    *header
	delivery   *Delivery
	binding    *Binding
	hold       *Hold
	credential *CredentialState
	tip        *Tip
	extra      *ExtraCopy
}

func decodeArchived(line []byte, words *words) (archived, error) {
	s := scanner{b: line, words: words}
	var out archived
	if !s.take('{') {
		return out, errSyntax
	}
	name, err := s.key()
	if err != nil || !s.take(':') {
		return out, errSyntax
	}
	switch string(name) {
	case "through":
		out.through, err = readOne(&s, headerTable)
	case "delivery":
		out.delivery, err = readDelivery(&s)
	case "binding":
		out.binding, err = readOne(&s, bindingTable)
	case "hold":
		out.hold, err = readOne(&s, holdTable)
	case "credential":
		out.credential, err = readOne(&s, credentialTable)
	case "tip":
		out.tip, err = readOne(&s, tipTable)
	case "extra":
		var x *archivedExtra
		if x, err = readOne(&s, extraTable); err == nil {
			x.Delivery = pipeline.DeliveryID{Post: x.post, Target: pipeline.Target(x.target)}
			out.extra = &x.ExtraCopy
		}
	default:
		return out, &UnknownKindError{Kind: clip(string(name), 64)}
	}
	if err != nil {
		return out, err
	}
	if !s.take('}') || s.i != len(bytes.TrimRight(line, " \t\r")) {
		return out, errSyntax
	}
	return out, nil
}

func readOne[T any](s *scanner, t *table[T]) (*T, error) {
	v := new(T)
	_, err := t.read(s, v)
	return v, err
}

func readDelivery(s *scanner) (*Delivery, error) {
	var a archivedDelivery
	if _, err := deliveryTable.read(s, &a); err != nil {
		return nil, err
	}
	d := a.Delivery
	if len(a.receipts) > 0 {
		d.Receipts = make(map[int]PartReceipt, len(a.receipts))
		for _, r := range a.receipts {
			d.Receipts[r.Part] = r
		}
	}
	if len(a.prepared) > 0 {
		d.Prepared = make(map[string]PreparedStep, len(a.prepared))
		for _, p := range a.prepared {
			d.Prepared[p.Step] = p.PreparedStep
		}
	}
	if len(d.Receipts) != len(a.receipts) || len(d.Prepared) != len(a.prepared) {
		return nil, errors.New("a receipt or step is there twice")
	}
	return &d, d.sound()
}

// sound checks what holds for every delivery that a legal history leads to.
func (d *Delivery) sound() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("delivery %s (%s): "+format, append([]any{d.ID, d.State}, args...)...)
	}
	if !validPost(d.ID.Post) || !validTarget(string(d.ID.Target)) {
		return bad("bad id")
	}
	if !slices.Contains(states, d.State) {
		return bad("unknown state")
	}
	for i := range d.Attempts {
		if d.Attempts[i].Open && i < len(d.Attempts)-1 {
			return bad("an attempt before the last is open")
		}
	}
	open := d.Open()
	if (d.State == pipeline.Publishing) != (open != nil && open.Purpose == PurposePublish) {
		return bad("the open attempt and the state contradict each other")
	}
	if d.State == pipeline.Published {
		if len(d.Receipts) == 0 || (d.Parts() > 0 && len(d.Missing()) > 0) {
			return bad("a receipt is missing")
		}
	}
	if d.Touched.IsZero() || d.Changed.IsZero() || d.Number < 1 {
		return bad("it does not say when it changed")
	}
	return nil
}

var states = pipeline.States()

// monthFile is where a delivery that is settled belongs: the month of its last event.
func monthFile(touched time.Time) string {
	return "archive/" + touched.UTC().Format("2006-01") + ".jsonl"
}

const openFile = "archive/open.jsonl"
