package content

import (
	"bytes"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/broadside-pub/broadside/pipeline"
)

// MaxPost is the size of the largest post, in bytes.
const MaxPost = 1 << 20

// maxPath is the longest path of a post, in bytes: no more can be recorded with its deliveries.
const maxPath = 1024

// source is a text in a file, with what it takes to say where in the file an offset lies.
type source struct {
	text   []byte
	starts []int // offset of each line, made on first use
	line   int   // number of text's first line, from 1
	column int   // columns that stand before text on each of its lines
	// fixed is the answer for every offset, where lines of text are no lines of the file.
	fixed pipeline.Pos
	last  int // index of the line that was found last: most questions ask for it or the next one
}

// pos tells where the byte at offset stands.
func (s *source) pos(offset int) pipeline.Pos {
	if s.fixed.Line > 0 {
		return s.fixed
	}
	if len(s.starts) == 0 {
		s.starts = lineStarts(s.text, s.starts)
	}
	offset = min(max(offset, 0), len(s.text))
	i := s.last
	if s.starts[i] > offset || (i+2 < len(s.starts) && s.starts[i+2] <= offset) {
		i = sort.SearchInts(s.starts, offset+1) - 1
	} else if i+1 < len(s.starts) && s.starts[i+1] <= offset {
		i++
	}
	s.last = i
	return pipeline.Pos{
		Line:   s.line + i,
		Column: s.column + 1 + utf8.RuneCount(s.text[s.starts[i]:offset]),
	}
}

// lineAt returns the line that holds offset, without its newline.
func (s *source) lineAt(offset int) []byte {
	offset = min(max(offset, 0), len(s.text))
	from := bytes.LastIndexByte(s.text[:offset], '\n') + 1
	to := bytes.IndexByte(s.text[offset:], '\n')
	if to < 0 {
		return s.text[from:]
	}
	return s.text[from : offset+to]
}

func lineStarts(b []byte, starts []int) []int {
	starts = append(starts[:0], 0)
	for i := 0; ; {
		n := bytes.IndexByte(b[i:], '\n')
		if n < 0 {
			return starts
		}
		i += n + 1
		starts = append(starts, i)
	}
}

// clean checks the bytes of a file and returns them without a byte order mark and with LF line ends. It copies only what
// must change.
func clean(data []byte, r *report) ([]byte, bool) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(data) {
		i := 0
		for i < len(data) {
			c, n := utf8.DecodeRune(data[i:])
			if c == utf8.RuneError && n == 1 {
				break
			}
			i += n
		}
		s := source{text: data, line: 1}
		r.error(CodeInvalidUTF8, s.pos(i), fmt.Sprintf("byte 0x%02x is not valid UTF-8", data[i]), "save the file as UTF-8")
		return nil, false
	}
	if bytes.IndexByte(data, '\r') >= 0 {
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
		data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
	}
	for i, c := range data {
		if (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f {
			s := source{text: data, line: 1}
			r.error(CodeControlCharacter, s.pos(i), fmt.Sprintf("control character U+%04X", c), "remove it")
			return nil, false
		}
	}
	return data, true
}

// goodPath reports a path that the ledger could not record, and lets r show it escaped.
func goodPath(r *report) bool {
	name, fault := r.file, ""
	switch {
	case !utf8.ValidString(name):
		fault = "is not valid UTF-8"
	case strings.ContainsFunc(name, unicode.IsControl):
		fault = "holds a control character"
	case len(name) > maxPath:
		fault = fmt.Sprintf("has %d bytes; the most is %d", len(name), maxPath)
	default:
		return true
	}
	quoted := strconv.Quote(name)
	r.file = quoted[1 : len(quoted)-1]
	r.error(CodeBadPath, pipeline.Pos{}, fmt.Sprintf("the path %q %s", short(name), fault), "rename the file")
	return false
}

// report gathers the diagnostics of one file.
type report struct {
	file string
	list []pipeline.Diagnostic
}

func (r *report) add(d pipeline.Diagnostic, at pipeline.Pos) {
	d.File, d.Line, d.Column = r.file, at.Line, at.Column
	r.list = append(r.list, d)
}

func (r *report) error(code string, at pipeline.Pos, message, hint string) {
	r.add(pipeline.Diagnostic{Code: code, Severity: pipeline.Error, Message: message, Hint: hint}, at)
}

func (r *report) warn(code string, at pipeline.Pos, message, hint string) {
	r.add(pipeline.Diagnostic{Code: code, Severity: pipeline.Warning, Message: message, Hint: hint}, at)
}

func (r *report) note(code string, at pipeline.Pos, message, hint string) {
	r.add(pipeline.Diagnostic{Code: code, Severity: pipeline.Note, Message: message, Hint: hint}, at)
}

// destination marks the diagnostics from index from on as concerning one destination, and tells whether one is an error.
func (r *report) destination(from int, name string) bool {
	for i := from; i < len(r.list); i++ {
		r.list[i].Destination = name
	}
	return pipeline.HasErrors(r.list[from:])
}
