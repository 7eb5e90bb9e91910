package content

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/providers"
)

var destinationKeys = []string{
	"provider", "server", "account", "target", "settings", "limits", "allow_private", "disable",
}

// laterDestinationKeys belong to the format and wait for their part of the program.
var laterDestinationKeys = map[string]string{
	"slots":   "give each post a publish_at",
	"spacing": "give the posts times that lie apart",
	"on_edit": "edit the post on the network by hand",
}

// abilities are all that `disable` can name.
var abilities = []string{
	string(providers.CanFind), string(providers.CanKey), string(providers.CanReply), string(providers.CanUpload),
	string(providers.CanResolve), string(providers.CanStage), string(providers.CanEdit), string(providers.CanDelete),
	string(providers.CanCheck), string(providers.CanRefresh), string(providers.CanLimit),
}

func (c *configReader) readDestinations(e entry) {
	entries, ok := c.entries(e.value)
	if !ok {
		c.wrongType(e, "a map from names to destinations", "write destinations: {bluesky: {provider: bluesky}}")
		return
	}
	targets := map[pipeline.Target]string{}
	for _, d := range entries {
		if !nameForm.MatchString(d.key) || d.key == "ledger" {
			if d.key == "ledger" {
				c.error(CodeBadName, d.at, "ledger cannot be a destination's name", "take another name")
			} else {
				c.badName(d, "a destination")
			}
			continue
		}
		dest := c.destination(d)
		if dest.Target != "" {
			if other, taken := targets[dest.Target]; taken {
				c.error(CodeSameTarget, d.at, fmt.Sprintf("%s and %s have one target: each post would go there twice", other, d.key),
					"remove one of them")
			}
			targets[dest.Target] = d.key
		}
		c.cfg.Destinations = append(c.cfg.Destinations, dest)
	}
	slices.SortFunc(c.cfg.Destinations, func(a, b pipeline.Destination) int { return strings.Compare(a.Name, b.Name) })
}

func (c *configReader) destination(e entry) pipeline.Destination {
	d := pipeline.Destination{Name: e.key, Pos: e.at, Settings: map[string]any{}}
	entries, ok := c.entries(e.value)
	if !ok {
		c.wrongType(e, "a map", "write "+e.key+": {provider: ...}")
		return d
	}
	at := map[string]entry{}
	for _, f := range entries {
		hint, later := laterDestinationKeys[f.key]
		switch {
		case later:
			c.unsupported(f, hint)
		case !known(f.key, destinationKeys):
			c.unknown(f, destinationKeys)
		case !null(f.value):
			at[f.key] = f
		}
	}
	info, ok := c.provider(e, at)
	if !ok {
		return d
	}
	d.Provider = info.Name
	if f, ok := at["allow_private"]; ok {
		d.Private, _ = c.boolean(f)
	}
	c.server(e, at, &d, info)
	if f, ok := at["account"]; ok {
		d.Account, _ = c.lineText(f)
	}
	c.target(e, at, &d)
	if f, ok := at["settings"]; ok {
		c.destinationSettings(f, &d, info)
	}
	if f, ok := at["limits"]; ok {
		d.Limits = c.limits(f)
	}
	if f, ok := at["disable"]; ok {
		c.disable(f, &d)
	}
	return d
}

func (c *configReader) provider(e entry, at map[string]entry) (providers.Info, bool) {
	f, ok := at["provider"]
	if !ok {
		c.error(CodeMissingKey, e.at, e.key+" has no provider", "add provider: with one of "+strings.Join(c.names, ", "))
		return providers.Info{}, false
	}
	name, ok := c.lineText(f)
	if !ok {
		return providers.Info{}, false
	}
	info, ok := c.infos[name]
	if !ok {
		hint := didYouMean(name, c.names)
		if hint == "" {
			hint = "known: " + strings.Join(c.names, ", ")
		}
		c.error(CodeUnknownProvider, c.pos(f.value), fmt.Sprintf("unknown provider %q", short(name)), hint)
	}
	return info, ok
}

// server checks the base URL against what the provider needs.
func (c *configReader) server(e entry, at map[string]entry, d *pipeline.Destination, info providers.Info) {
	f, given := at["server"]
	if !given {
		if info.Server == providers.ServerRequired {
			c.error(CodeBadServer, e.at, e.key+" has no server", "add server: https://...")
		}
		return
	}
	at0 := c.pos(f.value)
	if info.Server == providers.ServerNone {
		c.error(CodeBadServer, f.at, info.Name+" has one address: server cannot be set", "remove it")
		return
	}
	s, ok := c.lineText(f)
	if !ok {
		return
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http"):
		hint := "write https://example.com"
		if err == nil && u.Scheme == "" && u.Host == "" && !strings.ContainsAny(s, " /") {
			hint = "write https://" + s
		}
		c.error(CodeBadServer, at0, fmt.Sprintf("%q is not a server's address", short(s)), hint)
	case u.User != nil:
		c.error(CodeBadServer, at0, "the server's address holds a password", "remove it; broadside auth add takes credentials")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		c.error(CodeBadServer, at0, "the server's address has a query or a fragment", "write https://example.com")
	case u.Scheme == "http" && !d.Private:
		c.error(CodeBadServer, at0, "the server must be reached by https", "write https://, or set allow_private: true for a server of your own network")
	default:
		d.Server = strings.TrimRight(s, "/")
	}
}

func (c *configReader) target(e entry, at map[string]entry, d *pipeline.Destination) {
	f, ok := at["target"]
	if !ok {
		c.warn(CodeNoTarget, e.at, e.key+" has no target: nothing is published there", "broadside auth add "+e.key+" writes it")
		return
	}
	s, ok := c.lineText(f)
	if !ok {
		return
	}
	t := pipeline.Target(s)
	provider, _, _, valid := t.Split()
	switch {
	case !valid:
		c.error(CodeBadTarget, c.pos(f.value), fmt.Sprintf("%q is not a target", short(s)),
			"a target is provider:host:id; broadside auth add "+e.key+" writes it")
	case provider != d.Provider:
		c.error(CodeBadTarget, c.pos(f.value), fmt.Sprintf("the target is at %s, the destination at %s", provider, d.Provider),
			"broadside auth add "+e.key+" writes it")
	default:
		d.Target = t
	}
}

func (c *configReader) destinationSettings(f entry, d *pipeline.Destination, info providers.Info) {
	settings, ok := c.settings[info.Name]
	if !ok {
		settings = compile(info.Settings)
		c.settings[info.Name] = settings
	}
	keys := make([]string, 0, len(info.Settings))
	for _, s := range info.Settings {
		keys = append(keys, s.Name)
	}
	c.fields(f, keys, func(e entry) {
		s, ok := settings[e.key]
		if !ok {
			return
		}
		if v, ok := c.setting(s, e); ok {
			d.Settings[e.key] = v
		}
	})
}

// limits reads what `auth add` found out about an instance.
func (c *configReader) limits(e entry) *providers.Limits {
	from := len(c.list)
	t := reflect.TypeFor[providers.Limits]()
	keys := make([]string, 0, t.NumField())
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		keys = append(keys, name)
	}
	plain := map[string]any{}
	c.fields(e, keys, func(f entry) { plain[f.key] = c.plain(f.value) })
	if len(c.list) > from {
		return nil
	}
	raw, err := json.Marshal(plain)
	if err != nil {
		c.error(CodeWrongType, e.at, "limits: "+err.Error(), "")
		return nil
	}
	var out providers.Limits
	dec := json.NewDecoder(bytes.NewReader(raw))
	if err := dec.Decode(&out); err != nil {
		c.error(CodeWrongType, e.at, "limits: "+strings.TrimPrefix(err.Error(), "json: "), "broadside auth add writes them")
		return nil
	}
	if negative(reflect.ValueOf(out)) {
		c.error(CodeBadValue, e.at, "a limit is negative", "broadside auth add writes them")
		return nil
	}
	return &out
}

func negative(v reflect.Value) bool {
	for _, f := range v.Fields() {
		if f.CanInt() && f.Int() < 0 {
			return true
		}
	}
	return false
}

func (c *configReader) disable(f entry, d *pipeline.Destination) {
	list, at, _ := c.texts(f)
	for i, s := range list {
		if !slices.Contains(abilities, s) {
			hint := didYouMean(s, abilities)
			if hint == "" {
				hint = "known: " + strings.Join(abilities, ", ")
			}
			c.error(CodeUnknownAbility, at[i], fmt.Sprintf("unknown ability %q", short(s)), hint)
			continue
		}
		d.Disable = append(d.Disable, providers.Ability(s))
	}
}
