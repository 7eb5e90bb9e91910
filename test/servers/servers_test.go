package servers

import (
	"strings"
	"testing"
)

// ending records how a helper ends a test, without ending this one.
type ending struct {
	testing.TB
	how, text string
}

func (e *ending) Helper() {}

func (e *ending) Fatal(args ...any) { e.end("failed", args) }

func (e *ending) Skip(args ...any) { e.end("skipped", args) }

func (e *ending) end(how string, args []any) {
	e.how = how
	e.text, _ = args[0].(string)
	panic(e)
}

func TestAMissingServerSkipsUnlessItIsRequired(t *testing.T) {
	for _, c := range []struct{ require, want string }{
		{"", "skipped"},
		{"0", "skipped"},
		{"1", "failed"},
	} {
		t.Setenv(RequireEnv, c.require)
		t.Setenv("BROADSIDE_TEST_PDS", "")
		e := &ending{TB: t}
		func() {
			defer func() {
				if r := recover(); r != any(e) {
					t.Fatalf("the helper went on: %v", r)
				}
			}()
			PDS(e)
		}()
		if e.how != c.want || !strings.Contains(e.text, "BROADSIDE_TEST_PDS") || !strings.Contains(e.text, "pds.sh start") {
			t.Errorf("required %q: %s with %q, want %s and the way to start it", c.require, e.how, e.text, c.want)
		}
	}
}

func TestAServerThatIsThereIsFoundByItsVariables(t *testing.T) {
	t.Setenv("BROADSIDE_TEST_PDS", "http://127.0.0.1:1/")
	t.Setenv("BROADSIDE_TEST_PLC", "http://127.0.0.1:2")
	s := PDS(t)
	if s.URL != "http://127.0.0.1:1" || s.PLC != "http://127.0.0.1:2" {
		t.Errorf("got %+v", s)
	}
}

func TestARecordGivesItsKeyAndText(t *testing.T) {
	r := Record{URI: "at://did:plc:x/app.bsky.feed.post/3lwafzkjqm25s", Value: []byte(`{"text":"Grüße"}`)}
	if r.Key() != "3lwafzkjqm25s" || r.Text() != "Grüße" {
		t.Errorf("key %q, text %q", r.Key(), r.Text())
	}
}
