package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/content"
	"github.com/broadside-pub/broadside/pipeline/schedule"
)

func (a *app) cmdNew() *cobra.Command {
	var o newOptions
	c := &cobra.Command{
		Use:     "new TITLE",
		GroupID: "write",
		Short:   "Write a new post with an id of its own",
		Long: `new writes posts/YEAR/MONTH/SLUG.md with an id that no other post has, and prints its path. Without --at the post is a
draft: it does not go out before it has a publish_at. A post without text never goes out.

A time is read in the timezone of broadside.yaml: "today 17:30", "tomorrow 9:00", "monday 09:00", "in 2h", "now" (when the
post is first seen on the content branch), or 2026-12-03 09:00.`,
		Example: `  broadside new "Version 1.0" --at "tomorrow 9:00" --to bluesky,fosstodon
  echo "Hello, world." | broadside new Hello --at now --to all --text -`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError{
					fmt.Errorf("the title is one argument, and %d words were given", len(args)),
					"put it in quotes: broadside new " + strconv.Quote(strings.Join(args, " ")),
				}
			}
			return exactly("a title")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			return a.newPost(c.Context(), args[0], o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.at, "at", "", "when it is to go out; without it the post is a draft")
	f.StringSliceVar(&o.to, "to", nil, "destinations and groups, joined by commas")
	f.StringVar(&o.text, "text", "", "what the post says; - reads it from standard input")
	f.StringVar(&o.id, "id", "", "the post's id (default: made of the title)")
	return c
}

type newOptions struct {
	at, text, id string
	to           []string
}

// unwritten is the text of a post that is still to be written. It never reaches a network, and without another text the
// post is not valid.
const unwritten = "<!-- Write the post here. Comments like this one are never published. -->"

func (a *app) newPost(ctx context.Context, title string, o newOptions) error {
	w, err := a.open(true)
	if err != nil {
		return err
	}
	if title = strings.Join(strings.Fields(title), " "); title == "" {
		return usageError{errors.New("the title is empty"), `broadside new "Version 1.0"`}
	}
	now := a.now()
	at, raw, err := a.postTime(o.at, now, w.cfg.Location)
	if err != nil {
		return err
	}
	dests, err := w.postDestinations(o.to, raw != "")
	if err != nil {
		return err
	}
	text, err := a.postText(o.text)
	if err != nil {
		return err
	}
	id, err := w.freeID(ctx, title, o.id, now)
	if err != nil {
		return err
	}
	day := at
	if day.IsZero() {
		day = now
	}
	p := draftPost{ID: id, Title: title, At: raw, Destinations: dests, Text: text}
	name, err := w.createPost(day.In(w.cfg.Location), p)
	if err != nil {
		return err
	}
	return a.sayPost(name, p, at, w.cfg.Location, now)
}

// postTime reads --at: the instant, and what to write as publish_at. Both are empty for a draft.
func (a *app) postTime(s string, now time.Time, loc *time.Location) (time.Time, string, error) {
	switch strings.TrimSpace(s) {
	case "":
		return time.Time{}, "", nil
	case "now":
		return now, "now", nil
	}
	at, err := schedule.ParseHuman(s, now, loc)
	if te := new(schedule.Error); errors.As(err, &te) {
		return at, "", usageError{errors.New("--at: " + te.Message), te.Hint}
	}
	if err != nil {
		return at, "", err
	}
	if !at.After(now) {
		return at, "", usageError{fmt.Errorf("--at: %s is past", schedule.Format(at, loc)), "give a time that is still to come, or `now`"}
	}
	// What is shown and what is written is the same instant: to the second.
	at = at.Truncate(time.Second)
	return at, schedule.Format(at, loc), nil
}

// postDestinations checks --to. A draft without it names all destinations, for the author to choose from.
func (w *workspace) postDestinations(to []string, timed bool) ([]string, error) {
	names := w.destinationNames()
	if len(to) == 0 {
		if timed && len(names) != 1 {
			return nil, usageError{errors.New("a post with a time needs --to: where it goes"), w.destinationHint()}
		}
		return names, nil
	}
	var out []string
	for _, n := range to {
		n = strings.TrimSpace(n)
		if n == "" {
			continue
		}
		if _, unknown := w.cfg.Expand([]string{n}); len(unknown) > 0 {
			return nil, w.unknownDestination(n)
		}
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	if len(out) == 0 {
		return nil, usageError{errors.New("--to names no destination"), w.destinationHint()}
	}
	return out, nil
}

// unknownDestination says what a name may have been meant to be.
func (w *workspace) unknownDestination(name string) error {
	hint := w.destinationHint()
	if n := nearest(name, w.targets()); n != "" {
		hint = "did you mean " + n + "?"
	}
	return usageError{fmt.Errorf("broadside.yaml has no destination %q", name), hint}
}

// targets are all names that stand for destinations.
func (w *workspace) targets() []string {
	out := w.destinationNames()
	for g := range w.cfg.Groups {
		out = append(out, g)
	}
	slices.Sort(out)
	return out
}

func (w *workspace) destinationHint() string {
	if names := w.targets(); len(names) > 0 {
		return "it has " + strings.Join(names, ", ")
	}
	return "it has none yet: `broadside auth add NAME --provider PROVIDER` adds one"
}

func (a *app) postText(s string) (string, error) {
	if s != "-" {
		return strings.TrimSpace(s), nil
	}
	b, err := io.ReadAll(io.LimitReader(a.in, content.MaxPost+1))
	if err != nil {
		return "", fmt.Errorf("cannot read the text: %w", err)
	}
	if len(b) > content.MaxPost {
		return "", usageError{fmt.Errorf("the text is longer than %d bytes", content.MaxPost), ""}
	}
	return strings.TrimSpace(string(b)), nil
}

// freeID makes an id that no post of the repository has.
func (w *workspace) freeID(ctx context.Context, title, wanted string, now time.Time) (string, error) {
	tree, _ := content.Load(ctx, w.files, w.cfg, w.infos)
	if err := ctx.Err(); err != nil {
		return "", err
	}
	taken := map[string]string{}
	for _, p := range tree.Posts {
		taken[p.ID] = p.Path
	}
	if wanted != "" {
		if !pipeline.ValidPostID(wanted) {
			return "", usageError{fmt.Errorf("%q cannot be an id", wanted), "use a-z, 0-9 and -, at most 64 of them"}
		}
		if other, ok := taken[wanted]; ok {
			return "", usageError{fmt.Errorf("the id %s is that of %s", wanted, other), "take another one"}
		}
		return wanted, nil
	}
	slug := content.Slug(title)
	if slug == "" {
		slug = "post-" + now.In(w.cfg.Location).Format("2006-01-02")
	}
	for n := 1; ; n++ {
		id := slug
		if n > 1 {
			tail := "-" + strconv.Itoa(n)
			id = strings.TrimRight(slug[:min(len(slug), pipeline.MaxPostID-len(tail))], "-") + tail
		}
		if _, ok := taken[id]; !ok {
			return id, nil
		}
	}
}

// draftPost is a post before it is a file.
type draftPost struct {
	ID, Title, At, Text string
	Destinations        []string
}

// bytes is the file.
func (p draftPost) bytes() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "---\nid: %s\ntitle: %s\n", p.ID, quoteYAML(p.Title))
	if p.At != "" {
		fmt.Fprintf(&b, "publish_at: %s\n", p.At)
	}
	if len(p.Destinations) > 0 {
		fmt.Fprintf(&b, "destinations: [%s]\n", strings.Join(p.Destinations, ", "))
	}
	text := p.Text
	if text == "" {
		text = unwritten
	}
	fmt.Fprintf(&b, "---\n\n%s\n", text)
	return []byte(b.String())
}

// quoteYAML writes a text as YAML in one line.
func quoteYAML(s string) string {
	return strconv.Quote(s) // a Go string of printable characters is a YAML string in double quotes
}

// createPost writes the file, under a name that is free.
func (w *workspace) createPost(day time.Time, p draftPost) (string, error) {
	folder := fmt.Sprintf("%s/%s/", w.cfg.Posts[0], day.Format("2006/01"))
	for n := 1; n < 1000; n++ {
		name := folder + p.ID + ".md"
		if n > 1 {
			name = fmt.Sprintf("%s%s-%d.md", folder, p.ID, n)
		}
		err := w.create(name, p.bytes())
		if !errors.Is(err, fs.ErrExist) {
			return name, err
		}
	}
	return "", fmt.Errorf("%s is taken, and so are 999 names like it", folder+p.ID+".md")
}

// newResult is what `new --json` prints.
type newResult struct {
	Path         string    `json:"path"`
	ID           string    `json:"id"`
	Draft        bool      `json:"draft"`
	PublishAt    string    `json:"publish_at,omitempty"` // as it is written
	Due          time.Time `json:"due,omitzero"`         // the instant, UTC
	Destinations []string  `json:"destinations"`
	Written      bool      `json:"written"` // it has a text
}

func (a *app) sayPost(name string, p draftPost, at time.Time, loc *time.Location, now time.Time) error {
	if a.flags.json {
		r := newResult{Path: name, ID: p.ID, Draft: p.At == "", PublishAt: p.At, Destinations: append([]string{}, p.Destinations...), Written: p.Text != ""}
		if p.At != "" && p.At != "now" {
			r.Due = at.UTC()
		}
		return a.printJSON(r)
	}
	fmt.Fprintln(a.out, name)
	if a.flags.quiet {
		return nil
	}
	switch p.At {
	case "":
		fmt.Fprintln(a.err, "It is a draft: it goes out only once it has a publish_at.")
	case "now":
		fmt.Fprintln(a.err, "It goes out with the first run after it is on the content branch, to "+strings.Join(p.Destinations, ", ")+".")
	default:
		fmt.Fprintf(a.err, "It goes out %s in %s (%s UTC, in %s), to %s.\n", at.In(loc).Format("Mon 2006-01-02 15:04"), loc, at.UTC().Format("15:04"),
			inWords(at.Sub(now)), strings.Join(p.Destinations, ", "))
	}
	if p.Text == "" {
		fmt.Fprintln(a.err, "Write its text, then `broadside validate` and `broadside preview "+name+"`.")
	}
	return nil
}

// inWords says how long a time to come is away.
func inWords(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d < 2*time.Hour:
		return fmt.Sprintf("%d minutes", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d hours", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}
