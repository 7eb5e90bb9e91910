package report_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/broadside-pub/broadside/pipeline/report"
)

// TestSecretsAreAnnouncedToTheRunnerAndHiddenFromAllElse writes both through the one stream that a command has.
func TestSecretsAreAnnouncedToTheRunnerAndHiddenFromAllElse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ runner, want string }{
		{"true", "::add-mask::hush-hush-hush\n"},
		{"", ""},
	} {
		var out bytes.Buffer
		m := report.NewMasker(func(string) string { return c.runner })
		w := m.Writer(&out)
		m.Announce(w)
		m.Add("hush-hush-hush")
		announced := out.String()
		if i := bytes.IndexByte(out.Bytes(), '\n'); i >= 0 {
			announced = announced[:i+1]
		}
		if announced != c.want {
			t.Errorf("announced %q, want %q first", announced, c.want)
		}
		out.Reset()
		fmt.Fprintln(w, "it was hush-hush-hush")
		if got := out.String(); got != "it was ***\n" {
			t.Errorf("printed %q", got)
		}
	}
}
