package ledger

import (
	"math/bits"
	"strconv"
	"time"
	"unicode/utf8"
)

// Field describes one field of the events of a kind.
type Field struct {
	Name     string
	Required bool
}

// kindFields says which fields an event of each kind must and may have, beside v, kind, at and run. The order is that of
// DESIGN, for people; the codec sorts.
var kindFields = map[Kind]struct{ required, optional []string }{
	Bound:      {[]string{"ledger", "home_url", "content_branch", "actor", "why"}, []string{"repo_id", "signer"}},
	Scheduled:  {[]string{"post", "target", "dest", "due", "by", "path", "config", "source"}, []string{"slot", "login", "blob"}},
	Prepared:   {[]string{"post", "target", "dest", "step", "state"}, []string{"lease_until", "handle", "expires"}},
	Claimed:    {[]string{"post", "target", "dest", "attempt", "gen", "lease_until", "content", "source", "rendition", "parts", "purpose"}, []string{"evidence", "login", "sent"}},
	Renewed:    {[]string{"post", "target", "dest", "attempt", "lease_until"}, nil},
	Receipt:    {[]string{"post", "target", "dest", "part", "by_whom"}, []string{"attempt", "id", "url", "ref", "sent_at"}},
	Ended:      {[]string{"post", "target", "dest", "state", "reason", "gen", "by_whom"}, []string{"attempt", "not_before", "detail"}},
	AdoptedEv:  {[]string{"post", "target", "dest", "reason"}, nil},
	Held:       {[]string{"hold", "scope", "reason"}, []string{"login", "detail"}},
	Released:   {[]string{"hold", "scope", "reason"}, []string{"login", "detail"}},
	Refreshing: {[]string{"login", "seq", "lease_until"}, nil},
	Refreshed:  {[]string{"login", "seq", "file", "digest"}, nil},
	TipEv:      {[]string{"finished"}, []string{"content", "config", "next", "told", "told_at", "chain", "waiting"}},
}

// Kinds lists all kinds that this binary knows.
func Kinds() []Kind {
	return []Kind{
		Bound, Scheduled, Prepared, Claimed, Renewed, Receipt, Ended, AdoptedEv, Held, Released, Refreshing, Refreshed, TipEv,
	}
}

// Fields lists the fields that events of kind k have, v, kind, at and run included; nil for an unknown kind.
func Fields(k Kind) []Field {
	kf, ok := kindFields[k]
	if !ok {
		return nil
	}
	out := []Field{{"v", true}, {"kind", true}, {"at", true}, {"run", true}}
	for _, n := range kf.required {
		out = append(out, Field{n, true})
	}
	for _, n := range kf.optional {
		out = append(out, Field{n, false})
	}
	return out
}

// kindForms are the forms of fields that mean another thing in each kind.
var kindForms = map[Kind]map[string]form{
	Prepared: {"state": oneOf("begun", "done")},
	Receipt:  {"by_whom": oneOf(ByResponse, ByFinder, ByPerson, ByAdopt)},
	Ended: {
		"state":   oneOf("queued", "failed", "uncertain", "canceled", "edited", "retracted"),
		"by_whom": oneOf(ByResponse, ByFinder, ByKey, ByRun, ByPerson),
	},
}

// forms gives every text field its form, where kindForms has none.
var forms = map[string]form{
	"kind": {max: 32, valid: func(s string) bool { _, ok := kindFields[Kind(s)]; return ok }},
	"run":  runName, "post": postID, "target": targetForm, "dest": freeText,
	"ledger": hex32, "home_url": freeText, "repo_id": freeText, "content_branch": freeText, "actor": freeText,
	"why": oneOf(WhyInit, WhyMove, WhyRestore), "signer": freeText,
	"slot": freeText, "path": freeText, "blob": objectID, "config": hex64, "source": hex64,
	"step": freeText, "state": freeText,
	"attempt": hex16, "content": objectID, "rendition": hex64,
	"purpose": oneOf(PurposePublish, PurposeEdit, PurposeRetract), "evidence": freeText, "login": networkID,
	"id": networkID, "url": longText, "ref": freeText,
	"by_whom": freeText,
	"reason":  reasonForm, "detail": longText, "hold": holdID, "scope": scopeForm,
	"file": credFile, "digest": hex64, "chain": freeText,
}

var hex32 = form{pattern: `^[0-9a-f]{32}$`, max: 32, valid: hexOf(32)}

// Why a ledger was bound.
const (
	WhyInit    = "init"
	WhyMove    = "move"
	WhyRestore = "restore"
)

// What an attempt is for.
const (
	PurposePublish = "publish"
	PurposeEdit    = "edit"
	PurposeRetract = "retract"
)

// Who knows it.
const (
	ByResponse = "response" // the network's answer to the call
	ByFinder   = "finder"   // a search on the network
	ByKey      = "key"      // an idempotency key that makes repetition harmless
	ByRun      = "run"      // the run itself, without asking the network
	ByPerson   = "person"
	ByAdopt    = "adopt"
)

// maxCount bounds the numbers of an event: parts, generations, sequence numbers.
const maxCount = 1_000_000

// masks holds the required and allowed fields of a kind as bits of eventTable, and the form of each text field.
type masks struct {
	required, allowed uint64
	forms             []*form
}

var kindMasks = makeMasks()

func makeForms(k Kind) []*form {
	out := make([]*form, len(eventTable.fields))
	for i, c := range eventTable.fields {
		if f, ok := kindForms[k][c.name]; ok {
			out[i] = &f
		} else if f, ok := forms[c.name]; ok {
			out[i] = &f
		} else if _, text := c.at(&Event{}).(*string); text {
			panic("ledger: text field without a form: " + c.name)
		}
	}
	return out
}

func makeMasks() map[Kind]masks {
	out := make(map[Kind]masks, len(kindFields))
	for _, k := range Kinds() {
		m := masks{forms: makeForms(k)}
		for _, f := range Fields(k) {
			bit := uint64(1) << eventTable.index[f.Name]
			m.allowed |= bit
			if f.Required {
				m.required |= bit
			}
		}
		out[k] = m
	}
	return out
}

// validate checks that e has exactly the fields of its kind, each in its form. present has the bits of the fields that
// were written; for an event that was not read it is presence(e).
func validate(e *Event, present uint64) error {
	m, ok := kindMasks[e.Kind]
	if !ok {
		return &UnknownKindError{Kind: string(e.Kind)}
	}
	if e.V != FormatVersion {
		return &VersionError{Found: strconv.Itoa(e.V)}
	}
	if odd := present &^ m.allowed; odd != 0 {
		return &FieldError{e.Kind, eventTable.first(odd), "does not belong to this kind"}
	}
	for left := present; left != 0; left &= left - 1 {
		i := bits.TrailingZeros64(left)
		f := &eventTable.fields[i]
		p := f.at(e)
		// What is empty is left out, so that each event has one form only.
		if isZero(p) && zeroable&m.required&(1<<i) == 0 {
			return &FieldError{e.Kind, f.name, "is empty"}
		}
		if why := checkForm(m.forms[i], p); why != "" {
			return &FieldError{e.Kind, f.name, why}
		}
	}
	if missing := m.required &^ present; missing != 0 {
		return &FieldError{e.Kind, eventTable.first(missing), "is missing"}
	}
	return checkParts(e)
}

// checkForm says what is wrong with the value at p; "" for nothing.
func checkForm(f *form, p any) string {
	switch v := p.(type) {
	case *string:
		switch {
		case len(*v) > f.max:
			return "is too long"
		case !f.valid(*v):
			return "has the wrong form: " + strconv.Quote(clip(*v, 80))
		}
	case *int:
		if *v < 0 || *v > maxCount {
			return "is out of range"
		}
	case *time.Time:
		if !validInstant(*v) {
			return "is not a time between 1970 and 9999"
		}
	case *[]string:
		for _, t := range *v {
			if t == "" || len(t) > 128 || !plain(t) {
				return "holds a bad entry"
			}
		}
	}
	return ""
}

func checkParts(e *Event) error {
	parts := e.Parts
	if e.Kind == Claimed && len(parts) == 0 && e.Purpose != PurposeRetract {
		return &FieldError{e.Kind, "parts", "is empty"}
	}
	if len(parts) > 1000 {
		return &FieldError{e.Kind, "parts", "has more than 1000 parts"}
	}
	for i, p := range parts {
		if p.Key != "" && !printable(p.Key) {
			return &FieldError{e.Kind, "parts", "holds a key that is not printable ASCII"}
		}
		for _, q := range parts[:i] {
			if p.Key != "" && p.Key == q.Key {
				return &FieldError{e.Kind, "parts", "holds a key twice"}
			}
		}
		if len(p.Payload) == 0 {
			return &FieldError{e.Kind, "parts", "holds a part without payload"}
		}
	}
	return nil
}

// presence has a bit for each field of e that is not zero, and for those that its kind requires and that may be zero.
func presence(e *Event) uint64 {
	var m uint64
	for i := range eventTable.fields {
		if !isZero(eventTable.fields[i].at(e)) {
			m |= 1 << i
		}
	}
	return m | kindMasks[e.Kind].required&zeroable
}

// zeroable are the fields whose zero is a value: a first part, a first generation, an unfinished run.
var zeroable = eventTable.bits("part", "gen", "finished", "parts", "v", "seq")

// clip cuts s to at most n bytes, at a character, and shows that it did.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}
