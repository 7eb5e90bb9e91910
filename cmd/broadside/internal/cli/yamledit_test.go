package cli

import (
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
)

func TestSetYAMLLeavesEverythingElse(t *testing.T) {
	t.Parallel()
	dest := []string{"destinations", "bluesky"}
	limits := yamlValue{Value: "{text: 500}", Lines: []string{"text: 500", "unit: code points"}}
	for _, c := range []struct {
		name, in, want string
		path           []string
		key            string
		value          yamlValue
	}{
		{
			name: "behind the other lines of one value",
			in:   "# mine\ndestinations:\n  bluesky:   # the loud one\n    provider: bluesky\n    account: me.example # handle\n    settings:\n      labels: [nudity]\n\n  other: {provider: x}\n",
			path: dest, key: "target", value: yamlValue{Value: "bluesky:h:did"},
			want: "# mine\ndestinations:\n  bluesky:   # the loud one\n    provider: bluesky\n    account: me.example # handle\n    target: bluesky:h:did\n    settings:\n      labels: [nudity]\n\n  other: {provider: x}\n",
		},
		{
			name: "a value that is there, with its comment",
			in:   "destinations:\n  bluesky:\n    provider: bluesky\n    target: old # the place\n    account: x\n",
			path: dest, key: "target", value: yamlValue{Value: "new"},
			want: "destinations:\n  bluesky:\n    provider: bluesky\n    target: new # the place\n    account: x\n",
		},
		{
			name: "a block", in: "destinations:\n  bluesky:\n    provider: bluesky\n# end\n",
			path: dest, key: "limits", value: limits,
			want: "destinations:\n  bluesky:\n    provider: bluesky\n    limits:\n      text: 500\n      unit: code points\n# end\n",
		},
		{
			name: "a block over a block, blank lines stay",
			in:   "destinations:\n  bluesky:\n    provider: bluesky\n    limits:\n      text: 1\n\n      unit: bytes\n\n  b: {provider: y}\n",
			path: dest, key: "limits", value: limits,
			want: "destinations:\n  bluesky:\n    provider: bluesky\n    limits:\n      text: 500\n      unit: code points\n\n  b: {provider: y}\n",
		},
		{
			name: "braces", in: "destinations:\n  bluesky: {provider: bluesky, account: ä} # x\n",
			path: dest, key: "target", value: yamlValue{Value: "t"},
			want: "destinations:\n  bluesky: {provider: bluesky, account: ä, target: t} # x\n",
		},
		{
			name: "braces with the key", in: "destinations: {bluesky: {target: a, provider: b}}\n",
			path: dest, key: "target", value: yamlValue{Value: "t"},
			want: "destinations: {bluesky: {target: t, provider: b}}\n",
		},
		{
			name: "an empty map with comments below", in: "version: 1\ndestinations:\n#  bluesky:\n#    provider: bluesky\n\ngroups: {}\n",
			path: []string{"destinations"}, key: "bluesky", value: yamlValue{Lines: []string{"provider: bluesky"}},
			want: "version: 1\ndestinations:\n  bluesky:\n    provider: bluesky\n#  bluesky:\n#    provider: bluesky\n\ngroups: {}\n",
		},
		{
			name: "empty braces", in: "destinations: {}\n",
			path: []string{"destinations"}, key: "a", value: yamlValue{Value: "{provider: b}"},
			want: "destinations: {a: {provider: b}}\n",
		},
		{
			name: "the file itself", in: "version: 1\ntimezone: UTC\n",
			key: "ledger", value: yamlValue{Value: "{id: x}"},
			want: "version: 1\ntimezone: UTC\nledger: {id: x}\n",
		},
		{
			name: "a list as far out as its key", in: "age:\n  recipients:\n  - a\n  - b\nx: 1\n",
			path: []string{"age"}, key: "recipients", value: yamlValue{Value: "[c]"},
			want: "age:\n  recipients: [c]\nx: 1\n",
		},
		{
			name: "carriage returns, no end of line at the end", in: "destinations:\r\n  bluesky:\r\n    provider: bluesky",
			path: dest, key: "target", value: yamlValue{Value: "t"},
			want: "destinations:\r\n  bluesky:\r\n    provider: bluesky\r\n    target: t\r\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := setYAML([]byte(c.in), c.path, c.key, c.value, "version", "timezone", "provider", "server", "account")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSetYAMLRefusesWhatItCannotPlace(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"destinations: [a]\n", "destinations:\n  other: {}\n", "- a\n", "a: [\n", "destinations:\n  bluesky: {\n    provider: b\n  }\n"} {
		if got, err := setYAML([]byte(in), []string{"destinations", "bluesky"}, "target", yamlValue{Value: "t"}); err == nil {
			t.Errorf("%q became %q", in, got)
		}
	}
}

func FuzzSetYAMLChangesNothingElse(f *testing.F) {
	f.Add("destinations:\n  bluesky:\n    provider: bluesky\n    account: a\n")
	f.Add("destinations: {bluesky: {provider: bluesky}}\n")
	f.Add("destinations:\n\n\n  bluesky: # x\n      provider: |\n        a\n        b\n")
	f.Fuzz(func(t *testing.T, in string) {
		got, err := setYAML([]byte(in), []string{"destinations", "bluesky"}, "zzz", yamlValue{Value: "t"}, "provider", "account")
		if err != nil || strings.Contains(in, "zzz") {
			return
		}
		if n, m := len(strings.Fields(in)), len(strings.Fields(string(got))); n > m {
			t.Fatalf("words are gone: %q became %q", in, got)
		}
		var has map[string]map[string]map[string]any
		if err := yaml.Unmarshal(got, &has); err == nil && has["destinations"]["bluesky"]["zzz"] != "t" {
			t.Fatalf("the key is not there: %q became %q", in, got)
		}
	})
}
