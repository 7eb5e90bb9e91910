package content

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/schedule"
	"github.com/broadside-pub/broadside/providers"
)

// ConfigVersion is the version of broadside.yaml that this program reads.
const ConfigVersion = 1

var (
	configKeys = []string{
		"version", "timezone", "posts", "ledger", "age", "publish_within", "heartbeat_url", "media", "destinations", "groups",
		"people",
	}
	ledgerKeys = []string{"branch", "id", "signer"}
	ageKeys    = []string{"recipients"}
	mediaKeysC = []string{"roots", "fit", "alt"}

	nameForm   = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)
	branchForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$`)
	ledgerID   = regexp.MustCompile(`^[0-9a-f]{32}$`)
	ageForm    = regexp.MustCompile(`^age1[02-9ac-hj-np-z1]{20,}$`) // a post-quantum recipient has about 2,000 characters
)

// configReader reads one broadside.yaml.
type configReader struct {
	*yamlFile
	cfg   *pipeline.Config
	infos map[string]providers.Info
	names []string // of the providers
	seen  map[string]bool
	// settings are each provider's, compiled once.
	settings map[string]map[string]*setting
}

// LoadConfig reads broadside.yaml. infos are all known providers. The configuration is nil where a diagnostic is an Error.
func LoadConfig(file string, data []byte, infos []providers.Info) (*pipeline.Config, []pipeline.Diagnostic) {
	r := &report{file: file}
	c := newConfigReader(r, infos)
	c.cfg.Path = file
	sum := sha256.Sum256(data)
	c.cfg.Hash = hex.EncodeToString(sum[:])
	if text, ok := clean(data, r); ok {
		c.read(string(text))
	}
	pipeline.SortDiagnostics(r.list)
	if pipeline.HasErrors(r.list) {
		return nil, r.list
	}
	return c.cfg, r.list
}

func newConfigReader(r *report, infos []providers.Info) *configReader {
	c := &configReader{
		yamlFile: &yamlFile{report: r},
		infos:    make(map[string]providers.Info, len(infos)),
		settings: map[string]map[string]*setting{},
		seen:     map[string]bool{},
		cfg: &pipeline.Config{
			Version:       ConfigVersion,
			Posts:         []string{"posts"},
			Ledger:        pipeline.LedgerConfig{Branch: pipeline.DefaultLedgerBranch},
			PublishWithin: schedule.DefaultPublishWithin,
			Media:         pipeline.MediaConfig{Roots: []string{"/"}, Fit: "auto", Alt: "required"},
			Groups:        map[string][]string{},
			People:        map[string]map[string]string{},
		},
	}
	for _, i := range infos {
		c.infos[i.Name] = i
		c.names = append(c.names, i.Name)
	}
	slices.Sort(c.names)
	return c
}

func (c *configReader) read(text string) {
	root, ok := c.parse(text)
	if !ok {
		return
	}
	var entries []entry
	if !null(root) {
		if entries, ok = c.entries(root); !ok {
			c.error(CodeWrongType, c.pos(root), "broadside.yaml is "+kind(root)+", not a map", "write key: value")
			return
		}
	}
	var groups, people *entry
	for i, e := range entries {
		c.seen[e.key] = true
		switch e.key {
		case "groups":
			groups = &entries[i]
		case "people":
			people = &entries[i]
		default:
			c.key(e)
		}
	}
	for _, key := range []string{"version", "timezone"} {
		if !c.seen[key] {
			hint := "add version: 1"
			if key == "timezone" {
				hint = "add the zone for times without an offset, such as timezone: Europe/Berlin"
			}
			c.error(CodeMissingKey, pipeline.Pos{Line: 1, Column: 1}, key+" is missing", hint)
		}
	}
	// Groups and people name destinations.
	if groups != nil && !null(groups.value) {
		c.readGroups(*groups)
	}
	if people != nil && !null(people.value) {
		c.readPeople(*people)
	}
	if !pipeline.HasErrors(c.list) {
		c.schema(root)
	}
}

// schema holds the file against the schema that editors use, so that the two never disagree.
func (c *configReader) schema(root ast.Node) {
	top := entry{key: "broadside.yaml", at: pipeline.Pos{Line: 1, Column: 1}, value: root}
	infos := make([]providers.Info, 0, len(c.infos))
	for _, i := range c.infos {
		infos = append(infos, i)
	}
	slices.SortFunc(infos, func(a, b providers.Info) int { return strings.Compare(a.Name, b.Name) })
	made, err := configSchema(infos)
	var text []byte
	if err == nil {
		text, err = json.Marshal(made)
	}
	if err == nil {
		var compiled *jsonschema.Schema
		if compiled, err = compileSchema("config", string(text)); err == nil {
			c.conforms(compiled, top, c.plain(root))
			return
		}
	}
	c.error(CodeSchema, top.at, err.Error(), "report this")
}

func (c *configReader) key(e entry) {
	if !known(e.key, configKeys) {
		c.unknown(e, configKeys)
		return
	}
	if null(e.value) && e.key != "version" && e.key != "timezone" {
		return // as if the key were not there
	}
	switch e.key {
	case "version":
		c.version(e)
	case "timezone":
		c.timezone(e)
	case "posts":
		c.posts(e)
	case "ledger":
		c.ledger(e)
	case "age":
		c.age(e)
	case "publish_within":
		c.publishWithin(e)
	case "heartbeat_url":
		c.heartbeat(e)
	case "media":
		c.media(e)
	case "destinations":
		c.readDestinations(e)
	}
}

func (c *configReader) version(e entry) {
	n, ok := e.value.(*ast.IntegerNode)
	if !ok {
		c.wrongType(e, "a number", "write version: 1")
		return
	}
	if v, ok := integer(n); !ok || v != ConfigVersion {
		c.error(CodeUnknownVersion, c.pos(e.value), fmt.Sprintf("version %s is not known to this program", n.Token.Value),
			"write version: 1, or use a newer broadside")
	}
}

func (c *configReader) timezone(e entry) {
	s, ok := c.lineText(e)
	if !ok {
		return
	}
	loc, err := schedule.LoadZone(s)
	if err != nil {
		te, _ := asTimeError(err)
		c.error(te.Code, c.pos(e.value), "timezone: "+te.Message, te.Hint)
		return
	}
	c.cfg.Timezone, c.cfg.Location = s, loc
}

// posts reads the folders that hold posts.
func (c *configReader) posts(e entry) {
	items, ok := c.items(e)
	if ok && len(items) == 0 {
		c.error(CodeBadValue, c.pos(e.value), "posts names no folder", "write posts: [posts]")
	}
	var folders []string
	for _, i := range items {
		if _, is := c.entries(i.value); is {
			c.error(CodeUnsupported, i.at, "posts with a format are not supported by this version", "name the folder alone: posts: [posts]")
			continue
		}
		s, good := c.lineText(i)
		if !good {
			continue
		}
		clean := path.Clean(strings.TrimPrefix(s, "/"))
		if clean == ".." || strings.HasPrefix(clean, "../") || strings.Contains(s, "\\") || clean == "." {
			c.error(CodeBadFolder, i.at, fmt.Sprintf("%q is not a folder below the repository's root", short(s)), "write posts: [posts]")
			continue
		}
		for _, f := range folders {
			if f == clean || strings.HasPrefix(clean, f+"/") || strings.HasPrefix(f, clean+"/") {
				c.error(CodeBadFolder, i.at, fmt.Sprintf("the folders %s and %s overlap", f, clean), "keep the outer one")
			}
		}
		folders = append(folders, clean)
	}
	c.cfg.Posts = folders
}

// fields reads a map with known keys and calls set for each that has a value.
func (c *configReader) fields(e entry, keys []string, set func(entry)) bool {
	entries, ok := c.entries(e.value)
	if !ok {
		c.wrongType(e, "a map", "known here: "+strings.Join(keys, ", "))
		return false
	}
	for _, f := range entries {
		if !known(f.key, keys) {
			c.unknown(f, keys)
		} else if !null(f.value) {
			set(f)
		}
	}
	return true
}

func (c *configReader) ledger(e entry) {
	c.fields(e, ledgerKeys, func(f entry) {
		s, ok := c.lineText(f)
		if !ok {
			return
		}
		switch f.key {
		case "branch":
			if !branchForm.MatchString(s) || len(s) > 200 || strings.Contains(s, "..") || strings.HasSuffix(s, ".lock") ||
				strings.HasSuffix(s, ".") {
				c.error(CodeBadValue, c.pos(f.value), fmt.Sprintf("%q cannot be a branch", short(s)), "write branch: "+pipeline.DefaultLedgerBranch)
				return
			}
			c.cfg.Ledger.Branch = s
		case "id":
			if !ledgerID.MatchString(s) {
				c.error(CodeBadValue, c.pos(f.value), "the ledger's id must be 32 hexadecimal digits", "copy it from the output of broadside init; never make one up")
				return
			}
			c.cfg.Ledger.ID = s
		case "signer":
			if !sshKey(s, "ssh-ed25519") {
				c.error(CodeBadKey, c.pos(f.value), "signer must be an ssh-ed25519 public key", "broadside init writes it")
				return
			}
			c.cfg.Ledger.Signer = s
		}
	})
}

// passphrase is the recipient that stands for a passphrase that people share.
const passphrase = "passphrase"

func (c *configReader) age(e entry) {
	c.fields(e, ageKeys, func(f entry) {
		list, at, _ := c.texts(f)
		for i, s := range list {
			if s == passphrase {
				if len(list) > 1 {
					c.error(CodeBadKey, at[i], "passphrase cannot stand beside other recipients", "age does not mix them: keep one kind")
					continue
				}
				c.cfg.Recipients = append(c.cfg.Recipients, s)
				continue
			}
			if (!ageForm.MatchString(s) || len(s) > 4000) && !sshKey(s, "ssh-ed25519", "ssh-rsa") {
				c.error(CodeBadKey, at[i], fmt.Sprintf("%q is not an age recipient", short(s)), "write age1..., ssh-ed25519 ..., ssh-rsa ..., or passphrase alone")
				continue
			}
			if slices.Contains(c.cfg.Recipients, s) {
				c.error(CodeBadKey, at[i], "the same recipient twice", "keep one of them")
				continue
			}
			c.cfg.Recipients = append(c.cfg.Recipients, s)
		}
	})
}

// sshKey tells whether s has the form of a line of authorized_keys with one of these types.
func sshKey(s string, types ...string) bool {
	fields := strings.Fields(s)
	if len(fields) < 2 || !slices.Contains(types, fields[0]) {
		return false
	}
	blob, err := base64.StdEncoding.DecodeString(fields[1])
	if err != nil || len(blob) < 4+len(fields[0]) {
		return false
	}
	return string(blob[4:4+len(fields[0])]) == fields[0]
}

func (c *configReader) publishWithin(e entry) {
	s, ok := c.lineText(e)
	if !ok {
		return
	}
	d, err := schedule.ParseDuration(s)
	if err != nil {
		te, _ := asTimeError(err)
		c.error(te.Code, c.pos(e.value), "publish_within: "+te.Message, te.Hint)
		return
	}
	c.cfg.PublishWithin = d
}

func (c *configReader) heartbeat(e entry) {
	s, ok := c.str(e)
	if !ok || s == "" {
		return
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		c.error(CodeBadURL, c.pos(e.value), "heartbeat_url must be an https:// address", "")
		return
	}
	c.cfg.HeartbeatURL = s
}

func (c *configReader) media(e entry) {
	c.fields(e, mediaKeysC, func(f entry) {
		switch f.key {
		case "roots":
			list, at, ok := c.texts(f)
			for i, s := range list {
				if !strings.HasPrefix(s, "/") || path.Clean(s) != s || strings.Contains(s, "\\") {
					c.error(CodeBadFolder, at[i], fmt.Sprintf("%q is not a media root", short(s)), "write / or a folder below it, such as /static")
					ok = false
				}
			}
			if ok && len(list) > 0 {
				c.cfg.Media.Roots = list
			}
		case "fit":
			if s, ok := c.word(f, "auto", "none"); ok {
				c.cfg.Media.Fit = s
			}
		case "alt":
			if s, ok := c.word(f, "required", "warn", "off"); ok {
				c.cfg.Media.Alt = s
			}
		}
	})
}
