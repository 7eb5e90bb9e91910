package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/broadside-pub/broadside/pipeline"
)

// Problem is one thing that is wrong with a ledger.
type Problem struct {
	Path    string `json:"path"`
	Line    int    `json:"line,omitempty"` // from 1; 0: the file as a whole
	Message string `json:"message"`
}

func (p Problem) String() string {
	if p.Line == 0 {
		return p.Path + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d: %s", p.Path, p.Line, p.Message)
}

// Report is what Verify found.
type Report struct {
	Files      int       `json:"files"`  // event files
	Events     int       `json:"events"` // legal ones
	Through    int       `json:"through"`
	Number     int       `json:"number"`
	Deliveries int       `json:"deliveries"`
	Problems   []Problem `json:"problems"`
	// State is what the legal events lead to; with problems it is not to be acted on.
	State *State `json:"-"`
}

// OK tells that nothing is wrong.
func (r Report) OK() bool { return len(r.Problems) == 0 }

func (r *Report) add(path string, err error) {
	p := Problem{Path: path, Message: err.Error()}
	if le, ok := errors.AsType[*LineError](err); ok {
		p.Line, p.Message = le.Line, le.Err.Error()
		if le.Path != "" {
			p.Path = le.Path
		}
	}
	r.Problems = append(r.Problems, p)
}

// Verify checks every line of a ledger: format, archives with their digests, numbers without gap or double, each event's
// form, and that each is a legal move from what the ones before it led to. It goes on after a problem, so that all are
// listed; an illegal event is left out. The error is for what cannot be read at all.
func Verify(files Files) (Report, error) {
	r := Report{State: New(), Problems: []Problem{}}
	s := r.State
	switch err := checkFormat(files); {
	case errors.Is(err, ErrNoLedger):
		return r, err
	case err != nil:
		r.add(FormatPath, err)
		return r, nil
	}
	if err := r.verifyArchives(files); err != nil {
		return r, err
	}
	r.Through = s.Number
	list, err := r.verifyPaths(files)
	if err != nil {
		return r, err
	}
	for _, f := range list {
		if f.Number != s.Number+1 {
			r.add(f.Path, &GapError{Want: s.Number + 1, Got: f.Number, Path: f.Path})
			if f.Number <= s.Number {
				continue // it is folded in already
			}
		}
		data, err := files.Read(f.Path)
		if err != nil {
			return r, fmt.Errorf("ledger: read %s: %w", f.Path, err)
		}
		s.Number = f.Number
		r.Files++
		r.verifyFile(f.Path, data)
	}
	if s.Binding.Ledger == "" {
		r.add(eventDir, errors.New("the ledger is not bound to a repository"))
	}
	for _, d := range s.Deliveries {
		if err := d.sound(); err != nil {
			r.add(archiveDir, err)
		}
	}
	r.Number, r.Deliveries = s.Number, len(s.Deliveries)
	return r, nil
}

func (r *Report) verifyPaths(files Files) ([]EventFile, error) {
	paths, err := files.List(eventDir)
	if err != nil {
		return nil, fmt.Errorf("ledger: list %s: %w", eventDir, err)
	}
	good := Tree{}
	for _, p := range paths {
		if _, ok := ParseEventPath(p); ok {
			good[p] = nil
		} else {
			r.add(p, errors.New("not the path of an event file"))
		}
	}
	return eventFiles(good)
}

func (r *Report) verifyFile(path string, data []byte) {
	var kinds []Event
	words := newWords()
	for n := 1; len(data) > 0; n++ {
		line, rest, err := cutLine(data)
		if err != nil {
			r.add(path, &LineError{Line: n, Err: err})
			return
		}
		data = rest
		var e Event
		if err = decodeLine(line, words, &e); err == nil {
			kinds = append(kinds, e)
			if err = r.State.fold(&e); err == nil {
				r.Events++
			}
		} else {
			kinds = append(kinds, Event{})
		}
		if err != nil {
			r.add(path, &LineError{Line: n, Err: err})
		}
	}
	if err := checkTipLast(kinds); err != nil {
		r.add(path, err)
	}
}

// verifyArchives folds archive/ and compares the digests of the month files; what cannot be decoded is a problem and
// ends it.
func (r *Report) verifyArchives(files Files) error {
	open, months, err := readArchives(files)
	var le *LineError
	var ve *VersionError
	switch {
	case errors.As(err, &le), errors.As(err, &ve):
		r.add(archiveDir, err)
		return nil
	case err != nil:
		return err
	}
	if err := fitArchives(open, months); err != nil {
		r.add(archiveDir, err)
		return nil
	}
	if open == nil {
		return nil
	}
	for _, f := range open.header.Files {
		data, err := files.Read(f.Path)
		if err != nil {
			return fmt.Errorf("ledger: read %s: %w", f.Path, err)
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != f.Digest {
			r.add(f.Path, errors.New("its bytes are not those that "+openFile+" was written with"))
		}
	}
	s := r.State
	s.Number = open.header.Number
	busy := map[pipeline.Target]pipeline.DeliveryID{}
	for _, f := range append(months, open) {
		for i := range f.records {
			a := &f.records[i]
			if err := s.takeArchived(a, f); err != nil {
				r.add(f.path, &LineError{Line: i + 2, Err: err})
			}
		}
	}
	for id, d := range s.Deliveries {
		if d.Open() == nil {
			continue
		}
		if other, ok := busy[id.Target]; ok {
			r.add(openFile, fmt.Errorf("both %s and %s have an open attempt at one target", other, id))
		}
		busy[id.Target] = id
	}
	return nil
}
