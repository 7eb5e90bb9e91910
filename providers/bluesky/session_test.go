package bluesky

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/providers"
)

const (
	nsidLogin   = "com.atproto.server.createSession"
	nsidRefresh = "com.atproto.server.refreshSession"
	nsidLogout  = "com.atproto.server.deleteSession"
	nsidWho     = "com.atproto.server.getSession"
)

// jwt makes a token that says what claims holds; nobody could verify it.
func jwt(claims string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}

func TestNeedsRefreshReadsTheTokensEnd(t *testing.T) {
	t.Parallel()
	exp := func(in time.Duration) string { return jwt(fmt.Sprintf(`{"exp":%d}`, testStart.Add(in).Unix())) }
	p := newRig(t).provider(t)
	for token, want := range map[string]bool{
		"": true, "opaque": true, "a.b.c": true, jwt(`{}`): true, jwt(`{"exp":"soon"}`): true, jwt(`{"exp":-1}`): true,
		jwt(`{"exp":1e300}`): true, exp(4 * time.Minute): true, exp(-time.Hour): true, exp(6 * time.Minute): false, exp(2 * time.Hour): false,
		jwt(`{"exp":` + fmt.Sprint(testStart.Add(time.Hour).Unix()) + `.5}`): false,
	} {
		c := providers.Credential{Secrets: map[string]string{secretAccess: token}}
		if got := p.NeedsRefresh(c, testStart); got != want {
			t.Errorf("%q: %t", token, got)
		}
	}
	if !p.NeedsRefresh(providers.Credential{}, testStart) {
		t.Error("a credential without secrets needs no session")
	}
}

func TestRefreshLogsInOnceAndRefreshesFromThenOn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.login(t)
	first := r.cfg.Credential
	if first.Seq != 1 || first.Secrets[secretPassword] != r.account.AppPassword || p.NeedsRefresh(first, r.clock.now()) {
		t.Fatalf("after the login: seq %d, needs refresh %t", first.Seq, p.NeedsRefresh(first, r.clock.now()))
	}
	for i := range 200 {
		r.clock.add(119 * time.Minute)
		before := r.cfg.Credential
		p = r.login(t)
		c := r.cfg.Credential
		if c.Seq != i+2 || c.Secrets[secretRefresh] == before.Secrets[secretRefresh] || c.Login != "login-1" || !c.Expires.IsZero() {
			t.Fatalf("refresh %d: seq %d, login %q, expires %s", i, c.Seq, c.Login, c.Expires)
		}
	}
	if n := r.Count(nsidLogin); n != 1 {
		t.Errorf("%d logins", n)
	}
	if a, err := p.Check(t.Context()); err != nil || a.ID != r.account.DID {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestRefreshSurvivesALostAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.through(loseAnswers(nsidRefresh, 1))
	p := r.login(t)
	before := r.cfg.Credential.Clone()
	r.clock.add(2 * time.Hour)
	got, err := p.Refresh(t.Context(), r.cfg.Credential)
	if e := providers.AsError(err); e == nil || e.Kind != providers.Unavailable {
		t.Fatalf("got %v", err)
	}
	if d := cmp.Diff(before, got); d != "" {
		t.Errorf("the credential changed: %s", d)
	}
	if d := cmp.Diff(before, r.cfg.Credential); d != "" {
		t.Errorf("the given credential changed: %s", d)
	}
	r.clock.add(time.Hour) // within the grace of the token that was spent
	r.login(t)
	if n := r.Count(nsidLogin); n != 1 {
		t.Errorf("%d logins", n)
	}
}

func TestRefreshFallsBackOnTheAppPassword(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
	}{
		"expired":     {http.StatusBadRequest, `{"error":"ExpiredToken","message":"Token has been revoked"}`},
		"expired 401": {http.StatusUnauthorized, `{"error":"ExpiredToken"}`},
		"invalid":     {http.StatusBadRequest, `{"error":"InvalidToken","message":"Token could not be verified"}`},
		"invalid 401": {http.StatusUnauthorized, `{"error":"InvalidToken"}`},
	} {
		r := newRig(t)
		r.login(t)
		r.through(answer(nsidRefresh, c.status, c.body))
		r.login(t)
		if n := r.Count(nsidLogin); n != 2 || r.cfg.Credential.Seq != 2 {
			t.Errorf("%s: %d logins, seq %d", name, n, r.cfg.Credential.Seq)
		}
	}
	for name, c := range map[string]struct {
		status int
		body   string
		kind   providers.Kind
	}{
		"down":       {http.StatusBadGateway, `<html>`, providers.Unavailable},
		"throttled":  {http.StatusTooManyRequests, `{"error":"RateLimitExceeded"}`, providers.Throttled},
		"taken down": {http.StatusUnauthorized, `{"error":"AccountTakedown"}`, providers.Forbidden},
		"no answer":  {http.StatusOK, `{}`, providers.Unknown},
		"no tokens":  {http.StatusOK, `{"did":"did:plc:x","handle":"a.test","accessJwt":""}`, providers.Unknown},
		"bad token":  {http.StatusOK, `{"did":"did:plc:x","handle":"a.test","accessJwt":"a\r\nb"}`, providers.Unknown},
		"not json":   {http.StatusOK, `<html>`, providers.Unknown},
	} {
		r := newRig(t)
		r.login(t)
		before := r.cfg.Credential.Clone()
		r.through(answer(nsidRefresh, c.status, c.body))
		got, err := r.provider(t).Refresh(t.Context(), r.cfg.Credential)
		if e := providers.AsError(err); e == nil || e.Kind != c.kind {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(before, got); d != "" || r.Count(nsidLogin) != 1 {
			t.Errorf("%s: %d logins, %s", name, r.Count(nsidLogin), d)
		}
	}
}

func TestRefreshKeepsTheOldTokenWhereTheAnswerHasNone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.login(t)
	old := r.cfg.Credential.Secrets[secretRefresh]
	body := fmt.Sprintf(`{"did":%q,"handle":"alice.test","accessJwt":"new","refreshJwt":""}`, r.account.DID)
	r.through(answer(nsidRefresh, http.StatusOK, body))
	r.login(t)
	if s := r.cfg.Credential.Secrets; s[secretRefresh] != old || s[secretAccess] != "new" || s[secretPassword] == "" {
		t.Error("a secret was lost")
	}
}

func TestRefreshSkipsATokenThatIsOver(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.login(t)
	r.clock.add(91 * 24 * time.Hour)
	r.login(t)
	if n, m := r.Count(nsidLogin), r.Count(nsidRefresh); n != 2 || m != 0 {
		t.Errorf("%d logins, %d refreshes", n, m)
	}
}

func TestRefreshWithoutAPasswordLivesOnTheToken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.login(t)
	delete(r.cfg.Credential.Secrets, secretPassword)
	r.login(t)
	if want := r.clock.now().Add(90 * 24 * time.Hour); !r.cfg.Credential.Expires.Equal(want.Truncate(time.Second)) {
		t.Errorf("expires %s, want %s", r.cfg.Credential.Expires, want)
	}
	r.clock.add(91 * 24 * time.Hour)
	_, err := r.provider(t).Refresh(t.Context(), r.cfg.Credential)
	wantKind(t, err, providers.Unauthorized, true)
}

func TestRefreshSaysThatThePasswordIsWrong(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.ChangeAppPassword(r.account.DID)
	_, err := r.provider(t).Refresh(t.Context(), r.cfg.Credential)
	e := wantKind(t, err, providers.Unauthorized, true)
	if !strings.Contains(e.Error(), "app password") || strings.Contains(e.Error(), r.account.AppPassword) {
		t.Errorf("says %v", e.Error())
	}
	r.cfg.Credential.Secrets = map[string]string{}
	_, err = r.provider(t).Refresh(t.Context(), r.cfg.Credential)
	if e := wantKind(t, err, providers.Unauthorized, true); e.Reach != providers.NotSent {
		t.Errorf("reach %v", e.Reach)
	}
}

func TestRefreshWaitsWhereLoginsAreLimited(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Logins = 1
	r.login(t)
	delete(r.cfg.Credential.Secrets, secretRefresh)
	r.clock.add(time.Minute)
	_, err := r.provider(t).Refresh(t.Context(), r.cfg.Credential)
	e := wantKind(t, err, providers.Throttled, true)
	if want := testStart.Add(5 * time.Minute).Truncate(time.Second); !e.RetryAt.Equal(want) {
		t.Errorf("retry at %s, want %s", e.RetryAt, want)
	}
}

func TestLoginAsksForTheRightAccount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*rig)
		want   func(*rig) string
	}{
		"identifier first": {func(r *rig) { r.cfg.Credential.Secrets[secretIdentifier] = "@Alice.Test" }, func(r *rig) string { return "alice.test" }},
		"then the DID":     {func(r *rig) { r.cfg.Account = "renamed.test" }, func(r *rig) string { return r.account.DID }},
		"then the handle":  {func(r *rig) { r.cfg.TargetID, r.cfg.Credential.Account = "", "" }, func(r *rig) string { return "alice.test" }},
	} {
		r := newRig(t)
		c.change(r)
		r.login(t)
		if body := string(r.Requests()[0].Body); !strings.Contains(body, fmt.Sprintf("%q", c.want(r))) {
			t.Errorf("%s: not as %s", name, c.want(r))
		}
	}
}

func TestSessionOfAnotherAccountIsRefusedEverywhere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	other := r.AddAccount("mallory.test")
	access, refresh := r.Session(other.DID)
	r.cfg.Credential.Secrets = map[string]string{
		secretIdentifier: other.Handle, secretPassword: other.AppPassword, secretAccess: access, secretRefresh: refresh,
	}
	p := r.provider(t)
	m := providers.Message{Payload: []byte(`{"record":{"text":"x"},"rkey":"3lwafzkjqm25s"}`)}
	calls := map[string]func() error{
		"Publish": func() error { _, err := p.Publish(t.Context(), m); return err },
		"Find":    func() error { _, err := p.Find(t.Context(), providers.Query{Message: m}); return err },
		"Check":   func() error { _, err := p.Check(t.Context()); return err },
		"Upload":  func() error { _, err := p.Upload(t.Context(), pngOf(t, 1, 1, 1, "")); return err },
		"Refresh": func() error { _, err := p.Refresh(t.Context(), r.cfg.Credential); return err },
		"Login": func() error {
			c := r.cfg.Credential.Clone()
			delete(c.Secrets, secretRefresh)
			_, err := p.Refresh(t.Context(), c)
			return err
		},
		"Delete": func() error {
			return p.Delete(t.Context(), providers.Receipt{ID: atURI(r.account.DID, "3lwafzkjqm25s")})
		},
	}
	for name, call := range calls {
		e := wantKind(t, call(), providers.Forbidden, true)
		if s := e.Error(); !strings.Contains(s, other.DID) || !strings.Contains(s, r.account.DID) || strings.Contains(s, access) {
			t.Errorf("%s says %s", name, s)
		}
	}
	if n := r.Count(nsidPut) + r.Count(nsidUpload); n != 0 {
		t.Errorf("%d writes", n)
	}
}

func TestNewRefusesACredentialOfAnotherHost(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for server, ok := range map[string]bool{
		r.cfg.Server: true, r.cfg.Server + "/": true, "https://evil.test": false, "": false, "::": false, "bsky.social": false,
	} {
		cfg := r.cfg
		cfg.Server = server
		if _, err := New(cfg); (err == nil) != ok {
			t.Errorf("%q: %v", server, err)
		}
	}
	cfg := r.cfg
	cfg.Server, cfg.Credential.Host = "", "bsky.social"
	if _, err := New(cfg); err != nil {
		t.Error(err)
	}
	cfg.TargetID = "alice.test"
	if _, err := New(cfg); err == nil {
		t.Error("a handle is taken for a target's id")
	}
}

func TestCheckReadsTheSession(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.login(t)
	got, err := p.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := providers.Account{
		ID: r.account.DID, Handle: "alice.test", URL: "https://bsky.app/profile/" + r.account.DID, Scopes: []string{"com.atproto.appPass"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if r.Count(nsidWho) != 1 || r.Count(nsidLogin) != 1 {
		t.Errorf("%d reads, %d logins", r.Count(nsidWho), r.Count(nsidLogin))
	}
}

func TestCheckTriesTheAppPasswordWhereNoSessionIsAlive(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.provider(t)
	got, err := p.Check(t.Context())
	if err != nil || got.ID != r.account.DID || got.Handle != "alice.test" {
		t.Fatalf("%+v, %v", got, err)
	}
	if r.Count(nsidLogin) != 1 || r.Count(nsidLogout) != 1 {
		t.Errorf("%d logins, %d logouts", r.Count(nsidLogin), r.Count(nsidLogout))
	}
	r.ChangeAppPassword(r.account.DID)
	_, err = p.Check(t.Context())
	wantKind(t, err, providers.Unauthorized, true)
	r.cfg.Credential.Secrets = nil
	_, err = r.provider(t).Check(t.Context())
	wantKind(t, err, providers.Unauthorized, true)
}

func TestCheckSaysThatAnAccountIsNotActive(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.login(t)
	r.SetStatus(r.account.DID, "deactivated")
	_, err := p.Check(t.Context())
	if e := wantKind(t, err, providers.Forbidden, true); !strings.Contains(e.Error(), "deactivated") {
		t.Errorf("says %v", e.Error())
	}
	_, err = p.Refresh(t.Context(), r.cfg.Credential)
	wantKind(t, err, providers.Forbidden, true)
	m := providers.Message{Payload: []byte(`{"record":{"text":"x"},"rkey":"3lwafzkjqm25s"}`)}
	_, err = p.Publish(t.Context(), m)
	wantKind(t, err, providers.Forbidden, true)
}

func TestExpiredSessionAsksForARefresh(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.login(t)
	m := seal(t.Context(), t, p, encode(t, draft("x")), testKey, testStart)[0]
	r.clock.add(3 * time.Hour)
	_, err := p.Publish(t.Context(), m)
	e := wantKind(t, err, providers.Unauthorized, true)
	if e.Code != "ExpiredToken" || !strings.Contains(e.Message, "refresh") {
		t.Errorf("says %v", e.Error())
	}
	send(t.Context(), t, r.login(t), []providers.Message{m})
}
