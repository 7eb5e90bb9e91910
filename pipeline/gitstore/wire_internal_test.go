package gitstore

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
)

func TestJudgeNeedsAnExplicitOK(t *testing.T) {
	t.Parallel()
	o := NewObjects(SHA1)
	base := Hash(strings.Repeat("1", 40))
	tree, err := o.putTree(nil)
	if err != nil {
		t.Fatal(err)
	}
	id := o.Put(KindCommit, fmt.Appendf(nil, "tree %s\nparent %s\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n\nm\n", tree, base))
	s, err := o.Snapshot(id)
	if err != nil {
		t.Fatal(err)
	}
	child := Update{Ref: "refs/heads/x", Old: base, New: s}
	other := Update{Ref: "refs/heads/x", Old: Hash(strings.Repeat("2", 40)), New: s}
	mark := Update{Ref: "refs/heads/mark", Old: base, New: s}
	for _, c := range []struct {
		report string // lines
		said   string
		todo   []Update
		want   Outcome
	}{
		{"unpack ok|ok refs/heads/x", "", []Update{child}, Landed},
		{"unpack ok", "", []Update{child}, Unknown},
		{"unpack ok|ok refs/heads/other", "", []Update{child}, Unknown},
		{"unpack index-pack abnormal exit|ng refs/heads/x unpacker error", "", []Update{child}, Rejected},
		{"unpack ok|ng refs/heads/x failed to update ref", "", []Update{child}, LostRace},
		{"unpack ok|ng refs/heads/x cannot lock ref 'refs/heads/x': is at aaaa but expected bbbb", "", []Update{child}, LostRace},
		{"unpack ok|ng refs/heads/x failed to update ref", "error: cannot lock ref 'refs/heads/x': is at " + string(id) + " but expected " + string(base), []Update{child}, Landed},
		{"unpack ok|ng refs/heads/x fetch first", "", []Update{child}, LostRace},
		{"unpack ok|ng refs/heads/x non-fast-forward", "", []Update{child}, LostRace},
		{"unpack ok|ng refs/heads/x non-fast-forward", "", []Update{other}, Rejected},
		{"unpack ok|ng refs/heads/x protected branch hook declined", "error: GH006: Protected branch update failed", []Update{child}, Rejected},
		{"unpack ok|ng refs/heads/x push declined due to repository rule violations", "error: GH013: Repository rule violations found", []Update{child}, Rejected},
		{"unpack ok|ng refs/heads/x pre-receive hook declined", "GitLab: You are not allowed to push code to protected branches on this project.", []Update{child}, Rejected},
		{"unpack ok|ng refs/heads/x failure", "fatal error in commit_refs", []Update{child}, Unknown},
		{"unpack ok|ng refs/heads/x Internal Server Error", "", []Update{child}, Unknown},
		{"unpack ok|ng refs/heads/x permission denied", "", []Update{child}, AuthError},
		{"unpack ok|ng refs/heads/x something new", "", []Update{child}, Rejected},
		{"unpack ok|ok refs/heads/x|ok refs/heads/mark", "", []Update{child, mark}, Landed},
		{"unpack ok|ok refs/heads/x", "", []Update{child, mark}, Unknown},
		{"unpack ok|ng refs/heads/x atomic transaction failed|ng refs/heads/mark atomic transaction failed", "error: cannot lock ref 'refs/heads/mark': is at a but expected b", []Update{child, mark}, LostRace},
		{"unpack ok|ng refs/heads/x atomic push failure|ng refs/heads/mark hook declined", "", []Update{child, mark}, Rejected},
	} {
		report := packp.NewReportStatus()
		var b bytes.Buffer
		for line := range strings.SplitSeq(c.report, "|") {
			pkt(&b, "%s\n", line)
		}
		b.WriteString("0000")
		if err := report.Decode(&b); err != nil {
			t.Fatal(err)
		}
		got, err := judge(report, c.todo, c.said)
		if got != c.want || (err == nil) != (got == Landed) {
			t.Errorf("%q, %q: %v (%v), want %v", c.report, c.said, got, err, c.want)
		}
	}
}

func TestAdvertOfSHA256IsToldApart(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	pkt(&b, "%s refs/heads/main\x00report-status object-format=sha256\n", strings.Repeat("a", 64))
	b.WriteString("0000")
	if _, err := readAdvert(&b); !errors.Is(err, ErrObjectFormat) || !strings.Contains(err.Error(), "git transport") {
		t.Errorf("error %v", err)
	}
}

func adverts() []string {
	id := strings.Repeat("1", 40)
	var full, empty, v1 bytes.Buffer
	pkt(&full, "# service=git-upload-pack\n")
	full.WriteString("0000")
	pkt(&full, "%s HEAD\x00multi_ack side-band-64k filter symref=HEAD:refs/heads/main agent=git/2\n", id)
	pkt(&full, "%s refs/heads/main\n", id)
	pkt(&full, "%s refs/tags/v1\n", id)
	pkt(&full, "%s refs/tags/v1^{}\n", id)
	pkt(&full, "shallow %s\n", id)
	full.WriteString("0000")
	pkt(&empty, "%s capabilities^{}\x00report-status atomic\n", strings.Repeat("0", 40))
	empty.WriteString("0000")
	pkt(&v1, "version 1\n")
	pkt(&v1, "%s refs/heads/main\x00report-status\n", id)
	v1.WriteString("0000")
	return []string{full.String(), empty.String(), v1.String(), "0000", "", "<html>", "0009ERR x"}
}

func TestAdvertIsRead(t *testing.T) {
	t.Parallel()
	all := adverts()
	a, err := readAdvert(strings.NewReader(all[0]))
	if err != nil || a.head != "refs/heads/main" || len(a.refs) != 2 || !a.has("filter") {
		t.Errorf("%+v, %v", a, err)
	}
	a, err = readAdvert(strings.NewReader(all[1]))
	if err != nil || len(a.refs) != 0 || !a.has("atomic") {
		t.Errorf("%+v, %v", a, err)
	}
	a, err = readAdvert(strings.NewReader(all[2]))
	if err != nil || len(a.refs) != 1 {
		t.Errorf("%+v, %v", a, err)
	}
	for _, bad := range append(all[4:], all[0][:len(all[0])-4], "000cbad line0000") {
		if a, err := readAdvert(strings.NewReader(bad)); err == nil {
			t.Errorf("%q was read as %+v", bad, a)
		}
	}
}

func FuzzReadAdvert(f *testing.F) {
	for _, s := range adverts() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := readAdvert(bytes.NewReader(data))
		if err != nil {
			return
		}
		for name, id := range a.refs {
			if !strings.HasPrefix(name, "refs/") || !SHA1.valid(id) {
				t.Errorf("ref %q at %q", name, id)
			}
		}
	})
}

func FuzzObjects(f *testing.F) {
	f.Add([]byte("100644 a\x0012345678901234567890"), []byte("tree "+strings.Repeat("1", 40)+"\n\nm"))
	f.Fuzz(func(t *testing.T, tree, commit []byte) {
		if entries, err := parseTree(SHA1, tree); err == nil {
			for _, e := range entries {
				if e.name == "" || !SHA1.valid(e.id) {
					t.Errorf("entry %+v", e)
				}
			}
		}
		if _, err := parseCommit(SHA1, commit); err == nil {
			o := NewObjects(SHA1)
			if _, err := o.Snapshot(o.Put(KindCommit, bytes.Clone(commit))); err != nil {
				t.Error(err)
			}
		}
	})
}
