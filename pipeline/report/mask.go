// Package report says what a run did: as text, as JSON, as a job summary and as annotations. It is also where secrets
// are kept out of everything that is written.
package report

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// minMask is the shortest secret that is masked: hiding shorter ones would blank unrelated text, and on GitHub whole
// outputs.
const minMask = 8

// Masker keeps secrets out of writers. On GitHub it also tells the runner to hide them, before anything else is printed.
type Masker struct {
	getenv func(string) string

	mu     sync.RWMutex
	forms  []string // longest first
	runner io.Writer
}

// NewMasker makes one. getenv tells whether this is a GitHub runner.
func NewMasker(getenv func(string) string) *Masker { return &Masker{getenv: getenv} }

// Announce makes w receive an add-mask command for every secret that is added from now on. The commands hold the secrets
// as they are: of a writer that hides them, they go to the one below.
func (m *Masker) Announce(w io.Writer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if masked, ok := w.(*maskWriter); ok {
		w = masked.w
	}
	m.runner = w
}

// Add hides secrets, in every form in which they could be printed.
func (m *Masker) Add(secrets ...string) {
	m.mu.Lock()
	var fresh []string
	for _, s := range secrets {
		for _, f := range forms(s) {
			if len(f) >= minMask && !slices.Contains(m.forms, f) {
				m.forms, fresh = append(m.forms, f), append(fresh, f)
			}
		}
	}
	slices.SortFunc(m.forms, func(a, b string) int { return len(b) - len(a) })
	runner := m.runner
	m.mu.Unlock()
	if runner == nil || m.getenv("GITHUB_ACTIONS") != "true" {
		return
	}
	for _, f := range fresh {
		if f != m.getenv("BROADSIDE_AGE_KEY") { // GitHub hides its own secrets already
			fmt.Fprintf(runner, "::add-mask::%s\n", escapeData(f))
		}
	}
}

// forms are the spellings of a secret: as it is, line by line, URL-escaped, JSON-escaped, and in base64.
func forms(s string) []string {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil
	}
	out := []string{s}
	if strings.ContainsAny(s, "\r\n") {
		for line := range strings.Lines(s) {
			out = append(out, strings.TrimSpace(line))
		}
		return out
	}
	if j, err := json.Marshal(s); err == nil {
		out = append(out, string(j[1:len(j)-1]))
	}
	return append(out, url.QueryEscape(s), url.PathEscape(s), base64.StdEncoding.EncodeToString([]byte(s)),
		base64.RawURLEncoding.EncodeToString([]byte(s)))
}

// Hide replaces every known secret in s.
func (m *Masker) Hide(s string) string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, f := range m.forms {
		s = strings.ReplaceAll(s, f, "***")
	}
	return s
}

// Writer returns a writer that hides secrets in each write. What is printed is written a line at a time.
func (m *Masker) Writer(w io.Writer) io.Writer { return &maskWriter{m: m, w: w} }

type maskWriter struct {
	m  *Masker
	w  io.Writer
	mu sync.Mutex
}

func (w *maskWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.m.mu.RLock()
	out := p
	for _, f := range w.m.forms {
		out = bytes.ReplaceAll(out, []byte(f), []byte("***"))
	}
	w.m.mu.RUnlock()
	if _, err := w.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// escapeData escapes the data of a workflow command.
func escapeData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}
