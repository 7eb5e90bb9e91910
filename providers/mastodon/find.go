package mastodon

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/internal/api"
)

const (
	pageSize = 40 // the most that Mastodon gives
	maxPages = 50
)

// Find implements providers.Finder by the account's own statuses. It says ErrNotFound only where everything back to
// q.Since was seen, nothing there resembles the part, and the server is known to list what has this visibility.
func (p *Provider) Find(ctx context.Context, q providers.Query) (providers.Receipt, error) {
	want, err := parsePayload(q.Message.Payload)
	if err != nil {
		return providers.Receipt{}, invalid("find", err)
	}
	me, err := p.me(ctx, "find")
	if err != nil {
		return providers.Receipt{}, err
	}
	software, err := p.serverSoftware(ctx)
	if err != nil {
		return providers.Receipt{}, err
	}
	m := matcher{p: p, want: want, genuine: software.genuine}
	if q.Thread != nil {
		m.parent = q.Thread.Parent.ID
	}
	since := q.Since.Truncate(time.Second) // servers may tell times in seconds
	recent, whole, err := p.recent(ctx, me.ID, since)
	if err != nil {
		return providers.Receipt{}, err
	}

	var found *status
	doubt := ""
	for i, s := range recent {
		if q.Taken != nil && q.Taken(s.ID) {
			continue
		}
		v, why, err := m.compare(ctx, s)
		if err != nil {
			return providers.Receipt{}, err
		}
		switch v {
		case equal: // the list runs back in time: the last one is the oldest
			found = &recent[i]
		case similar:
			doubt = fmt.Sprintf("the status %s resembles the part, but %s", s.ID, why)
		case different:
		}
	}
	switch {
	case found != nil:
		return p.receipt(*found), nil
	case doubt != "":
		return providers.Receipt{}, p.unsure(doubt)
	case !whole:
		return providers.Receipt{}, p.unsure(fmt.Sprintf("this server does not list statuses back to %s", since.UTC().Format(time.RFC3339)))
	case !software.genuine && want.Visibility != public:
		return providers.Receipt{}, p.unsure("this server may leave " + want.Visibility + " statuses out of its lists")
	}
	return providers.Receipt{}, providers.ErrNotFound
}

// unsure is the error of a search that proves nothing.
func (p *Provider) unsure(message string) *providers.Error {
	return p.client.Fail(api.Request{Op: "find"}, nil, providers.Unknown, "", message)
}

// recent lists the account's statuses not older than since, the newest first; whole tells that none is missing.
func (p *Provider) recent(ctx context.Context, id string, since time.Time) (list []status, whole bool, err error) {
	seen := map[string]bool{}
	query := url.Values{"exclude_reblogs": {"true"}, "limit": {strconv.Itoa(pageSize)}}
	for range maxPages {
		r := api.Request{Op: "find", Path: "/api/v1/accounts/" + api.PathEscape(id) + "/statuses", Query: query}
		var page []status
		resp, err := p.call(ctx, r, &page)
		if err != nil {
			return nil, false, err
		}
		if len(page) == 0 {
			return list, true, nil // there is nothing before what was seen
		}
		fresh := false
		for _, s := range page {
			if !api.ValidID(s.ID) || s.CreatedAt.IsZero() {
				return nil, false, p.client.Unusable(r, resp, "a status in the list has no usable id or time")
			}
			if seen[s.ID] {
				continue
			}
			seen[s.ID], fresh = true, true
			if !s.CreatedAt.Before(since) {
				list = append(list, s)
			}
		}
		// Only the last one counts: a pinned status may stand before it, and be as old as it likes.
		last := page[len(page)-1]
		if last.CreatedAt.Before(since) {
			return list, true, nil
		}
		if !fresh {
			return list, false, nil // the server gives the same page again: it does not page
		}
		query.Set("max_id", last.ID)
	}
	return list, false, nil
}
