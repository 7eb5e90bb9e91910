package mastodon_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/mastodon"
	"github.com/broadside-pub/broadside/providers/mastodon/mastodontest"
	"github.com/broadside-pub/broadside/providers/providertest"
)

func harness(t *testing.T, o mastodontest.Options) providertest.Harness {
	t.Helper()
	h := providertest.Harness{
		Info: mastodon.Info(),
		Start: func(_ testing.TB, now func() time.Time) providertest.Network {
			o := o
			o.Now = now
			s := mastodontest.New(o)
			return providertest.Network{Handler: s, Config: mastodontest.Config(), Posts: func() []providertest.Post { return posts(s) }}
		},
		Samples: samples,
	}
	// With the description at hand every request of the suite is held against it; that it is at hand is another test's
	// business.
	d, err := loadDescription()
	switch {
	case err == nil:
		h.CheckRequest = func(r *http.Request, body []byte) error { return d.checkRequest(r, body) }
	case !errors.Is(err, errNoSpecs):
		t.Fatal(err)
	}
	return h
}

func posts(s *mastodontest.Server) []providertest.Post {
	var out []providertest.Post
	for _, st := range s.Statuses() {
		p := providertest.Post{ID: st.ID, Parent: st.InReplyTo, Text: st.Text, Lang: st.Language}
		for _, m := range st.Media {
			p.Media = append(p.Media, providertest.Media{SHA256: m.SHA256, Alt: m.Description})
		}
		out = append(out, p)
	}
	return out
}

func samples() []providers.Draft {
	thread := []providers.DraftPart{part("One"), part("Two"), part("Three")}
	return []providers.Draft{
		{Parts: []providers.DraftPart{part("With a warning")}, Settings: map[string]any{
			"content_warning": "release notes", "visibility": "unlisted", "language": "en-GB",
		}},
		{Parts: thread, Settings: map[string]any{
			"visibility": "private", "sensitive": true,
			"poll": map[string]any{"options": []any{"yes", "no"}, "expires_in": "24h", "multiple": true},
		}},
		{Parts: []providers.DraftPart{part("Dear @bob@example.org")}, Settings: map[string]any{"visibility": "direct"}},
	}
}

func part(text string) providers.DraftPart {
	return providers.DraftPart{Doc: providers.Doc{Blocks: []providers.Block{
		{Kind: providers.Paragraph, Spans: []providers.Span{{Text: text}}},
	}}}
}

func TestMastodonKeepsTheContract(t *testing.T) {
	t.Parallel()
	providertest.Run(t, harness(t, mastodontest.Options{}))
}

func TestMastodonKeepsTheContractWhereMediaTakeTime(t *testing.T) {
	t.Parallel()
	providertest.Run(t, harness(t, mastodontest.Options{Processing: 3}))
}

func TestMastodonKeepsTheContractOnAServerOfV1(t *testing.T) {
	t.Parallel()
	providertest.Run(t, harness(t, mastodontest.Options{
		NoV2Instance: true, NoConfig: true, NoMediaV2: true, NoSource: true, Version: "3.5.19",
	}))
}
