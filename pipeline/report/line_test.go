package report_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/publish"
	"github.com/broadside-pub/broadside/pipeline/report"
)

// hostile is what a file name, a network's answer or an error may hold.
const hostile = "x\x1b[2J\x07 ##[add-mask]secret\n::stop-commands::t\u202e"

func TestNothingFromOutsideReachesATerminalOrARunnerAsItIs(t *testing.T) {
	t.Parallel()
	res := publish.Result{
		Outcomes: []publish.Outcome{{
			Post: hostile, Destination: hostile, State: pipeline.State(hostile), Reason: pipeline.Reason(hostile), Detail: hostile, URLs: []string{hostile},
		}},
		Troubles:   []publish.Trouble{{Code: "c", Message: hostile, Hint: hostile, New: true}, {Code: "d", Message: "::" + hostile}},
		Unrecorded: hostile,
	}
	for _, color := range []bool{false, true} {
		var out bytes.Buffer
		report.Text(&out, res, report.Style{Color: color})
		s := out.String()
		for _, own := range []string{"\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[2m", "\x1b[0m"} {
			if color {
				s = strings.ReplaceAll(s, own, "")
			}
		}
		if strings.ContainsAny(s, "\x1b\x07\u202e") || strings.Contains(s, "##[") {
			t.Errorf("color %t: %q", color, s)
		}
		for line := range strings.Lines(s) {
			if strings.HasPrefix(strings.TrimSpace(line), "::") {
				t.Errorf("color %t: a workflow command: %q", color, line)
			}
		}
	}
	var out bytes.Buffer
	if err := report.JSON(&out, res); err != nil || strings.Contains(out.String(), "##[") {
		t.Errorf("%v: %s", err, out.String())
	}
	var back publish.Result
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back.Troubles[0].Message != hostile {
		t.Errorf("JSON says something else: %v, %+v", err, back.Troubles)
	}
	out.Reset()
	env := map[string]string{"GITHUB_ACTIONS": "true"}
	if err := report.GitHub(func(k string) string { return env[k] }, &out, func(s string) string { return s }, res); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); strings.ContainsAny(s, "\x1b\x07\u202e") || strings.Contains(s, "##[") || strings.Count(s, "\n") != 2 {
		t.Errorf("annotations: %q", s)
	}
	if md := report.Markdown(res); strings.ContainsAny(md, "\x1b\x07\u202e") || strings.Contains(md, "##[") {
		t.Errorf("summary: %q", md)
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain":             "plain",
		"::error::x":        "\u2063::error::x",
		"  ::error::x":      "\u2063  ::error::x",
		"a ::error::x":      "a ::error::x",
		"a ##[error]b##[c]": "a ##\u2063[error]b##\u2063[c]",
		"a\r\n::b":          "a  ::b",
		"###[x]":            "###\u2063[x]",
	} {
		if got := report.Line(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
