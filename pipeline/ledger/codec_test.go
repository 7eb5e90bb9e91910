package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// fullEvent is an event of kind k with every field that the kind has, and bareEvent one with what it must have.
func fullEvent(k Kind) Event {
	e := Event{
		V: 1, Kind: k, At: min0(1).Add(7 * time.Millisecond), Run: "run-a", Post: "launch-1-0", Target: blue, Dest: "blüe \"sky\"",
		Ledger: hexN("l", 32), HomeURL: "https://example.com/home.git", RepoID: "R_1", ContentBranch: "main", Actor: "ada",
		Why: WhyInit, Signer: "ssh-ed25519 AAAA", Due: min0(2), By: min0(3), Slot: "Mon 09:00", Path: "posts/a.md",
		Blob: hexN("b", 40), Config: hexN("c", 64), Source: hexN("s", 64), Step: "upload 1", State: "queued",
		Handle: json.RawMessage(`{"id":"m","n":[1,2.5e3,null,true]}`), Expires: min0(4), Attempt: hexN("a", 16), Gen: 2,
		LeaseUntil: min0(5), Content: hexN("k", 40), Rendition: hexN("r", 64), Parts: claimParts(2, "a"),
		Purpose: PurposePublish, Evidence: "seen", Login: "login-1", Sent: min0(1), Part: 1, ID: "3k:x/y",
		URL: "https://example.com/p", Ref: "cid", SentAt: min0(1), ByWhom: ByResponse, Reason: "throttled",
		Detail: "wait \\ \u2028 \U0001F600", NotBefore: min0(9), Hold: "h-1", Scope: ScopeAll, Seq: 3,
		File: "credentials/x.age", Digest: hexN("d", 64), Next: min0(10), Finished: true, Told: []string{"aa", "bb"},
		ToldAt: min0(1), Chain: "chain", Waiting: 4,
	}
	if k == Prepared {
		e.State = "done"
	}
	keep := uint64(0)
	for _, f := range Fields(k) {
		keep |= eventTable.bits(f.Name)
	}
	return strip(e, keep)
}

func bareEvent(k Kind) Event {
	keep := uint64(0)
	for _, f := range Fields(k) {
		if f.Required {
			keep |= eventTable.bits(f.Name)
		}
	}
	return strip(fullEvent(k), keep)
}

// strip empties the fields that are not in keep.
func strip(e Event, keep uint64) Event {
	for i, f := range eventTable.fields {
		if keep&(1<<i) != 0 {
			continue
		}
		switch p := f.at(&e).(type) {
		case *string:
			*p = ""
		case *int:
			*p = 0
		case *bool:
			*p = false
		case *time.Time:
			*p = time.Time{}
		case *json.RawMessage:
			*p = nil
		case *[]string:
			*p = nil
		case *[]ClaimPart:
			*p = nil
		}
	}
	return e
}

func TestEventsSurviveTheCodec(t *testing.T) {
	t.Parallel()
	var events []Event
	for _, k := range Kinds() {
		events = append(events, fullEvent(k), bareEvent(k))
	}
	data, err := Encode(events)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(events, back, cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
	again, err := Encode(back)
	if err != nil || !bytes.Equal(data, again) {
		t.Errorf("the second encoding differs: %v", err)
	}
	for i, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
		var m map[string]json.RawMessage
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("encoding/json cannot read line %d: %v", i, err)
		}
		keys := regexp.MustCompile(`[{,]"([a-z_]+)":`).FindAllStringSubmatch(topLevel(line), -1)
		var names []string
		for _, k := range keys {
			names = append(names, k[1])
		}
		if !slices.IsSorted(names) || len(names) != len(m) {
			t.Errorf("line %d: keys %v are not sorted", i, names)
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Errorf("line %d: %v", i, err)
		}
		if out, err := json.Marshal(e); err != nil || !json.Valid(out) {
			t.Errorf("line %d: %v", i, err)
		}
	}
}

// topLevel empties nested objects and lists of a line.
func topLevel(line []byte) string {
	var out []byte
	depth, inText := 0, false
	for i := 0; i < len(line); i++ {
		c := line[i]
		if inText {
			if depth <= 1 {
				out = append(out, c)
			}
			switch c {
			case '\\':
				i++
			case '"':
				inText = false
			}
			continue
		}
		if c == '}' || c == ']' {
			depth--
		}
		if depth <= 1 && (c != '{' && c != '[' || depth == 0) {
			out = append(out, c)
		}
		if c == '{' || c == '[' {
			depth++
		}
		inText = c == '"'
	}
	return string(out)
}

func TestEventStructHasExactlyTheTablesFields(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, k := range Kinds() {
		for _, f := range Fields(k) {
			if used[f.Name] = true; !slices.ContainsFunc(eventTable.fields, func(c column[Event]) bool { return c.name == f.Name }) {
				t.Errorf("%s: field %s is not in the codec", k, f.Name)
			}
		}
	}
	for _, c := range eventTable.fields {
		if !used[c.name] {
			t.Errorf("no kind has field %s", c.name)
		}
		if _, text := c.at(&Event{}).(*string); text && forms[c.name].valid == nil {
			t.Errorf("text field %s has no form", c.name)
		}
	}
	for name := range forms {
		if _, ok := eventTable.index[name]; !ok {
			t.Errorf("form of an unknown field %s", name)
		}
	}
	if len(Kinds()) != len(kindFields) || len(Kinds()) != len(rules) {
		t.Error("the tables of kinds differ")
	}
}

// line is a legal line to spoil in tests.
func line(k Kind) string {
	data, err := Encode([]Event{bareEvent(k)})
	if err != nil {
		panic(err)
	}
	return string(data)
}

func TestDecodeRefusesWhatEncodeWouldNotWrite(t *testing.T) {
	t.Parallel()
	held := line(Held)
	tests := []struct{ name, line, want string }{
		{"no end of line", strings.TrimSuffix(held, "\n"), "cut off"},
		{"empty line", "\n", "not valid JSON"},
		{"not an object", "[]\n", "not valid JSON"},
		{"two objects", strings.TrimSuffix(held, "\n") + held, "not valid JSON"},
		{"doubled key", strings.Replace(held, `{"at"`, `{"run":"x","at"`, 1), "twice"},
		{"escaped doubled key", strings.Replace(held, `{"at"`, `{"\u0072un":"x","at"`, 1), "twice"},
		{"unknown field", strings.Replace(held, `{"at"`, `{"aa":1,"at"`, 1), `field "aa": is not known`},
		{"misplaced field", strings.Replace(held, `{"at"`, `{"attempt":"`+hexN("a", 16)+`","at"`, 1), "does not belong"},
		{"missing field", strings.Replace(held, `"scope":"all",`, ``, 1), `"scope": is missing`},
		{"empty field", strings.Replace(held, `"scope":"all"`, `"scope":""`, 1), "empty"},
		{"wrong form", strings.Replace(held, `"scope":"all"`, `"scope":"some"`, 1), "wrong form"},
		{"unknown kind", strings.Replace(held, `"kind":"held"`, `"kind":"mystery"`, 1), "newer broadside"},
		{"unknown kind with new fields", `{"kind":"mystery","new":{}}` + "\n", "newer broadside"},
		{"newer version", strings.Replace(held, `"v":1`, `"v":2`, 1), "newer broadside"},
		{"time with offset", regexp.MustCompile(`"at":"[^"]*"`).ReplaceAllString(held, `"at":"2026-12-03T09:00:00+01:00"`), "not a time"},
		{"time without milliseconds", regexp.MustCompile(`"at":"[^"]*"`).ReplaceAllString(held, `"at":"2026-12-03T09:00:00Z"`), "not a time"},
		{"30 February", regexp.MustCompile(`"at":"[^"]*"`).ReplaceAllString(held, `"at":"2026-02-30T09:00:00.000Z"`), "not a time"},
		{"zero time", regexp.MustCompile(`"at":"[^"]*"`).ReplaceAllString(held, `"at":"0001-01-01T00:00:00.000Z"`), "not a time"},
		{"float", strings.Replace(held, `"v":1`, `"v":1.0`, 1), "not valid JSON"},
		{"leading zero", strings.Replace(held, `"v":1`, `"v":01`, 1), "whole number"},
		{"negative", strings.Replace(held, `"v":1`, `"v":-1`, 1), "whole number"},
		{"bad UTF-8", strings.Replace(held, `"run":"`, `"run":"`+"\xff", 1), "UTF-8"},
		{"lone surrogate", strings.Replace(held, `"run":"`, `"run":"\ud800`, 1), "not valid JSON"},
		{"bad escape", strings.Replace(held, `"run":"`, `"run":"\x`, 1), "not valid JSON"},
		{"raw control character", strings.Replace(held, `"run":"`, `"run":"`+"\x01", 1), "not valid JSON"},
		{"escaped control character", strings.Replace(held, `"run":"`, `"run":"\n`, 1), "wrong form"},
		{"deep payload", strings.Replace(line(Claimed), `"payload":{`, `"payload":{"deep":`+strings.Repeat("[", 99)+strings.Repeat("]", 99)+`,`, 1), "too deeply"},
		{"doubled key in a payload", strings.Replace(line(Claimed), `"payload":{`, `"payload":{"text":1,`, 1), "twice"},
		{"doubled key in an unsorted payload", strings.Replace(line(Claimed), `"payload":{`, `"payload":{"z":1,"text":2,`, 1), "twice"},
		{"unknown field in a part", strings.Replace(line(Claimed), `"payload":{`, `"odd":1,"payload":{`, 1), "not known"},
		{"huge line", `{"detail":"` + strings.Repeat("x", MaxLine) + "\"}\n", "longer than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Decode([]byte(line(TipEv) + tt.line))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want one with %q", err, tt.want)
			}
			var le *LineError
			if !errors.As(err, &le) || le.Line != 2 {
				t.Errorf("the error does not name line 2: %v", err)
			}
		})
	}
}

func TestDecodeTellsUnknownKindsAndVersionsByType(t *testing.T) {
	t.Parallel()
	_, err := Decode([]byte(`{"kind":"mystery","new":1,"v":1}` + "\n"))
	var uk *UnknownKindError
	if !errors.As(err, &uk) || uk.Kind != "mystery" {
		t.Errorf("%v", err)
	}
	_, err = Decode([]byte(strings.Replace(line(Held), `"v":1`, `"v":7`, 1)))
	var ve *VersionError
	if !errors.As(err, &ve) || ve.Found != "7" {
		t.Errorf("%v", err)
	}
}

func TestDecodeAcceptsAnyOrderAndSpaces(t *testing.T) {
	t.Parallel()
	in := `{ "v" : 1, "scope":"all" ,"run":"r\u0075n" , "reason":"person","kind":"held","hold":"h","at":"2026-12-03T09:00:00.000Z"}` + "\r\n"
	got, err := Decode([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	want := Event{V: 1, Kind: Held, At: t0, Run: "run", Hold: "h", Scope: ScopeAll, Reason: "person"}
	if d := cmp.Diff([]Event{want}, got); d != "" {
		t.Error(d)
	}
}

func TestEncodeRefusesBadEvents(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		spoil func(*Event)
		kind  Kind
	}{
		{"misplaced field", func(e *Event) { e.Chain = "x" }, Held},
		{"missing field", func(e *Event) { e.Scope = "" }, Held},
		{"unknown kind", func(e *Event) { e.Kind = "mystery" }, Held},
		{"line break in a payload", func(e *Event) { e.Parts = []ClaimPart{{Key: "k", Payload: json.RawMessage("{\n}")}} }, Claimed},
		{"payload that is no JSON", func(e *Event) { e.Parts = []ClaimPart{{Key: "k", Payload: json.RawMessage("{")}} }, Claimed},
		{"no parts", func(e *Event) { e.Parts = nil }, Claimed},
		{"doubled part key", func(e *Event) { e.Parts[1].Key = e.Parts[0].Key }, Claimed},
		{"empty payload", func(e *Event) { e.Parts[1].Payload = nil }, Claimed},
		{"bad target", func(e *Event) { e.Target = "bluesky" }, Claimed},
		{"negative part", func(e *Event) { e.Part = -1 }, Receipt},
		{"id with a space", func(e *Event) { e.ID = "a b" }, Receipt},
	}
	for _, tt := range tests {
		e := fullEvent(tt.kind)
		tt.spoil(&e)
		if _, err := Encode([]Event{e}); err == nil {
			t.Errorf("%s: accepted", tt.name)
		}
	}
}

func TestTimesAreKeptToTheMillisecondInUTC(t *testing.T) {
	t.Parallel()
	e := bareEvent(Held)
	e.At = time.Date(2026, 12, 3, 10, 0, 0, 123_999_999, time.FixedZone("CET", 3600))
	data, err := Encode([]Event{e})
	if err != nil || !strings.Contains(string(data), `"at":"2026-12-03T09:00:00.123Z"`) {
		t.Errorf("%s %v", data, err)
	}
}

func TestFormsAgreeWithTheirPatterns(t *testing.T) {
	t.Parallel()
	samples := []string{
		"", "a", "-", "a-b", "A", "0", strings.Repeat("a", 64), strings.Repeat("a", 65), strings.Repeat("0", 16),
		strings.Repeat("f", 40), strings.Repeat("f", 64), strings.Repeat("g", 64), strings.Repeat("F", 40), "ü", "a b", "a:b",
		"a:b:c", "a::c", "a:b:", ":b:c", "mastodon:127.0.0.1:8080:42", "x:[::1]:1", "x:h:80:", "x:h:" + strings.Repeat("i", 512),
		"x:h:" + strings.Repeat("i", 513), "x:h:8080:" + strings.Repeat("i", 512), "x:h:123456:" + strings.Repeat("i", 512),
		"x:h:80:" + strings.Repeat("i", 513), "bluesky:bsky.social:did:plc:abc", "X:h:i", "x:h_:i", "all", "post:a", "post:A", "target:a:b:c",
		"login:x", "login:", "all:x", "credentials/x.age", "credentials/", "credentials", "a_b", "a\nb", "\x7f", "é",
	}
	for name, f := range forms {
		if f.pattern == "" {
			continue
		}
		re := regexp.MustCompile(f.pattern)
		for _, s := range samples {
			got, want := f.valid(s), re.MatchString(s)
			if name == "scope" && strings.HasPrefix(s, "target:") {
				want = want && pipeline.Target(strings.TrimPrefix(s, "target:")).Valid()
			}
			if got != want {
				t.Errorf("%s: %q is valid: %v, the pattern says %v", name, s, got, want)
			}
		}
	}
}

func FuzzFormsAgreeWithTheDomain(f *testing.F) {
	for _, s := range []string{"", "launch-1-0", "bluesky:bsky.social:did:plc:abc", "x:h:8080:i", "x::i", "-a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := validPost(s), pipeline.ValidPostID(s); got != want {
			t.Errorf("post %q: %v, want %v", s, got, want)
		}
		if got, want := validTarget(s), pipeline.Target(s).Valid(); got != want {
			t.Errorf("target %q: %v, want %v", s, got, want)
		}
		if _, err := pipeline.ParseReason(s); (err == nil) != validReason(s) {
			t.Errorf("reason %q: %v", s, err)
		}
	})
}

// What Decode accepts, Encode writes in one form, which decodes to the same events; and encoding/json can read it.
func FuzzDecode(f *testing.F) {
	for _, k := range Kinds() {
		full, err := Encode([]Event{fullEvent(k), bareEvent(k)})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(full)
	}
	f.Add([]byte(`{"v":1,"told":["\u00e9\ud83d\ude00"],"finished":false,"kind":"tip","run":"r","at":"2026-12-03T09:00:00.000Z"}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		events, err := Decode(data)
		if err != nil {
			var le *LineError
			if !errors.As(err, &le) || le.Line < 1 {
				t.Fatalf("error without a line: %v", err)
			}
			return
		}
		out, err := Encode(events)
		if err != nil {
			t.Fatalf("decoded, but cannot be encoded: %v", err)
		}
		back, err := Decode(out)
		if err != nil {
			t.Fatalf("encoded, but cannot be decoded: %v\n%s", err, out)
		}
		if d := cmp.Diff(events, back, cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
		for l := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte("\n")), []byte("\n")) {
			if len(out) > 0 && !json.Valid(l) {
				t.Fatalf("not JSON: %s", l)
			}
		}
	})
}

func FuzzDecodeArchived(f *testing.F) {
	w := &world{b: New().Batch()}
	w.t = &testing.T{}
	w.do(w.s().Bind(stampAt(0, "person:ada"), binding(), "ada", WhyInit))
	situation("queued_half")(w)
	d := *w.s().Deliveries[id1]
	d.Number = 3
	f.Add(bytes.TrimSpace(appendDelivery(nil, &d)))
	f.Add([]byte(`{"through":{"files":[{"digest":"x","number":1,"path":"archive/2026-01.jsonl"}],"number":3,"v":1}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		a, err := decodeArchived(line, nil)
		if err != nil || a.delivery == nil {
			return
		}
		out := bytes.TrimSpace(appendDelivery(nil, a.delivery))
		b, err := decodeArchived(out, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if diff := cmp.Diff(a.delivery, b.delivery, sameState); diff != "" {
			t.Fatal(diff)
		}
	})
}
