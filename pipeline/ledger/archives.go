package ledger

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/broadside-pub/broadside/pipeline"
)

// archiveFile is one file of archive/, decoded.
type archiveFile struct {
	path    string
	header  header
	records []archived
}

// readArchives reads archive/ without judging how its files fit together; open is nil where nothing was compacted yet.
func readArchives(files Files) (open *archiveFile, months []*archiveFile, err error) {
	paths, err := files.List(archiveDir)
	if err != nil {
		return nil, nil, fmt.Errorf("ledger: list %s: %w", archiveDir, err)
	}
	slices.Sort(paths)
	for _, p := range paths {
		b, err := files.Read(p)
		if err != nil {
			return nil, nil, fmt.Errorf("ledger: read %s: %w", p, err)
		}
		f, err := decodeArchive(p, b)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case p == openFile:
			open = f
		case isMonthFile(p):
			months = append(months, f)
		default:
			return nil, nil, &LineError{Path: p, Err: errors.New("not the path of an archive file")}
		}
	}
	return open, months, nil
}

func isMonthFile(p string) bool {
	month, ok := strings.CutSuffix(path.Base(p), ".jsonl")
	return ok && len(month) == 7 && month[4] == '-' && only(month, "0123456789-") && p == archiveDir+month+".jsonl"
}

const archiveChunk = 1000 // lines that one goroutine decodes at a time

func decodeArchive(p string, data []byte) (*archiveFile, error) {
	var lines [][]byte
	for rest := data; len(rest) > 0; {
		line, after, err := cutLine(rest)
		if err != nil {
			return nil, &LineError{Path: p, Line: len(lines) + 1, Err: err}
		}
		lines, rest = append(lines, line), after
	}
	f := &archiveFile{path: p, records: make([]archived, len(lines))}
	errs := make([]error, len(lines))
	parallel((len(lines)+archiveChunk-1)/archiveChunk, func(words *words, c int) {
		for i := c * archiveChunk; i < min((c+1)*archiveChunk, len(lines)); i++ {
			f.records[i], errs[i] = decodeArchived(lines[i], words)
		}
	})
	for i, err := range errs {
		if err != nil {
			return nil, &LineError{Path: p, Line: i + 1, Err: err}
		}
	}
	if len(lines) == 0 || f.records[0].through == nil {
		return nil, &LineError{Path: p, Line: 1, Err: errors.New("the first line does not say through which number")}
	}
	f.header, f.records = *f.records[0].through, f.records[1:]
	if f.header.V != FormatVersion {
		return nil, &VersionError{Found: fmt.Sprint(f.header.V)}
	}
	return f, nil
}

// loadArchives folds archive/ into an empty state.
func (s *State) loadArchives(files Files) error {
	open, months, err := readArchives(files)
	if err != nil {
		return err
	}
	if err := fitArchives(open, months); err != nil {
		return err
	}
	if open == nil {
		return nil
	}
	s.Number = open.header.Number
	n := len(open.records)
	for _, f := range months {
		n += len(f.records)
	}
	s.Deliveries = make(map[pipeline.DeliveryID]*Delivery, n)
	for _, f := range append(slices.Clone(months), open) {
		for i := range f.records {
			if err := s.takeArchived(&f.records[i], f); err != nil {
				return &LineError{Path: f.path, Line: i + 2, Err: err}
			}
		}
	}
	return nil
}

// fitArchives checks that the month files are those that open.jsonl was written with.
func fitArchives(open *archiveFile, months []*archiveFile) error {
	if open == nil {
		if len(months) > 0 {
			return &LineError{Path: months[0].path, Err: errors.New(openFile + " is missing, which says what is folded in")}
		}
		return nil
	}
	if len(open.header.Files) != len(months) {
		return &LineError{Path: openFile, Line: 1, Err: fmt.Errorf("names %d month files, there are %d",
			len(open.header.Files), len(months))}
	}
	for i, f := range months {
		if want := open.header.Files[i]; want.Path != f.path || want.Number != f.header.Number ||
			f.header.Number > open.header.Number {
			return &LineError{Path: f.path, Line: 1, Err: errors.New("is not the file that " + openFile + " was written with")}
		}
	}
	return nil
}

func (s *State) takeArchived(a *archived, f *archiveFile) error {
	if f.path != openFile && a.delivery == nil {
		return errors.New("a month file holds deliveries only")
	}
	switch {
	case a.delivery != nil:
		d := a.delivery
		if d.Number > f.header.Number {
			return fmt.Errorf("delivery %s was touched by event file %d, after this file", d.ID, d.Number)
		}
		if old := s.Deliveries[d.ID]; old != nil {
			if old.Number == d.Number {
				return fmt.Errorf("delivery %s is there twice with number %d", d.ID, d.Number)
			}
			if old.Number > d.Number {
				return nil
			}
		}
		d.owner = s.owner.Load()
		s.Deliveries[d.ID] = d
		if open := d.Open(); open != nil {
			s.busyTarget[d.ID.Target] = d.ID
			if open.Login != "" {
				s.busyLogin[open.Login] = d.ID
			}
		}
	case a.binding != nil:
		s.Binding = *a.binding
	case a.hold != nil:
		s.Holds[a.hold.ID] = *a.hold
	case a.credential != nil:
		s.Credentials[a.credential.Login] = *a.credential
	case a.tip != nil:
		s.Tip = *a.tip
	case a.extra != nil:
		s.Extra = append(s.Extra, *a.extra)
	default:
		return errors.New("only the first line says through which number")
	}
	return nil
}
