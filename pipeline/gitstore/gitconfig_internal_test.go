package gitstore

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// gitList reads a configuration file with git.
func gitList(t *testing.T, file string) ([]setting, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "config", "--file", file, "--no-includes", "--list", "-z")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/", "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var list []setting
	for item := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if item == "" {
			continue
		}
		key, value, ok := strings.Cut(item, "\n")
		if !ok {
			value = "true"
		}
		section, rest, _ := strings.Cut(key, ".")
		s := setting{section: section, value: value}
		if i := strings.LastIndexByte(rest, '.'); i >= 0 {
			s.sub, rest = rest[:i], rest[i+1:]
		}
		s.key = rest
		list = append(list, s)
	}
	return list, nil
}

func configSamples() []string {
	return []string{
		"",
		"[core]\n\trepositoryformatversion = 0\n\tbare\n\tfilemode = true # comment\n",
		"[remote \"origin\"]\n\turl = https://example.com/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
		"[a] b = c\n[a \"S.ub \\\"x\\\" \\\\\"] K-1 = v ; c\n",
		"[user]\n name = \"  spaced  \" tail  \n x = a\\tb\\\\c\\\"d\\n\n long = one \\\n   two\n",
		"[http \"https://github.com/\"]\r\n\textraheader = AUTHORIZATION: basic abc==\r\n",
		"; comment\n# comment\n[x]\n\ty=\n\tz = \"\"\n[X]\n\tY = 2\n",
		"\ufeff[bom]\na=1\n",
		"[old.Sub]\nkey = 1\n",
		"[includeIf \"gitdir:/home/x/.git\"]\n\tpath = /tmp/cred.config\n",
		"[q]\n\ta = x \"y # z\" w # tail\n\tb = \"un;quoted\"more\n",
		"[bad\n", "[x]\n1a = b\n", "[x]\na = \"open\n", "[x]\na = \\q\n", "[x \"open\n\"]\n", "[x]\na b\n", "[]\n",
	}
}

func TestConfigReadsAsGitDoes(t *testing.T) {
	t.Parallel()
	for i, text := range configSamples() {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "config")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			want, gitErr := gitList(t, file)
			got, err := parseConfig(text)
			if (err != nil) != (gitErr != nil) {
				t.Fatalf("error %v, git says %v", err, gitErr)
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(setting{})); err == nil && diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzParseConfig(f *testing.F) {
	for _, s := range configSamples() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		settings, err := parseConfig(text)
		if err != nil {
			return
		}
		for _, s := range settings {
			if s.section == "" || s.key == "" || s.key != strings.ToLower(s.key) {
				t.Errorf("setting %+v", s)
			}
		}
	})
}

func TestWildmatchIsGits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"/home/x/.git", "/home/x/.git", true},
		{"/home/*/.git", "/home/x/.git", true},
		{"/home/*/.git", "/home/x/y/.git", false},
		{"/home/**", "/home/x/y/.git", true},
		{"**/work/**", "/home/me/work/repo/.git", true},
		{"**/.git", "/a/b/.git", true},
		{"**/.git", ".git", true},
		{"/a/**/b", "/a/b", true},
		{"/a/**/b", "/a/x/y/b", true},
		{"/a/**/b", "/a/xb", false},
		{"/w/.git/worktrees/*", "/w/.git/worktrees/one", true},
		{"/w/.git/worktrees/*", "/w/.git", false},
		{"release/?.[0-9]", "release/1.2", true},
		{"release/?.[!0-9]", "release/1.2", false},
		{"a\\*", "a*", true},
		{"a\\*", "ab", false},
		{"", "", true},
		{"", "x", false},
	} {
		if got := wildmatch(c.pattern, c.text); got != c.want {
			t.Errorf("wildmatch(%q, %q) = %v", c.pattern, c.text, got)
		}
	}
}

func TestExtraHeadersFollowGitsPrecedence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ config, url, want string }{
		{"[http \"https://github.com/\"]\nextraheader = A: 1\n", "https://github.com/o/r", "A: 1"},
		{"[http \"https://github.com\"]\nextraheader = A: 1\n", "https://github.com/o/r", "A: 1"},
		{"[http \"https://github.com/\"]\nextraheader = A: 1\n", "http://github.com/o/r", ""},
		{"[http \"https://github.com/\"]\nextraheader = A: 1\n", "https://github.com.evil.example/o/r", ""},
		{"[http \"https://github.com/\"]\nextraheader = A: 1\n", "https://github.com:8443/o/r", ""},
		{"[http \"https://github.com:443/\"]\nextraheader = A: 1\n", "https://github.com/o/r", "A: 1"},
		{"[http \"https://*.example.com/\"]\nextraheader = A: 1\n", "https://git.example.com/o/r", "A: 1"},
		{"[http \"https://h/o\"]\nextraheader = A: 1\n", "https://h/other/r", ""},
		{"[http \"https://h/o\"]\nextraheader = A: 1\n[http \"https://h/\"]\nextraheader = B: 2\n", "https://h/o/r", "A: 1"},
		{"[http]\nextraheader = G: 0\n[http \"https://h/\"]\nextraheader = A: 1\n", "https://h/o/r", "G: 0|A: 1"},
		{"[http \"https://h/\"]\nextraheader = A: 1\n[http]\nextraheader = G: 0\n", "https://h/o/r", "A: 1"},
		{"[http \"https://h/\"]\nextraheader = A: 1\nextraheader =\nextraheader = A: 2\n", "https://h/o/r", "A: 2"},
		{"[http \"https://me@h/\"]\nextraheader = A: 1\n", "https://h/o/r", ""},
	} {
		settings, err := parseConfig(c.config)
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range (&gitConfig{settings}).extraHeaders(u) {
			got = append(got, h.key+": "+h.value)
		}
		if s := strings.Join(got, "|"); s != c.want {
			t.Errorf("%q for %s: %q, want %q", c.config, c.url, s, c.want)
		}
	}
}

func TestNetrcFindsTheMachine(t *testing.T) {
	t.Parallel()
	text := "# comment\nmachine other login x password y\nmacdef init\ncd /tmp\nmachine example.com login wrong password wrong\n\n" +
		"machine example.com\n\tlogin me\n\tpassword s3cret\nmachine example.com login you password yours\ndefault login anonymous password guest\n"
	for _, c := range []struct{ host, user, login, password string }{
		{"example.com", "", "me", "s3cret"},
		{"EXAMPLE.com", "you", "you", "yours"},
		{"elsewhere", "", "anonymous", "guest"},
		{"example.com", "nobody", "", ""},
	} {
		login, password, ok := parseNetrc(text, c.host, c.user)
		if login != c.login || password != c.password || ok != (c.password != "") {
			t.Errorf("%s %s: %q %q %v", c.host, c.user, login, password, ok)
		}
	}
}

func TestAddressKeepsSecretsOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ raw, scheme, host, path, clean string }{
		{"https://u:p4ss@example.com/o/r.git", "https", "example.com", "/o/r.git", "https://example.com/o/r.git"},
		{"HTTPS://example.com:8443/o/r", "https", "example.com", "/o/r", "https://example.com:8443/o/r"},
		{"git@github.com:o/r.git", "ssh", "github.com", "o/r.git", "git@github.com:o/r.git"},
		{"ssh://git:p4ss@host:2222/~me/r.git", "ssh", "host", "~me/r.git", "ssh://git@host:2222/~me/r.git"},
		{"file:///srv/r.git", "file", "", "/srv/r.git", "file:///srv/r.git"},
		{"/srv/r.git", "file", "", "/srv/r.git", "file:///srv/r.git"},
		{"../r.git", "file", "", "/base/r.git", "file:///base/r.git"},
		{"ext::sh -c x", "ext", "", "", "ext::sh -c x"},
		{"git://host/r", "git", "host", "/r", "git://host/r"},
	} {
		a, err := parseAddress(c.raw, "/base/dir")
		if err != nil {
			t.Errorf("%s: %v", c.raw, err)
			continue
		}
		if a.scheme != c.scheme || a.host != c.host || a.path != c.path || a.clean != c.clean {
			t.Errorf("%s: %+v", c.raw, a)
		}
	}
	for _, bad := range []string{
		"", "-oProxyCommand=x", "ssh://-oProxyCommand=x/r", "host:-x", "https:///r", "https://u:p4ss@ho st/%zz", "x\ny",
		"https://h/x%0ahost=example.com", "https://h/x%0d", "https://h/x%00", "https://u%0ahost=example.com@h/r", "https://u:p4ss%0a@h/r",
		"ssh://git%0a@h/r", "ssh://h/r%1b", "file:///srv/r%0a", "git://h/r%7f", "https://h%0a/r", "x\ty", "git@h:r\x1b", "https://h/r%C2%85",
	} {
		_, err := parseAddress(bad, "/base")
		if err == nil {
			t.Errorf("%q was accepted", bad)
		} else if strings.Contains(err.Error(), "p4ss") {
			t.Errorf("%q: the error tells the password: %v", bad, err)
		}
	}
}
