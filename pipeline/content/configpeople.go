package content

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/broadside-pub/broadside/pipeline"
)

// personForm is the form of the names in people.
var personForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`)

func (c *configReader) readGroups(e entry) {
	entries, ok := c.entries(e.value)
	if !ok {
		c.wrongType(e, "a map from group names to lists of destinations", "")
		return
	}
	for _, g := range entries {
		if !nameForm.MatchString(g.key) {
			c.badName(g, "a group")
			continue
		}
		if _, clash := c.cfg.Destination(g.key); clash {
			c.error(CodeNameClash, g.at, fmt.Sprintf("%s is a destination and a group", g.key), "rename one of them")
			continue
		}
		list, at, good := c.texts(g)
		if good && len(list) == 0 {
			c.error(CodeBadValue, g.at, "the group "+g.key+" is empty", "name destinations, or remove it")
		}
		var members []string
		for i, name := range list {
			if _, is := c.cfg.Destination(name); !is {
				c.unknownMember(at[i], name, "a group names destinations only")
			} else if !slices.Contains(members, name) {
				members = append(members, name)
			}
		}
		c.cfg.Groups[g.key] = members
	}
}

func (c *configReader) unknownMember(at pipeline.Pos, name, otherwise string) {
	var names []string
	for _, d := range c.cfg.Destinations {
		names = append(names, d.Name)
	}
	hint := didYouMean(name, names)
	if hint == "" {
		hint = otherwise
	}
	c.error(CodeUnknownDestination, at, fmt.Sprintf("unknown destination %q", short(name)), hint)
}

func (c *configReader) readPeople(e entry) {
	entries, ok := c.entries(e.value)
	if !ok {
		c.wrongType(e, "a map from names to handles", "")
		return
	}
	for _, p := range entries {
		if !personForm.MatchString(p.key) {
			c.error(CodeBadName, p.at, fmt.Sprintf("%q cannot be a person's name", short(p.key)), "use letters, digits, _ and -")
			continue
		}
		handles := map[string]string{}
		c.cfg.People[p.key] = handles
		if null(p.value) {
			continue
		}
		list, ok := c.entries(p.value)
		if !ok {
			c.wrongType(p, "a map from destinations to handles", "write "+p.key+": {bluesky: name.example.com}")
			continue
		}
		for _, h := range list {
			names, unknown := c.cfg.Expand([]string{h.key})
			if len(unknown) > 0 {
				c.unknownMember(h.at, h.key, "people have handles at destinations")
				continue
			}
			s, good := c.lineText(h)
			if !good {
				continue
			}
			s = strings.TrimPrefix(s, "@")
			if s == "" || len(s) > 256 || strings.ContainsAny(s, " {}<>\"'`\\") {
				c.error(CodeBadHandle, c.pos(h.value), fmt.Sprintf("%q cannot be a handle", short(s)), "write it as the network does, without @ at the start")
				continue
			}
			for _, n := range names {
				if _, own := handles[n]; !own || n == h.key {
					handles[n] = s
				}
			}
		}
	}
}

func (c *configReader) badName(e entry, what string) {
	c.error(CodeBadName, e.at, fmt.Sprintf("%q cannot be %s's name", short(e.key), what), "use a-z, 0-9 and -, beginning with a letter or digit")
}
