package webhook_test

import (
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/providertest"
	"github.com/broadside-pub/broadside/providers/webhook"
	"github.com/broadside-pub/broadside/providers/webhook/webhooktest"
)

func harness(o webhooktest.Options, deviations map[string]string) providertest.Harness {
	all := map[string]string{
		"no secret in an address":    "the address is the secret that the user gave",
		"upload tells what is wrong": "messages name media and do not hold them: nothing is uploaded that could go wrong",
	}
	maps.Copy(all, deviations)
	return providertest.Harness{
		Info: webhook.Info(),
		Start: func(_ testing.TB, now func() time.Time) providertest.Network {
			o := o
			o.Now = now
			r := webhooktest.New(o)
			return providertest.Network{Handler: r, Config: r.Config(), Posts: func() []providertest.Post { return posts(r) }}
		},
		Samples: func() []providers.Draft {
			return []providers.Draft{{
				Title: "Release", Lang: "en", Parts: []providers.DraftPart{part("One"), part("Two")},
				Settings: map[string]any{"extra": map[string]any{"channel": "news", "n": 3, "list": []any{"a", true}}},
			}}
		},
		CheckRequest: func(r *http.Request, body []byte) error {
			_, err := webhooktest.Verify(webhooktest.Secret, r.Header, body, time.Now())
			return err
		},
		Deviations: all,
	}
}

func posts(r *webhooktest.Receiver) []providertest.Post {
	var out []providertest.Post
	for _, m := range r.Messages() {
		p := providertest.Post{ID: m.ID, Text: m.Body.Data.Text, Lang: m.Body.Data.Lang}
		if m.Body.Data.Parent != nil {
			p.Parent = m.Body.Data.Parent.ID
		}
		for _, f := range m.Body.Data.Media {
			p.Media = append(p.Media, providertest.Media{SHA256: f.SHA256, Alt: f.Alt})
		}
		out = append(out, p)
	}
	return out
}

func part(text string) providers.DraftPart {
	return providers.DraftPart{Doc: providers.Doc{Blocks: []providers.Block{
		{Kind: providers.Paragraph, Spans: []providers.Span{{Text: text}}},
	}}}
}

func TestWebhookKeepsTheContractWithAReceiverThatDeduplicates(t *testing.T) {
	t.Parallel()
	providertest.Run(t, harness(webhooktest.Options{Deduplicate: true, Answer: true}, nil))
}

func TestWebhookKeepsTheContractWithAReceiverThatDoesNot(t *testing.T) {
	t.Parallel()
	const reason = "this receiver takes every message, as most do"
	providertest.Run(t, harness(webhooktest.Options{}, map[string]string{
		"same key posts once": reason, "same key posts once in a thread": reason,
	}))
}
