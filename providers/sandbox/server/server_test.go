package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/providers/sandbox/server"
)

var noon = time.Date(2026, 12, 3, 12, 0, 0, 0, time.UTC)

// box is a sandbox with two accounts whose clock a test moves.
type box struct {
	t *testing.T
	*server.Server
	now         time.Time
	demo, other server.Login
}

func newBox(t *testing.T) *box {
	t.Helper()
	b := &box{t: t, now: noon}
	b.Server = server.New(server.Options{Now: func() time.Time { return b.now }, BaseURL: "http://sandbox.test/"})
	var err error
	if b.demo, err = b.AddAccount("demo"); err != nil {
		t.Fatal(err)
	}
	if b.other, err = b.AddAccount("@other"); err != nil {
		t.Fatal(err)
	}
	return b
}

// do sends a request; header is "Name: value" lines.
func (b *box) do(method, path, token, body string, header ...string) *httptest.ResponseRecorder {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), method, "http://sandbox.test"+path, strings.NewReader(body))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range header {
		k, v, _ := strings.Cut(h, ": ")
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	return w
}

// want fails unless the answer has this status, and returns its body as JSON.
func (b *box) want(status int, w *httptest.ResponseRecorder) map[string]any {
	b.t.Helper()
	if w.Code != status {
		b.t.Fatalf("HTTP %d, want %d: %s", w.Code, status, w.Body)
	}
	var v map[string]any
	if w.Body.Len() > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
			b.t.Fatalf("%v: %s", err, w.Body)
		}
	}
	return v
}

func (b *box) post(text, parent string) string {
	b.t.Helper()
	body := fmt.Sprintf(`{"text":%q,"visibility":"public","in_reply_to":%q}`, text, parent)
	return b.want(201, b.do("POST", "/api/v1/posts", b.demo.Token, body))["id"].(string)
}

func picture(t *testing.T) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := png.Encode(&buf, image.NewGray(image.Rect(0, 0, 4, 3))); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// upload sends a file with its alt text.
func (b *box) upload(data []byte, mime, alt string) *httptest.ResponseRecorder {
	b.t.Helper()
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	p, err := w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="file"; filename="f"`}, "Content-Type": {mime},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	_, _ = p.Write(data)
	_ = w.WriteField("alt", alt)
	_ = w.Close()
	return b.do("POST", "/api/v1/media", b.demo.Token, buf.String(), "Content-Type: "+w.FormDataContentType())
}

func TestPostsAreCheckedAndKept(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	media := b.want(201, b.upload(picture(t), "image/png", "A chart"))["id"].(string)
	for name, c := range map[string]struct {
		body   string
		status int
	}{
		"plain":             {`{"text":"hi","visibility":"public"}`, 201},
		"media":             {`{"text":"","visibility":"private","media":[{"id":"` + media + `","alt":"A chart"}]}`, 201},
		"other alt text":    {`{"text":"","visibility":"public","media":[{"id":"` + media + `","alt":"x"}]}`, 422},
		"unknown media":     {`{"text":"","visibility":"public","media":[{"id":"m0"}]}`, 422},
		"empty":             {`{"text":"","visibility":"public"}`, 422},
		"no visibility":     {`{"text":"hi"}`, 422},
		"too long":          {`{"text":"` + strings.Repeat("x", 501) + `","visibility":"public"}`, 422},
		"mark inside ü":     {`{"text":"ü","visibility":"public","marks":[{"start":0,"end":1,"kind":"bold"}]}`, 422},
		"mark outside":      {`{"text":"a","visibility":"public","marks":[{"start":0,"end":2,"kind":"bold"}]}`, 422},
		"mark upside down":  {`{"text":"a","visibility":"public","marks":[{"start":1,"end":0,"kind":"bold"}]}`, 422},
		"unknown mark":      {`{"text":"a","visibility":"public","marks":[{"start":0,"end":1,"kind":"blink"}]}`, 422},
		"mention of nobody": {`{"text":"a","visibility":"public","marks":[{"start":0,"end":1,"kind":"mention","account":"x"}]}`, 422},
		"mention":           {`{"text":"a","visibility":"public","marks":[{"start":0,"end":1,"kind":"mention","account":"` + b.other.ID + `"}]}`, 201},
		"poll":              {`{"text":"a","visibility":"public","poll":{"options":["a","b"],"hours":1}}`, 201},
		"poll of one":       {`{"text":"a","visibility":"public","poll":{"options":["a"],"hours":1}}`, 422},
		"unknown field":     {`{"text":"a","visibility":"public","shout":true}`, 400},
		"two values":        {`{"text":"a","visibility":"public"} {}`, 400},
		"no JSON":           {`hello`, 400},
		"unknown parent":    {`{"text":"a","visibility":"public","in_reply_to":"1"}`, 404},
	} {
		if w := b.do("POST", "/api/v1/posts", b.demo.Token, c.body); w.Code != c.status {
			t.Errorf("%s: HTTP %d, want %d: %s", name, w.Code, c.status, w.Body)
		}
	}
	if n := len(b.Posts("demo")); n != 4 {
		t.Errorf("%d posts were kept, want 4", n)
	}
}

func TestTokenOpensItsOwnAccountOnly(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	id := b.post("mine", "")
	for _, c := range []struct {
		method, path, token string
		status              int
	}{
		{"GET", "/api/v1/posts/" + id, b.demo.Token, 200},
		{"GET", "/api/v1/posts/" + id, b.other.Token, 403},
		{"DELETE", "/api/v1/posts/" + id, b.other.Token, 403},
		{"GET", "/api/v1/posts/" + id, "", 401},
		{"GET", "/api/v1/posts/" + id, "sbx_wrong", 401},
		{"GET", "/api/v1/account", b.other.Token, 200},
		{"GET", "/api/v1/accounts/demo", b.other.Token, 200},
		{"GET", "/api/v1/accounts/nobody", b.other.Token, 404},
		{"GET", "/api/v1/instance", "", 200},
		{"GET", "/api/v1/nothing", b.demo.Token, 404},
	} {
		if w := b.do(c.method, c.path, c.token, ""); w.Code != c.status {
			t.Errorf("%s %s: HTTP %d, want %d", c.method, c.path, w.Code, c.status)
		}
	}
	if err := b.Revoke("demo"); err != nil {
		t.Fatal(err)
	}
	b.want(401, b.do("GET", "/api/v1/account", b.demo.Token, ""))
	login, err := b.Renew("demo")
	if err != nil || login.Token == b.demo.Token {
		t.Fatalf("renewed: %+v, %v", login, err)
	}
	b.want(200, b.do("GET", "/api/v1/account", login.Token, ""))
	for _, bad := range []string{"", "A", "a b", "-a", strings.Repeat("a", 64), "../x"} {
		if _, err := b.AddAccount(bad); err == nil {
			t.Errorf("the handle %q is taken", bad)
		}
	}
}

func TestListPagesBack(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	var want []string
	for i := range 7 {
		want = append([]string{b.post(fmt.Sprint("post ", i), "")}, want...)
	}
	b.want(204, b.do("DELETE", "/api/v1/posts/"+want[3], b.demo.Token, ""))
	b.want(404, b.do("DELETE", "/api/v1/posts/"+want[3], b.demo.Token, ""))
	var got []string
	before := ""
	for pages := 0; ; pages++ {
		v := b.want(200, b.do("GET", "/api/v1/posts?limit=2&before="+before, b.demo.Token, ""))
		for _, p := range v["posts"].([]any) {
			got = append(got, p.(map[string]any)["id"].(string))
		}
		if before = v["next"].(string); before == "" {
			break
		}
		if pages > 10 {
			t.Fatal("the pages have no end")
		}
	}
	if diff := cmp.Diff(append(append([]string{}, want[:3]...), want[4:]...), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b.want(400, b.do("GET", "/api/v1/posts?before=1", b.demo.Token, ""))
}

func TestContainerIsPublishedOnceAndExpires(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	create := func() string {
		v := b.want(201, b.do("POST", "/api/v1/containers", b.demo.Token, `{"text":"x","visibility":"public"}`))
		return "/api/v1/containers/" + v["id"].(string)
	}
	c := create()
	b.want(409, b.do("POST", c+"/publish", b.demo.Token, `{}`))
	b.want(200, b.do("POST", c+"/process", b.demo.Token, ""))
	b.want(410, b.do("POST", c+"/process", b.other.Token, ""))
	b.want(201, b.do("POST", c+"/publish", b.demo.Token, `{"in_reply_to":""}`))
	v := b.want(409, b.do("POST", c+"/publish", b.demo.Token, `{}`))
	if id := v["error"].(map[string]any)["id"]; id != b.Posts("")[0].ID {
		t.Errorf("a second publication names %v", id)
	}
	late := create()
	b.now = b.now.Add(25 * time.Hour)
	b.want(410, b.do("POST", late+"/process", b.demo.Token, ""))
}

func TestUploadIsChecked(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	for name, c := range map[string]struct {
		data      []byte
		mime, alt string
		status    int
	}{
		"picture":      {picture(t), "image/png", "x", 201},
		"empty":        {nil, "image/png", "", 422},
		"page":         {[]byte("<html><script>alert(1)</script>"), "text/html", "", 422},
		"page in png":  {[]byte("<html><script>alert(1)</script>"), "image/png", "", 422},
		"long alt":     {picture(t), "image/png", strings.Repeat("x", 1001), 422},
		"large":        {append(picture(t), make([]byte, 5_000_000)...), "image/png", "", 422},
		"other format": {picture(t), "image/gif", "", 422},
	} {
		if w := b.upload(c.data, c.mime, c.alt); w.Code != c.status {
			t.Errorf("%s: HTTP %d, want %d: %s", name, w.Code, c.status, w.Body)
		}
	}
	b.want(415, b.do("POST", "/api/v1/media", b.demo.Token, `{}`))
}

func TestPageShowsWhatArrivedAndEscapesIt(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	media := b.want(201, b.upload(picture(t), "image/png", `A "chart" <b>`))["id"].(string)
	root := b.post("<script>alert(1)</script> שלום", "")
	second := b.post("second part", root)
	b.want(201, b.do("POST", "/api/v1/posts", b.demo.Token, `{"text":"with media and link","lang":"de","visibility":"unlisted",`+
		`"content_warning":"careful","sensitive":true,"tags":["go"],"media":[{"id":"`+media+`","alt":"A \"chart\" <b>"}],`+
		`"marks":[{"start":0,"end":4,"kind":"bold"},{"start":15,"end":19,"kind":"link","url":"javascript:alert(1)"},`+
		`{"start":5,"end":10,"kind":"link","url":"https://example.com/?a=b&c"}]}`, "Sandbox-Post: launch-1-0"))
	b.want(201, b.do("POST", "/api/v1/posts", b.demo.Token, `{"text":"gone soon","visibility":"public","keep_days":1}`))

	w := b.do("GET", "/", "", "")
	page := w.Body.String()
	for _, want := range []string{
		"&lt;script&gt;alert(1)&lt;/script&gt;", "second part", `alt="A &#34;chart&#34; &lt;b&gt;"`, "/media/" + media, "@demo",
		`<span class="bold">with</span>`, `href="https://example.com/?a=b&amp;c"`, "<summary>careful</summary>", `lang="de"`,
		"launch-1-0", `dir="auto"`, "#go", "alt: A &#34;chart&#34;",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, bad := range []string{"<script", "javascript:", "http://", "//cdn"} {
		if strings.Contains(strings.ReplaceAll(page, "http://sandbox.test", ""), bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if strings.Index(page, "second part") < strings.Index(page, "alert(1)") {
		t.Error("the thread is upside down")
	}
	csp := w.Header().Get("Content-Security-Policy")
	if !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") || w.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("headers: %v", w.Header())
	}

	one := b.do("GET", "/@demo/"+second, "", "").Body.String()
	if !strings.Contains(one, "second part") || !strings.Contains(one, "alert(1)") || strings.Contains(one, "with media") {
		t.Error("a post's page does not show its thread alone")
	}
	b.now = b.now.Add(25 * time.Hour)
	if strings.Contains(b.do("GET", "/@demo", "", "").Body.String(), "gone soon") {
		t.Error("a post is shown past its days")
	}
	for path, status := range map[string]int{
		"/@nobody": 404, "/@demo/1": 404, "/@other/" + second: 404, "/x": 404, "/media/x": 404, "/style.css": 200, "/faults": 200,
		"/media/" + media: 200, "/../etc": 404,
	} {
		w := b.do("GET", path, "", "")
		if w.Code != status && (w.Code != http.StatusTemporaryRedirect && w.Code != http.StatusMovedPermanently) {
			t.Errorf("%s: HTTP %d, want %d", path, w.Code, status)
		}
	}
	if w := b.do("POST", "/", "", "x"); w.Code != 405 {
		t.Errorf("POST /: HTTP %d", w.Code)
	}
}

func TestAdminSetsFaultsAndAccounts(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	got := b.want(201, b.do("POST", "/admin/faults", "", `{"fault":"rate_limit","seconds":5,"times":2,"part":1}`))
	if got["op"] != "publish" || got["form"] != "retry_after_seconds" || got["id"] == "" {
		t.Errorf("the rule is %v", got)
	}
	if w := b.do("POST", "/api/v1/posts", b.demo.Token, `{"text":"a","visibility":"public"}`); w.Code != 429 || w.Header().Get("Retry-After") != "5" {
		t.Errorf("HTTP %d, %v", w.Code, w.Header())
	}
	for _, bad := range []string{
		`{"fault":"explode"}`, `{"fault":"slow","form":"x"}`, `{"fault":"slow","op":"x"}`, `{"fault":"server_error","status":200}`,
		`{"fault":"slow","seconds":-1}`, `{"fault":"slow","skip":-1}`,
	} {
		b.want(422, b.do("POST", "/admin/faults", "", bad))
	}
	b.want(400, b.do("POST", "/admin/faults", "", `{"fault":"slow","what":1}`))
	b.want(204, b.do("DELETE", "/admin/faults/"+got["id"].(string), "", ""))
	b.want(404, b.do("DELETE", "/admin/faults/"+got["id"].(string), "", ""))
	id := b.post("hello", "")
	login := b.want(201, b.do("POST", "/admin/accounts", "", `{"handle":"third","expiring":true}`))
	if login["refresh_token"] == nil {
		t.Errorf("the login is %v", login)
	}
	b.want(422, b.do("POST", "/admin/accounts", "", `{"handle":"No Good"}`))
	b.want(204, b.do("POST", "/admin/accounts/third/revoke", "", ""))
	b.want(200, b.do("POST", "/admin/accounts/third/renew", "", ""))
	b.want(404, b.do("POST", "/admin/accounts/nobody/renew", "", ""))
	if w := b.do("GET", "/admin/posts?account=demo", "", ""); !strings.Contains(w.Body.String(), id) {
		t.Errorf("posts: %s", w.Body)
	}
	if w := b.do("GET", "/admin/requests", "", ""); !strings.Contains(w.Body.String(), `"fault":"rate_limit"`) || strings.Contains(w.Body.String(), b.demo.Token) {
		t.Errorf("requests: %s", w.Body)
	}
	b.want(204, b.do("POST", "/admin/reset", "", ""))
	if len(b.Posts("")) != 0 || len(b.Requests()) != 0 || len(b.Logins()) != 3 {
		t.Error("reset forgets too little or too much")
	}
	if w := b.do("POST", "/admin/reset", "", "", "Sec-Fetch-Site: cross-site"); w.Code != http.StatusForbidden {
		t.Errorf("another site's page: HTTP %d", w.Code)
	}
}

// TestServerIsSafeForConcurrentUse is for the race detector, and counts: one key, many clients, one post.
func TestServerIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	s := server.New(server.Options{Now: time.Now})
	login, err := s.AddAccount("demo")
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 10 {
				send(t, h.URL+"/api/v1/posts", login.Token, fmt.Sprintf(`{"text":"one %d","visibility":"public"}`, i), fmt.Sprint("key ", i))
				send(t, h.URL+"/api/v1/posts", login.Token, `{"text":"each","visibility":"public"}`, fmt.Sprint(worker, i))
				for _, path := range []string{"/", "/faults", "/admin/posts", "/admin/requests"} {
					send(t, h.URL+path, "", "", "")
				}
				if r, err := s.AddRule(server.Rule{Fault: server.Denied, Account: "nobody"}); err == nil {
					s.DeleteRule(r.ID)
				}
			}
		})
	}
	wg.Wait()
	if n := len(s.Posts("")); n != 90 {
		t.Errorf("%d posts, want 10 that were sent by all and 80 others", n)
	}
}

func send(t *testing.T, address, token, body, key string) {
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", key)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode >= 400 {
		t.Errorf("%s: HTTP %d", address, resp.StatusCode)
	}
}
