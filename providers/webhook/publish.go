package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/internal/api"
)

// Publish implements providers.Publisher.
func (p *Provider) Publish(ctx context.Context, m providers.Message) (providers.Receipt, error) {
	return p.post(ctx, "publish", m, nil)
}

// Reply implements providers.Replier: the message names the one of the part before.
func (p *Provider) Reply(ctx context.Context, m providers.Message, t providers.Thread) (providers.Receipt, error) {
	if !api.ValidID(t.Parent.ID) {
		return providers.Receipt{}, invalid("reply", errors.New("the part before this one has no usable id"))
	}
	return p.post(ctx, "reply", m, &parent{ID: t.Parent.ID, Ref: t.Parent.Ref, URL: t.Parent.URL})
}

func (p *Provider) post(ctx context.Context, op string, m providers.Message, up *parent) (providers.Receipt, error) {
	id, body, err := open(m.Payload, up)
	if err != nil {
		return providers.Receipt{}, invalid(op, err)
	}
	at := p.now()
	r := api.Request{
		Op: op, Method: http.MethodPost, URL: p.address, Write: true, Body: body, ContentType: "application/json",
		Header: http.Header{
			"Webhook-Id":        {id},
			"Webhook-Timestamp": {strconv.FormatInt(at.Unix(), 10)},
			"Webhook-Signature": {sign(p.keys, id, at, body)},
		},
	}
	resp, err := p.client.Do(ctx, r)
	switch {
	case err == nil || (resp != nil && resp.Status >= 200 && resp.Status <= 299):
		// The status is the answer; a body that is cut off, too long or no JSON takes nothing back.
		return p.receipt(id, resp), nil
	case resp == nil || resp.Status < 400:
		return providers.Receipt{}, err
	}
	kind, message := judge(resp)
	return providers.Receipt{}, p.client.Fail(r, resp, kind, "", message)
}

// invalid is the error of a message that is refused before anything is sent.
func invalid(op string, err error) *providers.Error {
	return &providers.Error{Kind: providers.Invalid, Reach: providers.NotSent, Op: Name + ": " + op, Err: err}
}

// judge says what an answer of 400 and above means.
func judge(resp *api.Response) (providers.Kind, string) {
	switch resp.Status {
	case http.StatusGone:
		return providers.Forbidden, "the endpoint is gone and asks not to be called again; add the credential of another one"
	case http.StatusServiceUnavailable:
		// With a time to come back it is the receiver's own refusal, without one anybody's on the way.
		if !api.RetryAt(resp.Header, resp.At).IsZero() {
			return providers.Unavailable, answerText(resp.Body)
		}
	}
	return api.KindOf(resp.Status, true), answerText(resp.Body)
}

// answerText is what a refusal says: the error or message of a JSON object, or the text itself.
func answerText(body []byte) string {
	var e map[string]json.RawMessage
	if json.Unmarshal(body, &e) != nil {
		return string(body[:min(len(body), 1000)])
	}
	for _, name := range []string{"error", "message", "detail"} {
		var s string
		if json.Unmarshal(e[name], &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// receipt is made of a message's id and, where the receiver answers with them, its own id and URL.
func (p *Provider) receipt(id string, resp *api.Response) providers.Receipt {
	r := providers.Receipt{ID: id, SentAt: resp.At.UTC().Truncate(time.Millisecond)}
	var answer struct {
		ID  json.RawMessage `json:"id"`
		URL json.RawMessage `json:"url"`
	}
	if json.Unmarshal(resp.Body, &answer) != nil {
		return r
	}
	// What the receiver says is kept and shown in public: none of it may be the secret address.
	if s := scalar(answer.ID); api.ValidID(s) && p.client.Redact(s) == s {
		r.Ref = s
	}
	if s := scalar(answer.URL); p.client.Redact(s) == s {
		r.URL = api.ValidURL(s)
	}
	return r
}

// scalar is a JSON string or number as text, else "".
func scalar(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}
