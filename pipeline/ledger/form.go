package ledger

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/broadside-pub/broadside/pipeline"
)

// form is the form of a text field: a pattern for the schema and the same rule as a function. A test holds them equal.
type form struct {
	pattern string // ECMA 262, anchored; "" for free text
	enum    []string
	max     int // bytes
	valid   func(string) bool
}

// MaxDetail is the longest detail of an event in bytes; longer ones are cut when the event is made.
const MaxDetail = 4096

var (
	freeText   = form{max: 2048, valid: plain}
	longText   = form{max: MaxDetail, valid: plain}
	runName    = form{max: 256, valid: plain}
	hex16      = form{pattern: `^[0-9a-f]{16}$`, max: 16, valid: hexOf(16)}
	hex64      = form{pattern: `^[0-9a-f]{64}$`, max: 64, valid: hexOf(64)}
	objectID   = form{pattern: `^([0-9a-f]{40}|[0-9a-f]{64})$`, max: 64, valid: hexOf(40, 64)}
	postID     = form{pattern: `^[a-z0-9][a-z0-9-]{0,63}$`, max: 64, valid: validPost}
	targetForm = form{
		pattern: `^[a-z0-9]+:[A-Za-z0-9.\-\[\]]*(:[0-9]{1,5})?:[!-~]{1,512}$`, max: 1024, valid: validTarget,
	}
	networkID  = form{pattern: `^[!-~]{1,512}$`, max: 512, valid: printable}
	credFile   = form{pattern: `^credentials/[!-~]{1,256}$`, max: 268, valid: validCredentialFile}
	reasonForm = form{pattern: `^[a-z0-9_]{1,64}$`, max: 64, valid: validReason}
	holdID     = form{pattern: `^[a-z0-9-]{1,64}$`, max: 64, valid: validHold}
	scopeForm  = form{
		pattern: `^(all|post:[a-z0-9][a-z0-9-]{0,63}|target:[!-~]+|login:[!-~]{1,512})$`, max: 1030, valid: validScope,
	}
)

const (
	lowerDigits     = "abcdefghijklmnopqrstuvwxyz0123456789"
	lowerDigitsDash = lowerDigits + "-"
)

func oneOf(words ...string) form {
	return form{enum: words, max: 64, valid: func(s string) bool {
		return slices.Contains(words, s)
	}}
}

func hexOf(lengths ...int) func(string) bool {
	return func(s string) bool {
		return slices.Contains(lengths, len(s)) && isHex(s)
	}
}

func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func only(s, chars string) bool {
	for i := range len(s) {
		if strings.IndexByte(chars, s[i]) < 0 {
			return false
		}
	}
	return true
}

// plain tells that s is UTF-8 on one line, without control characters.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == 0x7f {
			return false
		}
	}
	return utf8.ValidString(s)
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < '!' || s[i] > '~' {
			return false
		}
	}
	return s != "" && len(s) <= 512
}

// validPost is pipeline.ValidPostID without a regular expression: it runs once per event.
func validPost(s string) bool {
	return s != "" && len(s) <= pipeline.MaxPostID && s[0] != '-' && only(s, lowerDigitsDash)
}

// validTarget is pipeline.Target.Valid without a regular expression.
func validTarget(s string) bool {
	provider, rest, ok := strings.Cut(s, ":")
	if !ok || provider == "" || !only(provider, lowerDigits) {
		return false
	}
	host, id, ok := strings.Cut(rest, ":")
	if !ok || !hostChars(host) {
		return false
	}
	if printable(id) {
		return true
	}
	port, id, ok := strings.Cut(id, ":")
	return ok && port != "" && len(port) <= 5 && only(port, "0123456789") && printable(id)
}

func hostChars(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') &&
			c != '.' && c != '-' && c != '[' && c != ']' {
			return false
		}
	}
	return true
}

func validReason(s string) bool { return s != "" && len(s) <= 64 && only(s, lowerDigits+"_") }

func validHold(s string) bool { return s != "" && len(s) <= 64 && only(s, lowerDigitsDash) }

func validToken(s string) bool { return len(s) >= 8 && len(s) <= 64 && only(s, lowerDigits) }

func validCredentialFile(s string) bool {
	name, ok := strings.CutPrefix(s, "credentials/")
	return ok && printable(name) && len(name) <= 256
}

func validScope(s string) bool {
	kind, arg, ok := strings.Cut(s, ":")
	switch {
	case !ok:
		return s == ScopeAll
	case kind == "post":
		return validPost(arg)
	case kind == "target":
		return validTarget(arg)
	case kind == "login":
		return printable(arg)
	}
	return false
}

// ScopeAll is the scope of a hold that covers every delivery.
const ScopeAll = "all"

// ScopePost is the scope of a hold on one post.
func ScopePost(id string) string { return "post:" + id }

// ScopeTarget is the scope of a hold on one target.
func ScopeTarget(t pipeline.Target) string { return "target:" + string(t) }

// ScopeLogin is the scope of a hold on all that uses one login.
func ScopeLogin(login string) string { return "login:" + login }
