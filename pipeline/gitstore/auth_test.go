package gitstore_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/gitstore/gittest"
)

const password = "s3cret-pässword"

func basic() string {
	return "basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+password))
}

func write(t *testing.T, file, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// place is where one kind of credentials is put: into a checkout, a home, the environment, or the options.
type place struct {
	server, repo, home string
	env                []string
	opt                *gitstore.Options
}

func (p *place) header(t *testing.T) string {
	return write(t, filepath.Join(p.home, "temp", "git-credentials-1.config"), fmt.Sprintf("[http \"%s/\"]\n\textraheader = AUTHORIZATION: %s\n", p.server, basic()))
}

func TestCredentialsAreFoundAsGitWould(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		source string // what AuthSource tells at last
		put    func(t *testing.T, p *place)
	}{
		{"checkout v5: header in the checkout", "extraheader", func(t *testing.T, p *place) {
			gittest.Git(t, p.repo, "config", "http."+p.server+"/.extraheader", "AUTHORIZATION: "+basic())
		}},
		{"checkout v6: includeIf of a file", "extraheader", func(t *testing.T, p *place) {
			cred := p.header(t)
			gittest.Git(t, p.repo, "config", "includeIf.gitdir:"+p.repo+"/.git.path", cred)
			gittest.Git(t, p.repo, "config", "includeIf.gitdir:"+p.repo+"/.git/worktrees/*.path", cred)
			gittest.Git(t, p.repo, "config", "includeIf.gitdir:/github/workspace/.git.path", "/github/runner_temp/none")
		}},
		{"include", "extraheader", func(t *testing.T, p *place) {
			gittest.Git(t, p.repo, "config", "include.path", p.header(t))
		}},
		{"header in the home, for any gitdir below", "extraheader", func(t *testing.T, p *place) {
			p.header(t)
			write(t, filepath.Join(p.home, ".gitconfig"), "[includeIf \"gitdir:"+filepath.Dir(p.repo)+"/\"]\n\tpath = ~/temp/git-credentials-1.config\n")
		}},
		{"header in the environment", "extraheader", func(_ *testing.T, p *place) {
			p.env = append(p.env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http."+p.server+"/.extraHeader", "GIT_CONFIG_VALUE_0=AUTHORIZATION: "+basic())
		}},
		{"condition that only git knows", "extraheader", func(t *testing.T, p *place) {
			gittest.Git(t, p.repo, "config", "remote.origin.url", p.opt.URL)
			gittest.Git(t, p.repo, "config", "includeIf.hasconfig:remote.*.url:"+p.server+"/**.path", p.header(t))
		}},
		{"user and password in the URL", "the remote's URL", func(_ *testing.T, p *place) {
			u, _ := url.Parse(p.opt.URL)
			u.User = url.UserPassword("x-access-token", password)
			p.opt.URL = u.String()
		}},
		{"named variable before all else", "$MY_TOKEN", func(t *testing.T, p *place) {
			gittest.Git(t, p.repo, "config", "http."+p.server+"/.extraheader", "AUTHORIZATION: basic d3Jvbmc6d3Jvbmc=")
			p.env = append(p.env, "MY_TOKEN="+password, "GITHUB_TOKEN=wrong", "GITHUB_SERVER_URL="+p.server)
			p.opt.TokenEnv = "MY_TOKEN"
		}},
		{"token of the job", "$GITHUB_TOKEN", func(_ *testing.T, p *place) {
			p.env = append(p.env, "GITHUB_TOKEN="+password, "GITHUB_SERVER_URL="+p.server)
		}},
		{"netrc", "netrc", func(t *testing.T, p *place) {
			write(t, filepath.Join(p.home, ".netrc"), "machine 127.0.0.1 login x-access-token password "+password+"\n")
		}},
		{"credential helper of the user", "credential helper", func(t *testing.T, p *place) {
			u, _ := url.Parse(p.server)
			u.User = url.UserPassword("x-access-token", password)
			write(t, filepath.Join(p.home, ".git-credentials"), u.String()+"\n")
			write(t, filepath.Join(p.home, ".gitconfig"), "[credential]\n\thelper = store\n")
		}},
		{"credential helper of the checkout", "credential helper", func(t *testing.T, p *place) {
			gittest.Git(t, p.repo, "config", "credential.helper", "!f() { echo username=x-access-token; echo 'password="+password+"'; }; f")
		}},
	} {
		for _, transport := range []string{gitstore.TransportGo, gitstore.TransportGit} {
			t.Run(c.name+"/"+transport, func(t *testing.T) {
				t.Parallel()
				root := t.TempDir()
				dir := gittest.Bare(t, filepath.Join(root, "srv", "repo.git"), "sha1")
				srv := gittest.New(t, filepath.Dir(dir))
				srv.SetAuth("x-access-token", password)
				p := &place{server: srv.URL(""), repo: filepath.Join(root, "work", "repo"), home: filepath.Join(root, "home")}
				if err := os.MkdirAll(p.home, 0o700); err != nil {
					t.Fatal(err)
				}
				gittest.Git(t, root, "init", "-q", "-b", "main", p.repo)
				var mu sync.Mutex
				var told []string
				p.opt = &gitstore.Options{URL: srv.URL("repo.git"), Transport: transport, OnSecret: func(s string) {
					mu.Lock()
					defer mu.Unlock()
					told = append(told, s)
				}}
				c.put(t, p)
				p.opt.Env = clean(p.home, p.env...)
				repo, err := gitstore.DiscoverEnv(p.repo, p.opt.Env)
				if err != nil {
					t.Fatal(err)
				}
				p.opt.Repo = &repo
				r := opening(t, *p.opt)
				defer closing(t, r)
				res := r.Push(t.Context(), one(ledger, "", built(t, r, nil, "a", "1")))
				if res.Outcome != gitstore.Landed {
					t.Fatalf("%v: %v", res.Outcome, res.Err)
				}
				for _, h := range srv.AuthHeaders() {
					if strings.Contains(h, ",") {
						t.Errorf("two headers were sent")
					}
				}
				if strings.Contains(r.URL(), "s3cret") {
					t.Errorf("URL tells the password")
				}
				if transport == gitstore.TransportGit && strings.Contains(c.source, "helper") {
					return // git asks it on its own
				}
				if src := r.(interface{ AuthSource() string }).AuthSource(); !strings.Contains(src, c.source) {
					t.Errorf("source %q, want %q", src, c.source)
				}
				mu.Lock()
				defer mu.Unlock()
				if !slices.Contains(told, password) {
					t.Errorf("OnSecret was told %d secrets, but not the password", len(told))
				}
				if got := r.(interface{ Secrets() []string }).Secrets(); !slices.Equal(got, told) {
					t.Errorf("Secrets %d, told %d", len(got), len(told))
				}
			})
		}
	}
}

// clean is an environment in which only home has configuration.
func clean(home string, more ...string) func(string) string {
	return gittest.Getenv(home, append([]string{"GIT_CONFIG_GLOBAL="}, more...)...)
}

func TestTokensGoToNoOtherServer(t *testing.T) {
	t.Parallel()
	for name, env := range map[string][]string{
		"another server's job": {"GITHUB_TOKEN=" + password, "GITHUB_SERVER_URL=https://github.com"},
		"no server named":      {"GITHUB_TOKEN=" + password},
		"gitlab":               {"CI_JOB_TOKEN=" + password, "CI_SERVER_URL=https://gitlab.com", "GITLAB_CI=true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, _, r := httpRemote(t, gitstore.TransportGo, func(o *gitstore.Options) { o.Env = clean(t.TempDir(), env...) })
			if _, err := r.Refs(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, h := range srv.AuthHeaders() {
				if h != "" {
					t.Error("the token was sent")
				}
			}
		})
	}
}

func TestRefusalTellsWhatToDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env  []string
		want string
	}{
		{nil, "no credentials were found"},
		{[]string{"GITHUB_ACTIONS=true"}, "pass the job's token"},
		{[]string{"T=wrong-token"}, "still valid"},
	} {
		srv, _, r := httpRemote(t, gitstore.TransportGo, func(o *gitstore.Options) {
			o.Env = clean(t.TempDir(), c.env...)
			if strings.HasPrefix(strings.Join(c.env, ""), "T=") {
				o.TokenEnv = "T"
			}
		})
		srv.SetAuth("x-access-token", password)
		res := r.Push(t.Context(), one(ledger, "", built(t, r, nil, "a", "1")))
		var af *gitstore.AuthFailure
		if res.Outcome != gitstore.AuthError || !errors.As(res.Err, &af) || !strings.Contains(res.Err.Error(), c.want) {
			t.Errorf("%v: %v", res.Outcome, res.Err)
		}
		if strings.Contains(res.Err.Error(), "wrong-token") {
			t.Errorf("the error tells the token: %v", res.Err)
		}
	}
	if _, err := gitstore.Open(t.Context(), gitstore.Options{URL: "https://example.com/r", TokenEnv: "UNSET"}); err == nil || !strings.Contains(err.Error(), "UNSET") {
		t.Errorf("an empty token variable: %v", err)
	}
}

func TestRedirectCarriesNoCredentialsElsewhere(t *testing.T) {
	t.Parallel()
	dir := gittest.Bare(t, filepath.Join(t.TempDir(), "repo.git"), "sha1")
	target := gittest.New(t, filepath.Dir(dir))
	from := gittest.New(t, filepath.Dir(dir))
	from.SetRedirect(target.URL(""))
	r := opening(t, gitstore.Options{URL: from.URL("repo.git"), TokenEnv: "T", Env: gittest.Getenv("", "T="+password)})
	defer closing(t, r)
	s := built(t, r, nil, "a", "1")
	if res := r.Push(t.Context(), one(ledger, "", s)); res.Outcome != gitstore.Landed {
		t.Fatalf("%v: %v", res.Outcome, res.Err)
	}
	for _, h := range target.AuthHeaders() {
		if h != "" {
			t.Error("the token followed the redirect")
		}
	}
	if len(from.AuthHeaders()) == 0 || from.AuthHeaders()[0] == "" {
		t.Error("the token did not reach its own server")
	}
}
