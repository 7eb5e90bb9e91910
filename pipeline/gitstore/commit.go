package gitstore

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// commitObject is what this package reads of a commit.
type commitObject struct {
	tree    Hash
	parents []Hash
	when    time.Time // committer time; zero where it cannot be read
}

func parseCommit(f ObjectFormat, raw []byte) (commitObject, error) {
	var c commitObject
	head, _, _ := bytes.Cut(raw, []byte("\n\n"))
	for i, line := range strings.Split(string(head), "\n") {
		key, value, _ := strings.Cut(line, " ")
		switch {
		case i == 0:
			if key != "tree" || !f.valid(Hash(value)) {
				return c, errors.New("malformed commit: no tree")
			}
			c.tree = Hash(value)
		case key == "parent":
			if !f.valid(Hash(value)) {
				return c, errors.New("malformed commit: bad parent")
			}
			c.parents = append(c.parents, Hash(value))
		case key == "committer" && c.when.IsZero():
			c.when = identTime(value)
		}
	}
	return c, nil
}

// identTime reads the time at the end of an author or committer line.
func identTime(ident string) time.Time {
	fields := strings.Fields(ident[strings.LastIndexByte(ident, '>')+1:])
	if len(fields) == 0 {
		return time.Time{}
	}
	sec, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return time.Time{}
	}
	zone := time.UTC
	if len(fields) > 1 {
		if n, err := strconv.Atoi(fields[1]); err == nil && len(fields[1]) == 5 {
			off := (n/100)*3600 + (n%100)*60
			if off != 0 {
				zone = time.FixedZone("", off)
			}
		}
	}
	return time.Unix(sec, 0).In(zone)
}

// CommitTime is the committer time of a commit.
func CommitTime(s Snapshot) time.Time {
	head, _, _ := bytes.Cut(s.Raw(), []byte("\n\n"))
	for line := range strings.SplitSeq(string(head), "\n") {
		if v, ok := strings.CutPrefix(line, "committer "); ok {
			return identTime(v)
		}
	}
	return time.Time{}
}

// Build makes the objects of a new commit, as Remote.Build does.
func (o *Objects) Build(c Commit) (Snapshot, error) {
	var parent *snapshot
	var base, baseTree Hash
	if c.Parent != nil {
		p, err := o.owned(c.Parent)
		if err != nil {
			return nil, fmt.Errorf("build a commit: parent: %w", err)
		}
		parent, base, baseTree = p, p.id, p.commit.tree
	}
	changes, err := changeTree(c.Changes)
	if err != nil {
		return nil, fmt.Errorf("build a commit: %w", err)
	}
	tree, err := o.apply(baseTree, "", changes)
	if err != nil {
		return nil, fmt.Errorf("build a commit: %w", err)
	}
	if tree == "" {
		if tree, err = o.putTree(nil); err != nil {
			return nil, err
		}
	}
	raw, err := encodeCommit(o.format, c, tree, base)
	if err != nil {
		return nil, fmt.Errorf("build a commit: %w", err)
	}
	id := o.Put(KindCommit, raw)
	o.mu.Lock()
	o.built[id] = base
	o.mu.Unlock()
	return o.snapshot(id, parent == nil || parent.complete)
}

func encodeCommit(f ObjectFormat, c Commit, tree, parent Hash) ([]byte, error) {
	if c.When.IsZero() {
		return nil, errors.New("a commit needs a time")
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "tree %s\n", tree)
	if parent != "" {
		fmt.Fprintf(&b, "parent %s\n", parent)
	}
	for _, also := range c.Also {
		if !f.valid(also) {
			return nil, fmt.Errorf("parent %q is not a full %s id", also, f)
		}
		fmt.Fprintf(&b, "parent %s\n", also)
	}
	who := fmt.Sprintf("%s <%s> %d %s", identText(c.Name, "unknown"), identText(c.Email, "unknown@localhost"), c.When.Unix(), c.When.Format("-0700"))
	fmt.Fprintf(&b, "author %s\ncommitter %s\n", who, who)
	head := b.Len()
	msg := strings.ReplaceAll(c.Message, "\x00", "")
	if !strings.HasSuffix(msg, "\n") {
		msg += "\n"
	}
	b.WriteString("\n" + msg)
	raw := b.Bytes()
	if c.Sign == nil {
		return raw, nil
	}
	sig, err := c.Sign(slices.Clone(raw))
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	sig = strings.TrimRight(sig, "\n")
	if sig == "" || strings.Contains(sig, "\n\n") {
		return nil, errors.New("sign: not an armored signature")
	}
	header := signatureHeader(f) + " " + strings.ReplaceAll(sig, "\n", "\n ") + "\n"
	return slices.Concat(raw[:head], []byte(header), raw[head:]), nil
}

// signatureHeader is the commit header that holds a signature over ids of format f.
func signatureHeader(f ObjectFormat) string {
	if f == SHA256 {
		return "gpgsig-sha256"
	}
	return "gpgsig"
}

// identText drops what would break an author line, which must not have empty parts either.
func identText(s, empty string) string {
	s = strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < 0x20 || r == '<' || r == '>' || r == 0x7f {
			return -1
		}
		return r
	}, s))
	if s == "" {
		return empty
	}
	return s
}
