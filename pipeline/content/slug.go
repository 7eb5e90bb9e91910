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
		if b.Len() >= pipeline.MaxPostID {
			break
		}
	}
	s := b.String()
	return strings.Trim(s[:min(len(s), pipeline.MaxPostID)], "-")
}

// ErrHasID is what AddID returns for a post that has an id.
var ErrHasID = errors.New("the post has an id already")

// AddID writes an id into the front matter of a post that has none, and leaves every other byte as it is. An `id:` without
// a value is filled in; else the id becomes the first key.
func AddID(data []byte, id string) ([]byte, error) {
	if !pipeline.ValidPostID(id) {
		return nil, fmt.Errorf("add id: %q cannot be an id", id)
	}
	r := &report{}
	text, ok := clean(data, r)
	var matter []byte
	if ok {
		matter, _, _, ok = split(text, r)
	}
	y := &yamlFile{report: r, above: 1}
	var root ast.Node
	if ok {
		root, ok = y.parse(string(matter))
	}
	var entries []entry
	if ok && !null(root) {
		entries, ok = y.entries(root)
	}
	if !ok || len(r.list) > 0 {
		if len(r.list) > 0 {
			return nil, fmt.Errorf("add id: %s", r.list[0].Message)
		}
		return nil, errors.New("add id: the front matter is not a map")
	}
	line, insert := 2, "id: "+id
	for _, e := range entries {
		if e.key != keyID {
			continue
		}
		if !null(e.value) {
			return nil, fmt.Errorf("add id: %w", ErrHasID)
		}
		return fillID(data, e.at.Line, id)
	}
	at, end := lineStart(data, line)
	return bytes.Join([][]byte{data[:at], []byte(insert + end), data[at:]}, nil), nil
}

// fillID writes the id behind the colon of the line with this number.
func fillID(data []byte, line int, id string) ([]byte, error) {
	at, _ := lineStart(data, line)
	colon := bytes.IndexByte(data[at:], ':')
	rest := data[at:]
	if n := bytes.IndexAny(rest, "\r\n"); n >= 0 {
		rest = rest[:n]
	}
	if colon < 0 || colon >= len(rest) || strings.Trim(string(rest[:colon]), " \"'") != keyID {
		return nil, errors.New("add id: the key id has an unusual form; write the id by hand")
	}
	after := rest[colon+1:]
	if v := bytes.TrimSpace(after); len(v) > 0 && v[0] != '#' {
		return nil, errors.New("add id: the key id has an unusual form; write the id by hand")
	}
	cut := at + colon + 1
	insert := " " + id
	if len(bytes.TrimSpace(after)) > 0 && after[0] != ' ' {
		insert += " "
	}
	return bytes.Join([][]byte{data[:cut], []byte(insert), data[cut:]}, nil), nil
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
