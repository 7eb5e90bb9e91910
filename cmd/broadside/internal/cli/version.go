package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// modulePath is where a runner installs the program from: the one place that names it beside go.mod.
const modulePath = "github.com/broadside-pub/broadside"

// build is what this binary is.
type build struct {
	Version  string `json:"version"` // "(devel)" where it was not built from a released module
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"` // built from files that are not that commit's
	Time     string `json:"time,omitempty"`     // of the commit, RFC 3339
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func buildInfo() build {
	b := build{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func (a *app) cmdVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		GroupID: "manage",
		Short:   "Show the version, and what it was built from",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			b := buildInfo()
			if a.flags.json {
				return a.printJSON(b)
			}
			fmt.Fprintln(a.out, "broadside "+b.Version)
			if b.Commit != "" {
				line := "commit    " + b.Commit
				if b.Modified {
					line += " (with changes that are not committed)"
				}
				fmt.Fprintln(a.out, line)
			}
			if b.Time != "" {
				fmt.Fprintln(a.out, "of        "+b.Time)
			}
			fmt.Fprintln(a.out, "go        "+b.Go)
			fmt.Fprintln(a.out, "platform  "+b.Platform)
			return nil
		},
	}
}
