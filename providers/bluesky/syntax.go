package bluesky

import (
	"net/url"
	"regexp"
	"strings"
)

// The forms of AT Protocol's identifiers (atproto.com/specs, read 2026-11-30), each as strict as its use here allows:
// what matches goes into requests, receipts and URLs as it is.
var (
	didForm    = regexp.MustCompile(`^did:(plc|web):[a-zA-Z0-9._:%-]*[a-zA-Z0-9._-]$`)
	handleForm = regexp.MustCompile(`^([a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?\.)+[a-zA-Z]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$`)
	cidForm    = regexp.MustCompile(`^[a-zA-Z0-9+=]{8,256}$`)
	mimeForm   = regexp.MustCompile(`^[a-z]+/[a-zA-Z0-9.+*-]+$`)
	// langForm is the shape of a BCP 47 tag; whether its subtags are registered is not for us to judge.
	langForm = regexp.MustCompile(`^([a-zA-Z]{2,3}|[iIxX])(-[a-zA-Z0-9]{1,8})*$`)
)

// maxDID keeps a receipt's id, which is a DID, a collection and a record key, below 512 bytes.
const maxDID = 256

func validDID(s string) bool { return len(s) <= maxDID && didForm.MatchString(s) }

func validHandle(s string) bool { return len(s) <= 253 && handleForm.MatchString(s) }

func validCID(s string) bool { return cidForm.MatchString(s) }

// handleOf is a handle as it is looked up: without '@', in lower case.
func handleOf(name string) string {
	return strings.ToLower(strings.TrimPrefix(strings.TrimSpace(name), "@"))
}

// atURI names the record of one post.
func atURI(did, rkey string) string { return "at://" + did + "/" + collection + "/" + rkey }

// splitURI is the inverse of atURI; ok is false for anything but a post's URI.
func splitURI(uri string) (did, rkey string, ok bool) {
	rest, found := strings.CutPrefix(uri, "at://")
	if !found {
		return "", "", false
	}
	did, rest, _ = strings.Cut(rest, "/")
	coll, rkey, _ := strings.Cut(rest, "/")
	return did, rkey, validDID(did) && coll == collection && validTID(rkey)
}

// postURL is where people see a post.
func postURL(did, rkey string) string { return "https://bsky.app/profile/" + did + "/post/" + rkey }

// maxURI is the most bytes of a string of the lexicons' format "uri".
const maxURI = 8 << 10

// linkURI returns a web address as a record holds it; ok is false for what is none.
func linkURI(raw string) (string, bool) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
		return "", false
	}
	s := strings.ReplaceAll(strings.ReplaceAll(u.String(), " ", "%20"), "\t", "%09")
	return s, len(s) <= maxURI
}
