package sandbox

import (
	"context"
	"fmt"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/internal/api"
)

// mostPages bounds how far back Find looks.
const mostPages = 100

// Find implements providers.Finder: it reads the account's own posts, the newest first, back to q.Since.
func (p *Provider) Find(ctx context.Context, q providers.Query) (providers.Receipt, error) {
	want, err := parsePayload(q.Message.Payload)
	if err != nil {
		return providers.Receipt{}, err
	}
	if q.Thread != nil {
		want.InReplyTo = q.Thread.Parent.ID
	}
	var found *post
	before := ""
	for range mostPages {
		var page postPage
		if err := p.do(ctx, listRequest(before), &page); err != nil {
			return providers.Receipt{}, err
		}
		if page.Posts == nil {
			return providers.Receipt{}, p.unsure("the list of posts is not one")
		}
		for _, got := range page.Posts {
			if !api.ValidID(got.ID) || got.PublishedAt.IsZero() {
				return providers.Receipt{}, p.unsure("the list holds a post without id or time")
			}
			if got.PublishedAt.Before(q.Since) {
				return receiptOf(found)
			}
			if got.equal(want) && !q.Taken(got.ID) {
				found = &got // the oldest of several is the one that was claimed
			}
		}
		if page.Next == "" {
			return receiptOf(found)
		}
		before = page.Next
	}
	return providers.Receipt{}, p.unsure(fmt.Sprintf("more than %d pages of posts since the claim", mostPages))
}

func receiptOf(found *post) (providers.Receipt, error) {
	if found == nil {
		return providers.Receipt{}, providers.ErrNotFound
	}
	return found.receipt(found.PublishedAt), nil
}

func (p *Provider) unsure(why string) error {
	return p.client.Fail(api.Request{Op: "find"}, nil, providers.Unknown, "", why)
}
