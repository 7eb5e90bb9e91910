package faultproxy

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// answer is what the upstream said.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// transport keeps no connection, for net/http repeats a request that meets a closed one.
var transport = &http.Transport{Proxy: nil, DisableKeepAlives: true, DisableCompression: true}

// forward asks the upstream once. A client that has lost patience does not stop it: the request was sent.
func (p *Proxy) forward(req *http.Request, body []byte) (answer, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(req.Context()), time.Minute)
	defer cancel()
	out := req.Clone(ctx)
	out.RequestURI = ""
	out.URL.Scheme, out.URL.Host = p.upstream.Scheme, p.upstream.Host
	base := strings.TrimRight(p.upstream.Path, "/")
	out.URL.Path, out.URL.RawPath = base+req.URL.Path, base+req.URL.EscapedPath()
	out.Host = p.upstream.Host
	out.Body, out.ContentLength, out.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	if len(body) == 0 {
		out.Body = http.NoBody
	}
	for _, hop := range []string{"Connection", "Keep-Alive", "Te", "Trailer", "Upgrade", "Expect"} {
		out.Header.Del(hop)
	}
	resp, err := transport.RoundTrip(out)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, content}, err
}

// writeHeader begins the client's answer with the upstream's status and headers. The length is always said: a body that
// ends with the connection could not be told from one that was cut.
func (a answer) writeHeader(w http.ResponseWriter) {
	for name, values := range a.header {
		if name != "Connection" && name != "Keep-Alive" {
			w.Header()[name] = values
		}
	}
	if len(a.body) > 0 {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(a.status)
}

// write passes the whole answer on.
func (a answer) write(w http.ResponseWriter) {
	a.writeHeader(w)
	_, _ = w.Write(a.body)
}

// cut promises the whole body, sends half of it and closes the connection.
func (a answer) cut(w http.ResponseWriter) {
	a.writeHeader(w)
	_, _ = w.Write(a.body[:len(a.body)/2])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// drop closes the client's connection without a byte of an answer.
func drop(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_ = conn.Close()
}
