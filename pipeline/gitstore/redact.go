package gitstore

import (
	"errors"
	"net/url"
	"strings"
)

// hideText replaces secrets in text that comes from elsewhere.
func hideText(s string, secrets []string) string {
	for _, x := range secrets {
		if len(x) > 3 {
			s = strings.ReplaceAll(s, x, "***")
		}
	}
	return s
}

// hideSecrets wraps an error whose text holds a secret in one whose text does not.
func hideSecrets(err error, secrets []string) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); hideText(text, secrets) != text {
		return &hiddenError{hideText(text, secrets), err}
	}
	return err
}

type hiddenError struct {
	text string
	err  error
}

func (e *hiddenError) Error() string { return e.text }

// Is and As look through, so that the kind of an error is kept; Unwrap is not offered, so that its text is not.
func (e *hiddenError) Is(target error) bool { return errors.Is(e.err, target) }
func (e *hiddenError) As(target any) bool   { return errors.As(e.err, target) }

// RedactURL drops the user and password of a remote's URL, for messages.
func RedactURL(raw string) string {
	if !strings.Contains(raw, "://") {
		return raw // a path, or user@host:path, which holds no password
	}
	u, err := url.Parse(raw)
	if err != nil {
		i := strings.Index(raw, "://") + 3
		end := len(raw)
		if j := strings.IndexByte(raw[i:], '/'); j >= 0 {
			end = i + j
		}
		if at := strings.LastIndexByte(raw[i:end], '@'); at >= 0 {
			return raw[:i] + raw[i+at+1:]
		}
		return raw
	}
	if u.Scheme == "ssh" {
		if u.User != nil {
			u.User = url.User(u.User.Username())
		}
		return u.String()
	}
	u.User = nil
	return u.String()
}
