package gitstore

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// credentials are the headers that open an http remote, with where they came from.
type credentials struct {
	source  string
	headers []header
}

// httpCredentials finds credentials as git would, without asking a helper yet: TokenEnv, the URL, the tokens of CI, the
// configured extra headers, netrc. None is not an error: a public repository can be read without.
func (o *opener) httpCredentials(ctx context.Context) (credentials, error) {
	if name := o.opt.TokenEnv; name != "" {
		token := strings.TrimSpace(o.env(name))
		if token == "" {
			return credentials{}, fmt.Errorf("the variable %s, which should hold the git token, is empty", name)
		}
		return o.tokenCredentials("$"+name, o.tokenUser(), token), nil
	}
	if u := o.addr.user; u != nil {
		if len(u.Username()) >= tokenLength {
			o.secrets.add(u.Username())
		}
		if password, ok := u.Password(); ok && password != "" {
			return o.tokenCredentials("the remote's URL", u.Username(), password), nil
		}
	}
	if c, ok := o.ciCredentials(); ok {
		return c, nil
	}
	if headers := o.cfg.extraHeaders(o.addr.url); len(headers) > 0 {
		return o.headerCredentials(headers), nil
	}
	if c, ok := o.gitConfigCredentials(ctx); ok {
		return c, nil
	}
	if c, ok := o.netrcCredentials(); ok {
		return c, nil
	}
	if u := o.addr.user; u != nil && len(u.Username()) >= tokenLength {
		return o.tokenCredentials("the remote's URL", u.Username(), ""), nil
	}
	return credentials{}, nil
}

// tokenLength is from where on a user name in a URL is taken for a token, which some put there.
const tokenLength = 20

func (o *opener) tokenCredentials(source, user, token string) credentials {
	return credentials{source, []header{o.secrets.basicAuth(user, token)}}
}

func (o *opener) headerCredentials(headers []header) credentials {
	for _, h := range headers {
		o.secrets.rawHeader(h)
	}
	return credentials{"git's http.extraheader", headers}
}

// tokenUser is the user name that goes with a bare token. Most forges take any; Bitbucket does not.
func (o *opener) tokenUser() string {
	if u := o.addr.user; u != nil && u.Username() != "" {
		return u.Username()
	}
	switch {
	case strings.HasSuffix(o.addr.host, "bitbucket.org"):
		return "x-token-auth"
	case o.env("GITLAB_CI") != "" || strings.Contains(o.addr.host, "gitlab"):
		return "oauth2"
	}
	return "x-access-token"
}

// ciCredentials uses the job's own token, only for the very server that the job runs on.
func (o *opener) ciCredentials() (credentials, bool) {
	if server := o.env("GITHUB_SERVER_URL"); o.isServer(server) {
		for _, name := range []string{"GITHUB_TOKEN", "GH_TOKEN"} {
			if token := o.env(name); token != "" {
				return o.tokenCredentials("$"+name, "x-access-token", token), true
			}
		}
	}
	server := o.env("CI_SERVER_URL")
	if server == "" && o.env("CI_SERVER_HOST") != "" {
		server = "https://" + o.env("CI_SERVER_HOST")
	}
	if token := o.env("CI_JOB_TOKEN"); token != "" && o.isServer(server) {
		return o.tokenCredentials("$CI_JOB_TOKEN", "gitlab-ci-token", token), true
	}
	return credentials{}, false
}

func (o *opener) isServer(server string) bool {
	if server == "" {
		return false
	}
	u, err := url.Parse(server)
	return err == nil && u.Host != "" && u.Scheme == o.addr.url.Scheme && sameOrigin(u, o.addr.url)
}

// askHelpers asks git's credential helpers, once the remote has refused what there is; as git, it does not prompt here.
func (o *opener) askHelpers(ctx context.Context) (credentials, bool) {
	g, err := o.git()
	if err != nil {
		return credentials{}, false
	}
	if o.addr.hasControl() {
		return credentials{}, false // the protocol has one field a line
	}
	var b strings.Builder
	fmt.Fprintf(&b, "protocol=%s\nhost=%s\n", o.addr.scheme, o.addr.url.Host)
	if p := strings.TrimPrefix(o.addr.url.Path, "/"); p != "" {
		fmt.Fprintf(&b, "path=%s\n", p)
	}
	if o.addr.user != nil && o.addr.user.Username() != "" {
		fmt.Fprintf(&b, "username=%s\n", o.addr.user.Username())
	}
	b.WriteString("\n")
	args := append(o.repoArgs(), "-c", "core.askPass=true", "credential", "fill")
	out, err := g.output(ctx, b.String(), args...)
	if err != nil {
		return credentials{}, false
	}
	m := map[string]string{}
	for line := range strings.SplitSeq(out, "\n") {
		if k, v, ok := strings.Cut(line, "="); ok {
			m[k] = v
		}
	}
	if m["password"] == "" {
		return credentials{}, false
	}
	return o.tokenCredentials("git's credential helper", m["username"], m["password"]), true
}

// repoArgs point git at the checkout's configuration, unless the checkout belongs to another user: then its settings
// could run that user's commands.
func (o *opener) repoArgs() []string {
	if o.opt.Repo == nil || !o.trusted {
		return []string{"--git-dir=" + nullDevice()}
	}
	return []string{"--git-dir=" + o.opt.Repo.GitDir, "-c", "safe.bareRepository=explicit", "-c", "core.fsmonitor=false"}
}

// gitConfigCredentials lets git itself evaluate its configuration, which knows conditions that extraHeaders does not.
func (o *opener) gitConfigCredentials(ctx context.Context) (credentials, bool) {
	g, err := o.git()
	if err != nil {
		return credentials{}, false
	}
	args := append(o.repoArgs(), "config", "--get-urlmatch", "http.extraheader", o.addr.clean)
	out, err := g.output(ctx, "", args...)
	if err != nil {
		return credentials{}, false
	}
	h, ok := parseHeader(strings.TrimSpace(out))
	if !ok {
		return credentials{}, false
	}
	return o.headerCredentials([]header{h}), true
}

// explainHTTP adds to a refusal what a person can do about it.
func (o *opener) explainHTTP(err error, source string) error {
	var he *HTTPError
	hint := ""
	switch {
	case !errors.As(err, &he):
	case source == "" && o.env("GITHUB_ACTIONS") == "true":
		hint = "pass the job's token to the step (env: GITHUB_TOKEN: ${{ github.token }}), or let actions/checkout persist it"
	case source == "":
		hint = "no credentials were found: set a token in a variable and name it, configure a credential helper of git, or use the git transport"
	case he.Status == 403 && o.env("GITHUB_ACTIONS") == "true":
		hint = "does the job have `permissions: contents: write`?"
	case he.Status == 403 && o.env("GITLAB_CI") == "true":
		hint = "is \"Allow Git push requests\" enabled for job tokens (Settings > CI/CD), or use a project access token?"
	case he.Status == 404:
		hint = "does the repository exist, and may these credentials see it?"
	default:
		hint = "are the credentials still valid, and may they write here?"
	}
	return &AuthFailure{URL: o.addr.clean, Source: source, Hint: hint, Cause: err}
}
