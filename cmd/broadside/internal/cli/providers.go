package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/all"
)

func (a *app) cmdProviders() *cobra.Command {
	return &cobra.Command{
		Use:     "providers [NAME]",
		GroupID: "manage",
		Short:   "List the networks, or show one: what it can do, its limits, settings and secrets",
		Args:    between("at most one provider", 0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.listProviders()
			}
			return a.showProvider(args[0])
		},
	}
}

// providerView is an Info as JSON shows it.
type providerView struct {
	Name          string              `json:"name"`
	Title         string              `json:"title"`
	About         string              `json:"about"`
	Server        string              `json:"server"` // none, optional, required
	DefaultServer string              `json:"default_server,omitempty"`
	LongForm      bool                `json:"long_form"`
	Abilities     []providers.Ability `json:"abilities"`
	Limits        providers.Limits    `json:"limits"`
	Settings      []settingView       `json:"settings"`
	Secrets       []settingView       `json:"secrets"`
}

type settingView struct {
	Name       string   `json:"name"`
	Title      string   `json:"title"`
	Help       string   `json:"help"`
	Type       string   `json:"type"`
	Enum       []string `json:"enum,omitempty"`
	Default    any      `json:"default,omitempty"`
	Max        int      `json:"max,omitempty"`
	ConfigOnly bool     `json:"config_only,omitempty"` // cannot be overridden in a post
	Optional   bool     `json:"optional,omitempty"`
}

func viewOf(i providers.Info) providerView {
	return providerView{
		Name: i.Name, Title: i.Title, About: i.About, Server: serverRule(i.Server), DefaultServer: i.DefaultServer,
		LongForm: i.LongForm, Abilities: append([]providers.Ability{}, i.Abilities...), Limits: i.Limits,
		Settings: viewSettings(i.Settings), Secrets: viewSettings(i.Secrets),
	}
}

func viewSettings(list []providers.Setting) []settingView {
	out := []settingView{}
	for _, s := range list {
		out = append(out, settingView{
			Name: s.Name, Title: s.Title, Help: s.Help, Type: string(s.Type), Enum: s.Enum, Default: s.Default,
			Max: s.Max, ConfigOnly: s.ConfigOnly, Optional: s.Optional,
		})
	}
	return out
}

func serverRule(r providers.ServerRule) string {
	switch r {
	case providers.ServerNone:
		return "none"
	case providers.ServerOptional:
		return "optional"
	case providers.ServerRequired:
		return "required"
	}
	return ""
}

func (a *app) listProviders() error {
	if a.flags.json {
		views := []providerView{}
		for _, i := range all.All() {
			views = append(views, viewOf(i))
		}
		return a.printJSON(views)
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tNETWORK\tTEXT\tCAN")
	for _, i := range all.All() {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", i.Name, i.Title, textLimit(i.Limits), joinAbilities(i.Abilities))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.out, "\n`broadside providers NAME` shows limits with their source, settings and secrets")
	return nil
}

func textLimit(l providers.Limits) string {
	if l.Text == 0 {
		return "any length"
	}
	return strconv.Itoa(l.Text) + " " + l.Unit
}

func joinAbilities(list []providers.Ability) string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = string(n)
	}
	return strings.Join(out, " ")
}

// abilityMeans says what each ability is good for, and what its absence means.
var abilityMeans = []struct {
	name       providers.Ability
	has, lacks string
}{
	{providers.CanFind, "looks for a post whose answer was lost", "a person decides about a post whose answer was lost"},
	{providers.CanKey, "recognises a repeated post and keeps one", "a post is never sent again before it is known to be absent"},
	{providers.CanReply, "publishes threads", "a post has one part"},
	{providers.CanUpload, "takes media", "a post has no media"},
	{providers.CanResolve, "turns mentions into the network's own", ""},
	{providers.CanStage, "prepares a post before it is public", ""},
	{providers.CanEdit, "can change a published post", "a changed file only shows as drift"},
	{providers.CanDelete, "can take a post down", "a person takes a post down"},
	{providers.CanCheck, "tells whose credential it is", "whose credential it is cannot be asked"},
	{providers.CanRefresh, "makes a login last", ""},
	{providers.CanLimit, "tells the limits of the very server", ""},
}

func (a *app) showProvider(name string) error {
	i, ok := all.Lookup(name)
	if !ok {
		var names []string
		for _, p := range all.All() {
			names = append(names, p.Name)
		}
		hint := "known: " + strings.Join(names, ", ")
		if n := nearest(name, names); n != "" {
			hint = "did you mean " + n + "?"
		}
		return usageError{fmt.Errorf("there is no provider %q", name), hint}
	}
	if a.flags.json {
		return a.printJSON(viewOf(i))
	}
	st := a.style()
	fmt.Fprintf(a.out, "%s  %s\n\n%s\n", st.Bold(i.Name), i.Title, i.About)
	switch i.Server {
	case providers.ServerRequired:
		fmt.Fprintln(a.out, "\nserver: needed")
	case providers.ServerOptional:
		fmt.Fprintf(a.out, "\nserver: %s unless the destination names another\n", i.DefaultServer)
	case providers.ServerNone:
	}
	fmt.Fprintln(a.out, "\n"+st.Bold("Abilities"))
	for _, m := range abilityMeans {
		switch has := slices.Contains(i.Abilities, m.name); {
		case has:
			fmt.Fprintf(a.out, "  + %-8s %s\n", m.name, m.has)
		case m.lacks != "":
			fmt.Fprintf(a.out, "  - %-8s %s\n", m.name, m.lacks)
		}
	}
	fmt.Fprintln(a.out, "\n"+st.Bold("Limits"))
	return errors.Join(a.showLimits(i), a.showSettings("Settings", i.Settings), a.showSettings("Secrets (asked by `broadside auth add`, never in a file of yours)", i.Secrets))
}

func (a *app) showLimits(i providers.Info) error {
	l := i.Limits
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	row := func(name string, n int64, unit string) {
		if n > 0 {
			fmt.Fprintf(w, "  %s\t%d %s\n", name, n, unit)
		}
	}
	row("text", int64(l.Text), l.Unit)
	row("text", int64(l.TextBytes), "bytes")
	row("a link counts as", int64(l.URLLength), "characters")
	row("parts of a thread", int64(l.Parts), "")
	row("media in a part", int64(l.Media), "")
	row("a picture", l.ImageBytes, "bytes")
	row("a picture", l.ImagePixels, "pixels")
	row("a video", l.VideoBytes, "bytes")
	row("alt text", int64(l.Alt), l.Unit)
	row("options of a poll", int64(l.PollOptions), "")
	row("one option", int64(l.PollOption), "characters")
	if len(l.MIME) > 0 {
		fmt.Fprintf(w, "  media types\t%s\n", strings.Join(l.MIME, ", "))
	}
	if l.Source != "" {
		fmt.Fprintf(w, "  source\t%s, read %s\n", l.Source, l.Date)
	}
	return w.Flush()
}

func (a *app) showSettings(title string, list []providers.Setting) error {
	if len(list) == 0 {
		return nil
	}
	fmt.Fprintln(a.out, "\n"+a.style().Bold(title))
	for _, s := range list {
		kind := string(s.Type)
		if len(s.Enum) > 0 {
			kind = strings.Join(s.Enum, ", ")
			if s.Type == providers.Strings {
				kind = "a list of " + kind
			}
		}
		var more []string
		if s.Default != nil {
			more = append(more, fmt.Sprintf("default %v", s.Default))
		}
		if s.Max > 0 {
			more = append(more, fmt.Sprintf("at most %d", s.Max))
		}
		if s.ConfigOnly {
			more = append(more, "in broadside.yaml only")
		}
		if s.Optional {
			more = append(more, "optional")
		}
		line := fmt.Sprintf("  %s (%s", s.Name, kind)
		if len(more) > 0 {
			line += "; " + strings.Join(more, ", ")
		}
		fmt.Fprintf(a.out, "%s)\n      %s\n", line, s.Help)
	}
	return nil
}
