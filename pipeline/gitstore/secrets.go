package gitstore

import (
	"encoding/base64"
	"slices"
	"strings"
	"sync"
)

// secretList collects what must never be printed. It is safe for concurrent use.
type secretList struct {
	tell func(string)
	mu   sync.Mutex
	list []string
}

// add takes note of a secret and of the forms in which it travels.
func (l *secretList) add(secrets ...string) {
	for _, s := range secrets {
		s = strings.TrimSpace(s)
		if len(s) < 4 {
			continue
		}
		l.mu.Lock()
		known := slices.Contains(l.list, s)
		if !known {
			l.list = append(l.list, s)
		}
		l.mu.Unlock()
		if !known && l.tell != nil {
			l.tell(s)
		}
	}
}

func (l *secretList) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}

// basicAuth makes the header of a user and password and takes note of both of its secret forms.
func (l *secretList) basicAuth(user, password string) header {
	encoded := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	l.add(password, encoded)
	return header{"Authorization", "Basic " + encoded}
}

// rawHeader takes note of the secret part of a configured header.
func (l *secretList) rawHeader(h header) header {
	value := h.value
	if scheme, rest, ok := strings.Cut(value, " "); ok && strings.EqualFold(h.key, "Authorization") {
		value = rest
		if b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(rest)); err == nil && strings.EqualFold(scheme, "basic") {
			if _, password, ok := strings.Cut(string(b), ":"); ok {
				l.add(password)
			}
		}
	}
	l.add(value)
	return h
}
