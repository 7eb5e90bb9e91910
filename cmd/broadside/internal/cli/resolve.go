package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/ledger"
)

// resolveWays are what a person can say of a delivery.
var resolveWays = []string{"retry", "published", "cancel", "known"}

type resolveFlags struct {
	urls, ids []string
	allParts  bool
}

func (a *app) cmdResolve() *cobra.Command {
	var f resolveFlags
	c := &cobra.Command{
		Use:     "resolve POST DESTINATION retry|published|cancel|known",
		GroupID: "publish",
		Short:   "Say what became of a delivery that is uncertain or has failed",
		Long: `resolve ends what only a person can end. Look at the network first, then say what you saw:

  retry       it is not there: it goes out again, with a new key
  published   it is there: --url says where. Of a thread this is the first part that is not known to be out; the
              parts after it go out with the next run. Where they are all there already, add --all-parts
  cancel      it is not to go out any more
  known       an extra copy that was reported is dealt with: --id says which`,
		Example: `  broadside resolve launch-1-0 fosstodon published --url https://fosstodon.org/@me/113
  broadside resolve launch-1-0 fosstodon published --all-parts --url https://fosstodon.org/@me/113 --url https://fosstodon.org/@me/114
  broadside resolve launch-1-0 fosstodon known --id 113`,
		Args: exactly("POST", "DESTINATION", "retry, published, cancel or known"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.resolve(c.Context(), args[0], args[1], args[2], f)
		},
	}
	fl := c.Flags()
	fl.StringArrayVar(&f.urls, "url", nil, "with published: where it is to be seen; with --all-parts once for each part that is missing, in order")
	fl.StringArrayVar(&f.ids, "id", nil, "with published: the network's id, where the URL does not tell it; with known: the extra copy's id or URL")
	fl.BoolVar(&f.allParts, "all-parts", false, "with published: all parts of the thread are out, not only the first that is missing")
	return c
}

func (a *app) resolve(ctx context.Context, post, dest, what string, f resolveFlags) error {
	if err := f.check(what); err != nil {
		return err
	}
	pick := func(s *ledger.State) ([]pipeline.DeliveryID, error) {
		d, err := findDelivery(s, post, dest)
		if err != nil {
			return nil, err
		}
		return []pipeline.DeliveryID{d.ID}, nil
	}
	var before []int // the parts that were missing
	said := map[string]func(*ledger.State, *ledger.Delivery) []string{
		"retry": saying("goes out again with the next run"), "cancel": saying("is canceled"),
		"known":     saying("has an extra copy that is known now: it is no trouble any more"),
		"published": func(_ *ledger.State, d *ledger.Delivery) []string { return saidPublished(d, before) },
	}[what]
	return a.decide(ctx, pick, func(tx *journal.Tx, id pipeline.DeliveryID) error {
		switch what {
		case "retry":
			return tx.Add(tx.State.Retry(tx.Stamp, id, ""))
		case "published":
			before = tx.State.Deliveries[id].Missing()
			return f.published(tx, id)
		case "known":
			return acknowledge(tx, id, f.ids[0])
		default:
			return tx.Add(tx.State.CancelByPerson(tx.Stamp, id, ""))
		}
	}, said)
}

// check refuses flags that do not go with what is said.
func (f resolveFlags) check(what string) error {
	if !slices.Contains(resolveWays, what) {
		return usageError{fmt.Errorf("%q is not a way to resolve a delivery", what), "use retry, published, cancel or known"}
	}
	switch {
	case what == "known" && (len(f.ids) != 1 || f.ids[0] == ""):
		return usageError{errors.New("known needs the id of the extra copy"), "add --id ID; `broadside status POST` shows it"}
	case what != "published" && (len(f.urls) > 0 || f.allParts), what != "published" && what != "known" && len(f.ids) > 0:
		return usageError{fmt.Errorf("%s takes neither --url nor --id nor --all-parts", what), "they go with published; --id also with known"}
	case what != "published":
		return nil
	case len(f.urls) == 0:
		return usageError{errors.New("published needs the address where the post is to be seen"), "add --url https://..."}
	case len(f.urls) > 1 && !f.allParts:
		return usageError{errors.New("one part is settled at a time, and several addresses are given"), "add --all-parts if all parts of the thread are out"}
	case len(f.ids) > len(f.urls):
		return usageError{errors.New("more ids are given than addresses"), "give each --id beside its --url, in the same order"}
	}
	for i, link := range f.urls {
		if u, err := url.Parse(link); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			return usageError{fmt.Errorf("%q is not the address of a post", link), "add --url https://..."}
		}
		if slices.Contains(f.urls[:i], link) {
			return usageError{fmt.Errorf("%s is given twice", link), "each part has an address of its own"}
		}
	}
	return nil
}

// found is what is said of the i-th missing part. sure tells that the network's id is known, and not only where it is seen.
func (f resolveFlags) found(i int) (out ledger.Found, sure bool) {
	out = ledger.Found{URL: f.urls[i], Network: f.urls[i]}
	if i < len(f.ids) && f.ids[i] != "" {
		out.Network = f.ids[i]
		return out, true
	}
	if id := numberIn(f.urls[i]); id != "" {
		out.Network = id
		return out, true
	}
	return out, false
}

// numberIn is the id at the end of an address where it is a number, as Mastodon's are; "" for any other address.
func numberIn(link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return ""
	}
	last := path.Base(u.Path)
	if strings.Trim(last, "0123456789") != "" {
		return ""
	}
	return last
}

// published records that the first missing part is out, and that the rest of the thread is to follow; with --all-parts
// that all of it is out.
func (f resolveFlags) published(tx *journal.Tx, id pipeline.DeliveryID) error {
	d := tx.State.Deliveries[id]
	missing := d.Missing()
	var found []ledger.Found
	for i := range f.urls {
		place, sure := f.found(i)
		if !sure && !f.allParts && len(missing) > 1 {
			return usageError{
				fmt.Errorf("the parts after it are answers to it, and %s does not tell the network's id of the post", place.URL),
				"add --id ID; or --all-parts if the whole thread is out",
			}
		}
		found = append(found, place)
		if err := notTaken(tx.State, id, missing, found[i]); err != nil {
			return err
		}
	}
	// One part, or nothing that could be said: the ledger decides of the whole.
	ended := d.State == pipeline.Published || d.State == pipeline.Adopted || d.State == pipeline.Retracted
	if f.allParts || len(missing) <= 1 || d.Open() != nil || ended {
		return tx.AddAll(tx.State.ResolvePublished(tx.Stamp, id, found...))
	}
	in := ledger.ReceiptInput{ID: id, Part: missing[0], Network: found[0].Network, URL: found[0].URL, ByWhom: ledger.ByPerson}
	for _, t := range slices.Backward(d.Attempts) {
		if t.Purpose == ledger.PurposePublish {
			in.Attempt = t.ID
			break
		}
	}
	unsettled := d.State == pipeline.Uncertain || d.State == pipeline.Failed
	if err := tx.Add(tx.State.RecordReceipt(tx.Stamp, in)); err != nil {
		return err
	}
	if !unsettled {
		return nil // scheduled or queued goes on by itself; what a person canceled stays so until a person says retry
	}
	return tx.Add(tx.State.Retry(tx.Stamp, id, ""))
}

// notTaken refuses an address or id that proves another part or post at the same account.
func notTaken(s *ledger.State, id pipeline.DeliveryID, missing []int, found ledger.Found) error {
	same := func(have string) bool {
		have = strings.TrimSuffix(have, "/")
		return have != "" && (have == strings.TrimSuffix(found.URL, "/") || have == found.Network)
	}
	for other, d := range s.Deliveries {
		if other.Target != id.Target {
			continue
		}
		for part, r := range d.Receipts {
			if (same(r.URL) || same(r.ID)) && (other != id || len(missing) > 0) {
				what := fmt.Sprintf("%s at %s", other.Post, d.Dest)
				if d.Parts() > 1 {
					what = fmt.Sprintf("part %d of %s", part+1, what)
				}
				return usageError{fmt.Errorf("%s is %s already", found.URL, what), "give the address of the part that is missing; `broadside status " + id.Post + "` shows what is known"}
			}
		}
	}
	return nil
}

// acknowledge records that a person knows of an extra copy, named by its id or address.
func acknowledge(tx *journal.Tx, id pipeline.DeliveryID, name string) error {
	var open []string
	for _, x := range tx.State.Extra {
		if x.Delivery != id {
			continue
		}
		if x.Receipt.ID == name || x.Receipt.URL == name {
			return tx.Add(tx.State.Acknowledge(tx.Stamp, id, x.Receipt.ID))
		}
		if !x.Known {
			open = append(open, x.Receipt.ID)
		}
	}
	hint := "nothing is reported twice there; `broadside status " + id.Post + "` shows what is known"
	if len(open) > 0 {
		hint = "reported: " + strings.Join(open, ", ")
	}
	return usageError{fmt.Errorf("%s at %s has no extra copy %q", id.Post, tx.State.Deliveries[id].Dest, name), hint}
}

// saidPublished tells what was recorded of each part, and what comes next.
func saidPublished(d *ledger.Delivery, before []int) []string {
	name := d.ID.Post + " at " + d.Dest
	left := d.Missing()
	if d.State == pipeline.Published && d.Parts() <= 1 {
		return []string{name + " is published"}
	}
	var out []string
	for _, part := range before {
		r, ok := d.Receipts[part]
		if !ok {
			continue
		}
		place := r.URL
		if place == "" {
			place = "its address is not known"
		}
		out = append(out, fmt.Sprintf("part %d of %s is recorded as published: %s", part+1, name, place))
	}
	if len(left) == 0 {
		return append(out, name+" is published")
	}
	numbers := make([]string, len(left))
	for i, part := range left {
		numbers[i] = fmt.Sprint(part + 1)
	}
	parts := "part " + numbers[0]
	if len(left) > 1 {
		parts = "parts " + strings.Join(numbers, ", ")
	}
	if d.State == pipeline.Queued || d.State == pipeline.Scheduled {
		return append(out, parts+" of "+fmt.Sprint(d.Parts())+" go out with the next run")
	}
	return append(out, fmt.Sprintf("%s of %d not sent: `broadside resolve %s %s retry` sends the rest", parts, d.Parts(), d.ID.Post, d.Dest))
}
