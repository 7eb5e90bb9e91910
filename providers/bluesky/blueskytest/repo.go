package blueskytest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const collection = "app.bsky.feed.post"

func uri(did, rkey string) string { return "at://" + did + "/" + collection + "/" + rkey }

var tidForm = regexp.MustCompile(`^[234567abcdefghij][234567abcdefghijklmnopqrstuvwxyz]{12}$`)

// writeInput is the input of createRecord and putRecord.
type writeInput struct {
	Repo       string          `json:"repo"`
	Collection string          `json:"collection"`
	RKey       string          `json:"rkey"`
	Validate   *bool           `json:"validate"`
	Record     json.RawMessage `json:"record"`
	SwapRecord json.RawMessage `json:"swapRecord"`
	SwapCommit *string         `json:"swapCommit"`
}

// prepare checks what both ways to write have in common.
func (s *Server) prepare(c *call) (a *account, in writeInput, cid string, f *failure) {
	if a, f = s.auth(c); f != nil {
		return nil, in, "", f
	}
	if f = c.decode(&in); f != nil {
		return nil, in, "", f
	}
	if in.Repo != a.DID && in.Repo != a.Handle {
		return nil, in, "", &failure{status: http.StatusUnauthorized, code: "AuthRequiredError", message: "Authentication Required"}
	}
	if in.Collection != collection {
		return nil, in, "", invalid("this server keeps %s only, not %q", collection, in.Collection)
	}
	if !tidForm.MatchString(in.RKey) {
		return nil, in, "", invalid("Invalid %s rkey: %q is no TID", collection, in.RKey)
	}
	if f = a.checkPost(in.Record); f != nil {
		return nil, in, "", f
	}
	cid, err := RecordCID(in.Record)
	if err != nil {
		return nil, in, "", invalid("Invalid record: %v", err)
	}
	return a, in, cid, nil
}

func (s *Server) createRecord(c *call) (any, *failure) {
	a, in, cid, f := s.prepare(c)
	if f != nil {
		return nil, f
	}
	if f := s.limit(c, "write "+a.DID, 3, s.Points, time.Hour); f != nil {
		return nil, f
	}
	if _, taken := a.records[in.RKey]; taken {
		return nil, &failure{status: http.StatusInternalServerError, code: "InternalServerError", message: "Internal Server Error"}
	}
	return a.store(in, cid), nil
}

func (s *Server) putRecord(c *call) (any, *failure) {
	a, in, cid, f := s.prepare(c)
	if f != nil {
		return nil, f
	}
	have, taken := a.records[in.RKey]
	cost := 3
	if taken {
		cost = 2
	}
	if f := s.limit(c, "write "+a.DID, cost, s.Points, time.Hour); f != nil {
		return nil, f
	}
	if taken && have.cid == cid { // nothing to do, whatever the swap
		return map[string]any{"uri": uri(a.DID, in.RKey), "cid": cid, "validationStatus": "valid"}, nil
	}
	if in.SwapRecord != nil {
		want := strings.Trim(string(in.SwapRecord), `"`)
		switch {
		case want == "null" && taken:
			return nil, bad("InvalidSwap", "Record was at %s", have.cid)
		case want != "null" && want != have.cid:
			return nil, bad("InvalidSwap", "Record was at %s", have.cid)
		}
	}
	return a.store(in, cid), nil
}

func (a *account) store(in writeInput, cid string) any {
	a.records[in.RKey] = stored{cid: cid, raw: in.Record}
	return map[string]any{
		"uri": uri(a.DID, in.RKey), "cid": cid, "validationStatus": "valid",
		"commit": map[string]string{"cid": blobCID([]byte(cid)), "rev": in.RKey},
	}
}

func (s *Server) repo(c *call) (*account, *failure) {
	who := c.query.Get("repo")
	a := s.accounts[who]
	if a == nil {
		a = s.accounts[s.handles[who]]
	}
	if a == nil {
		return nil, invalid("Could not find repo: %s", who)
	}
	return a, nil
}

func (s *Server) getRecord(c *call) (any, *failure) {
	a, f := s.repo(c)
	if f != nil {
		return nil, f
	}
	rkey := c.query.Get("rkey")
	r, ok := a.records[rkey]
	if !ok || c.query.Get("collection") != collection {
		return nil, bad("RecordNotFound", "Could not locate record: %s", uri(a.DID, rkey))
	}
	return map[string]any{"uri": uri(a.DID, rkey), "cid": r.cid, "value": r.raw}, nil
}

func (s *Server) listRecords(c *call) (any, *failure) {
	a, f := s.repo(c)
	if f != nil {
		return nil, f
	}
	limit, err := strconv.Atoi(c.query.Get("limit"))
	if err != nil || limit < 1 || limit > 100 {
		limit = 50
	}
	keys := slices.Sorted(maps.Keys(a.records))
	if c.query.Get("reverse") != "true" {
		slices.Reverse(keys)
	}
	if cur := c.query.Get("cursor"); cur != "" {
		i := slices.Index(keys, cur)
		keys = keys[i+1:]
	}
	list := []any{}
	answer := map[string]any{}
	for _, k := range keys {
		if len(list) == limit {
			break
		}
		list = append(list, map[string]any{"uri": uri(a.DID, k), "cid": a.records[k].cid, "value": a.records[k].raw})
		answer["cursor"] = k
	}
	answer["records"] = list
	return answer, nil
}

func (s *Server) deleteRecord(c *call) (any, *failure) {
	a, f := s.auth(c)
	if f != nil {
		return nil, f
	}
	var in struct {
		Repo       string  `json:"repo"`
		Collection string  `json:"collection"`
		RKey       string  `json:"rkey"`
		SwapRecord *string `json:"swapRecord"`
		SwapCommit *string `json:"swapCommit"`
	}
	if f := c.decode(&in); f != nil {
		return nil, f
	}
	if in.Repo != a.DID && in.Repo != a.Handle {
		return nil, &failure{status: http.StatusUnauthorized, code: "AuthRequiredError", message: "Authentication Required"}
	}
	if f := s.limit(c, "write "+a.DID, 1, s.Points, time.Hour); f != nil {
		return nil, f
	}
	have, ok := a.records[in.RKey]
	if !ok || in.Collection != collection {
		return map[string]any{}, nil
	}
	if in.SwapRecord != nil && *in.SwapRecord != have.cid {
		return nil, bad("InvalidSwap", "Record was at %s", have.cid)
	}
	delete(a.records, in.RKey)
	return map[string]any{"commit": map[string]string{"cid": blobCID([]byte(in.RKey)), "rev": in.RKey}}, nil
}

func (s *Server) uploadBlob(c *call) (any, *failure) {
	a, f := s.auth(c)
	if f != nil {
		return nil, f
	}
	mime, _, _ := strings.Cut(c.header.Get("Content-Type"), ";")
	if mime == "" {
		return nil, invalid("Request encoding (Content-Type) required but not provided")
	}
	if len(c.body) == 0 {
		return nil, invalid("A request body is expected but none was provided")
	}
	if sniffed := http.DetectContentType(c.body); strings.HasPrefix(sniffed, "image/") {
		mime = sniffed
	}
	cid, sum := blobCID(c.body), sha256.Sum256(c.body)
	a.blobs[cid] = blob{mime: mime, size: len(c.body), sha256: hex.EncodeToString(sum[:])}
	return map[string]any{"blob": map[string]any{
		"$type": "blob", "ref": map[string]string{"$link": cid}, "mimeType": mime, "size": len(c.body),
	}}, nil
}
