package cli

import (
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/content"
	"github.com/broadside-pub/broadside/pipeline/vault"
	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/all"
)

func TestWorkflowGivesTheKeyToOneStepOnly(t *testing.T) {
	t.Parallel()
	var w struct {
		On          map[string]any
		Permissions map[string]string
		Jobs        map[string]struct {
			Environment string
			Permissions map[string]string
			Concurrency map[string]any
			Steps       []struct {
				Uses, Run, If string
				With          map[string]any
				Env           map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(workflowText("main", pipeline.DefaultLedgerBranch, "v1.2.3")), &w); err != nil {
		t.Fatal(err)
	}
	publish := w.Jobs["publish"]
	if len(w.Permissions) != 0 || publish.Permissions["contents"] != "write" || w.Jobs["check"].Permissions["contents"] != "read" {
		t.Errorf("permissions: %v, %v, %v", w.Permissions, publish.Permissions, w.Jobs["check"].Permissions)
	}
	if publish.Concurrency["cancel-in-progress"] != false || publish.Environment != "broadside" || w.Jobs["check"].Environment != "" {
		t.Errorf("concurrency %v, environments %q and %q", publish.Concurrency, publish.Environment, w.Jobs["check"].Environment)
	}
	if last := publish.Steps[len(publish.Steps)-1]; !strings.HasPrefix(last.Uses, "actions/upload-artifact@v") || !strings.Contains(last.If, "failure()") ||
		last.With["path"] != "${{ runner.temp }}/broadside-results-*.json" || last.With["if-no-files-found"] != "ignore" || len(last.Env) > 0 {
		t.Errorf("a results file does not survive the runner: %+v", last)
	}
	holders := 0
	for name, j := range w.Jobs {
		for _, s := range j.Steps {
			if s.Uses != "" && !strings.HasPrefix(s.Uses, "actions/upload-artifact@") && (!strings.HasPrefix(s.Uses, "actions/checkout@") || s.With["persist-credentials"] != false) {
				t.Errorf("%s uses %s with %v", name, s.Uses, s.With)
			}
			if s.Env["BROADSIDE_AGE_KEY"] != "" {
				holders++
				if name != "publish" || !strings.HasPrefix(s.Run, "exec ") || !strings.HasSuffix(s.Run, "broadside\" run --waiting-ok") {
					t.Errorf("the key goes to %s: %s", name, s.Run)
				}
			}
		}
	}
	if holders != 1 {
		t.Errorf("%d steps get the key", holders)
	}
}

func TestConfigThatInitWritesIsValidWithItsExamples(t *testing.T) {
	t.Parallel()
	key, err := vault.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []vault.IdentityKind{vault.X25519, vault.PostQuantum} {
		id, err := vault.GenerateIdentity(kind)
		if err != nil {
			t.Fatal(err)
		}
		text := configText("Europe/Berlin", pipeline.DefaultLedgerBranch, strings.Repeat("0a", 16), key.Line, []string{id.Recipient})
		cfg, diags := content.LoadConfig("broadside.yaml", []byte(text), all.All())
		if len(diags) > 0 || cfg.Recipients[0] != id.Recipient || cfg.Ledger.Signer != key.Line {
			t.Fatalf("%s: %v", kind, diags)
		}
		// The examples, with the # taken away.
		var lines []string
		for l := range strings.Lines(text) {
			if strings.HasPrefix(l, "#  ") || strings.HasPrefix(l, "# groups:") || strings.HasPrefix(l, "# people:") {
				l = strings.TrimPrefix(strings.TrimPrefix(l, "# "), "#")
				if !strings.HasPrefix(l, "groups:") && !strings.HasPrefix(l, "people:") && !strings.HasPrefix(l, "  ") {
					l = " " + l
				}
				if strings.Contains(l, "broadside auth add") {
					continue
				}
			}
			lines = append(lines, l)
		}
		cfg, diags = content.LoadConfig("broadside.yaml", []byte(strings.Join(lines, "")), all.All())
		if pipeline.HasErrors(diags) {
			t.Fatalf("with its examples: %v\n%s", diags, strings.Join(lines, ""))
		}
		if len(cfg.Destinations) != 3 || len(cfg.Groups) != 1 || len(cfg.People) != 1 {
			t.Errorf("%d destinations, %d groups, %d people", len(cfg.Destinations), len(cfg.Groups), len(cfg.People))
		}
	}
}

func TestLimitsAreReadBackAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	want := providers.Limits{Text: 5000, Unit: "code points", Media: 16, ImageBytes: 16 << 20, MIME: []string{"image/png", "video/mp4"}, Source: `a "server"`, Date: "2026-11-30"}
	base := "version: 1\ntimezone: UTC\ndestinations:\n  town:\n    provider: mastodon\n    server: https://social.example\n"
	data, err := setYAML([]byte(base), []string{"destinations", "town"}, "limits", limitsYAML(want), "provider", "server")
	if err != nil {
		t.Fatal(err)
	}
	cfg, diags := content.LoadConfig("broadside.yaml", data, all.All())
	if pipeline.HasErrors(diags) {
		t.Fatalf("%v\n%s", diags, data)
	}
	if got := cfg.Destinations[0].Limits; got == nil || !sameFigures(*got, want) || got.Source != want.Source {
		t.Errorf("%+v\n%s", got, data)
	}
}
