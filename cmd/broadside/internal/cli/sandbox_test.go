package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/pipeline/report"
	"github.com/broadside-pub/broadside/providers/sandbox/server"
)

// newTestApp is an app with nothing of this process but the clock.
func newTestApp(t *testing.T, out, errs io.Writer) *app {
	t.Helper()
	none := func(string) string { return "" }
	return &app{
		in: strings.NewReader(""), out: out, err: errs, getenv: none, now: time.Now, start: time.Now(), dir: t.TempDir(),
		mask: report.NewMasker(none), stop: make(chan struct{}),
	}
}

func TestSandboxServesUntilAskedToEnd(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	var errs bytes.Buffer
	a := newTestApp(t, w, &errs)
	ended := make(chan int, 1)
	go func() {
		ended <- a.run(t.Context(), []string{"sandbox", "--json", "--listen", "127.0.0.1:0", "--account", "alice", "--fault", "fault=drop_after,account=alice,times=2"})
	}()
	var said listening
	if err := json.NewDecoder(r).Decode(&said); err != nil {
		t.Fatal(err)
	}
	if len(said.Accounts) != 1 || said.Accounts[0].Handle != "alice" || said.Accounts[0].Token == "" {
		t.Errorf("accounts: %+v", said.Accounts)
	}
	if len(said.Faults) != 1 || said.Faults[0].Fault != server.DropAfter || said.Faults[0].Times != 2 {
		t.Errorf("faults: %+v", said.Faults)
	}
	page := get(t, said.URL)
	if !strings.Contains(page, "@alice") {
		t.Errorf("the page does not show the account: %.200s", page)
	}
	close(a.stop)
	select {
	case code := <-ended:
		if code != exitDone {
			t.Errorf("exit code %d, %s", code, errs.String())
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it did not end")
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestParseFaultReadsRules(t *testing.T) {
	t.Parallel()
	got, err := parseFault("op=list, fault=rate_limit,account=bob,post=hello,part=2,text=x,skip=1,times=-1,seconds=1.5,status=503,form=body")
	if err != nil {
		t.Fatal(err)
	}
	want := server.Rule{
		Op: server.List, Fault: server.RateLimit, Account: "bob", Post: "hello", Part: 2, Text: "x", Skip: 1, Times: -1,
		Seconds: 1.5, Status: 503, Form: server.InBody,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, err := parseFault("fault=slow,op=any"); err != nil || !got.Any || got.Op != "" {
		t.Errorf("any call: %+v, %v", got, err)
	}
	for _, bad := range []string{"", "drop_after", "op=publish", "fault=slow,times=x", "fault=slow,colour=red"} {
		var usage usageError
		if _, err := parseFault(bad); !errors.As(err, &usage) || usage.hint == "" {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestSandboxRefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"sandbox", "--listen", "127.0.0.1:0", "--fault", "fault=nonsense"},
		{"sandbox", "--listen", "127.0.0.1:0", "--account", "Not A Handle"},
	} {
		var out, errs bytes.Buffer
		if code := newTestApp(t, &out, &errs).run(t.Context(), args); code != exitInvalid || !strings.Contains(errs.String(), "hint: ") {
			t.Errorf("%v: exit code %d, %s", args, code, errs.String())
		}
	}
}
