package content

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml/ast"
	"golang.org/x/text/unicode/norm"

	"github.com/broadside-pub/broadside/pipeline"
)

// letters are those that no decomposition turns into ASCII.
var letters = map[rune]string{
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'ł': "l", 'đ': "d", 'ð': "d", 'þ': "th", 'ı': "i",
}

// Slug makes a post id of a title, "" where nothing of it can stand in one.
func Slug(title string) string {
	var b strings.Builder
	gap := false
	for _, c := range norm.NFD.String(strings.ToLower(title)) {
		s := string(c)
		if l, ok := letters[c]; ok {
			s = l
		} else if unicode.IsMark(c) || c == '\'' || c == '’' {
			continue
		} else if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			gap = true
			continue
		}
		if gap && b.Len() > 0 {
			b.WriteByte('-')
		}
		gap = false
		b.WriteString(s)
		if b.Len() > pipeline.MaxPostID {
			break
		}
	}
	s := b.String()
	if len(s) > pipeline.MaxPostID {
		s = s[:pipeline.MaxPostID]
		if i := strings.LastIndexByte(s, '-'); i > pipeline.MaxPostID/2 {
			s = s[:i] // between words
		}
	}
	return strings.Trim(s, "-")
}

// ErrHasID is what AddID returns for a post that has an id.
var ErrHasID = errors.New("the post has an id already")

// AddID writes an id into the front matter of a post that has none, and leaves every other byte as it is. An `id:` without
// a value is filled in; else the id becomes the first key.
func AddID(data []byte, id string) ([]byte, error) {
	if !pipeline.ValidPostID(id) {
		return nil, fmt.Errorf("add id: %q cannot be an id", id)
	}
	entries, err := frontEntries(data)
	if err != nil {
		return nil, fmt.Errorf("add id: %w", err)
	}
	at, insert := 0, ""
	for _, e := range entries {
		if e.key != keyID {
			continue
		}
		if !null(e.value) {
			return nil, fmt.Errorf("add id: %w", ErrHasID)
		}
		at, insert = behindKey(data, e.at.Line)
		insert += id
	}
	if insert == "" {
		start, end := lineStart(data, 2)
		at, insert = start, "id: "+id+end
	}
	out := bytes.Join([][]byte{data[:at], []byte(insert), data[at:]}, nil)
	// YAML has many forms: what was written counts only if it reads as meant.
	entries, err = frontEntries(out)
	for _, e := range entries {
		if s, ok := scalar(e.value); ok && e.key == keyID && s == id && err == nil {
			return out, nil
		}
	}
	return nil, errors.New("add id: the front matter has an unusual form; write the id by hand")
}

// frontEntries reads the keys of a post's front matter.
func frontEntries(data []byte) ([]entry, error) {
	r := &report{}
	var entries []entry
	text, ok := clean(data, r)
	if ok {
		var matter []byte
		if matter, _, _, ok = split(text, r); ok {
			y := &yamlFile{report: r, above: 1}
			var root ast.Node
			if root, ok = y.parse(string(matter)); ok && !null(root) {
				entries, ok = y.entries(root)
			}
		}
	}
	if len(r.list) > 0 {
		return nil, errors.New(r.list[0].Message)
	}
	if !ok {
		return nil, errors.New("the front matter is not a map")
	}
	return entries, nil
}

// behindKey finds the place behind the first colon of a line, and what separates a value from it there.
func behindKey(data []byte, line int) (at int, space string) {
	at, _ = lineStart(data, line)
	rest := data[at:]
	if n := bytes.IndexAny(rest, "\r\n"); n >= 0 {
		rest = rest[:n]
	}
	return at + bytes.IndexByte(rest, ':') + 1, " "
}

// lineStart finds the line with this number and the line end that the file uses there.
func lineStart(data []byte, line int) (at int, end string) {
	end = "\n"
	for n := 1; n < line; n++ {
		i := bytes.IndexAny(data[at:], "\r\n")
		if i < 0 {
			return len(data), end
		}
		end = string(data[at+i])
		at += i + 1
		if end == "\r" && at < len(data) && data[at] == '\n' {
			end = "\r\n"
			at++
		}
	}
	return at, end
}
