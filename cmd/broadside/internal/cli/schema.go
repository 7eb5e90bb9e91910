package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/content"
	"github.com/broadside-pub/broadside/providers/all"
	"github.com/broadside-pub/broadside/schemas"
)

// schemaNames are the things that have a schema.
var schemaNames = []string{"post", "config", "ledger", "report"}

func (a *app) cmdSchema() *cobra.Command {
	var here bool
	c := &cobra.Command{
		Use:     "schema post|config|ledger|report",
		GroupID: "manage",
		Short:   "Print a JSON Schema, for editors and for programs that read what broadside writes",
		Long: `schema prints a JSON Schema (draft 2020-12).

  post     the front matter of a post, with the settings of every network
  config   broadside.yaml
  ledger   one line of the ledger's event files
  report   what ` + "`broadside run --json`" + ` prints

With --here the schema of a post knows the destinations of the broadside.yaml at hand, and the settings of each.`,
		Example:   "  broadside schema config > .broadside-config.schema.json",
		ValidArgs: schemaNames,
		Args:      exactly("one of " + strings.Join(schemaNames, ", ")),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.printSchema(args[0], here)
		},
	}
	c.Flags().BoolVar(&here, "here", false, "post: for the destinations of the broadside.yaml at hand")
	return c
}

func (a *app) printSchema(name string, here bool) error {
	if !slices.Contains(schemaNames, name) {
		hint := "there are " + strings.Join(schemaNames, ", ")
		if n := nearest(name, schemaNames); n != "" {
			hint = "did you mean " + n + "?"
		}
		return usageError{fmt.Errorf("there is no schema %q", name), hint}
	}
	if here && name != "post" {
		return usageError{fmt.Errorf("--here changes the schema of a post only"), "`broadside schema post --here`"}
	}
	var cfg *pipeline.Config
	if here {
		w, err := a.open(true)
		if err != nil {
			return err
		}
		cfg = w.cfg
	}
	var text []byte
	switch name {
	case "post", "config":
		s, err := content.SchemaFor(all.All(), cfg)
		if err != nil {
			return err
		}
		if text = s.Config; name == "post" {
			text = s.Post
		}
	default:
		var err error
		if text, err = schemas.Files.ReadFile(name + ".schema.json"); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("this program was built without the schema of the %s", name)
		} else if err != nil {
			return err
		}
	}
	_, err := a.out.Write(text)
	return err
}
