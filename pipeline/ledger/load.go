package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Files is the tree of one ledger commit.
type Files interface {
	// List returns the paths of all files that begin with prefix ("events/"), in any order.
	List(prefix string) ([]string, error)
	Read(path string) ([]byte, error)
}

// Tree is a Files in memory: bytes by path.
type Tree map[string][]byte

// List implements Files.
func (t Tree) List(prefix string) ([]string, error) {
	var out []string
	for p := range maps.Keys(t) {
		if strings.HasPrefix(p, prefix) {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out, nil
}

// Read implements Files.
func (t Tree) Read(path string) ([]byte, error) {
	b, ok := t[path]
	if !ok {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	return b, nil
}

// Load folds a whole ledger. Errors: ErrNoLedger, *VersionError, *GapError, and *LineError around what is wrong with a
// line (*UnknownKindError, *FieldError, *IllegalError). Any of them must stop the run.
func Load(files Files) (*State, error) {
	if err := checkFormat(files); err != nil {
		return nil, err
	}
	s := New()
	if err := s.loadArchives(files); err != nil {
		return nil, err
	}
	events, err := eventFiles(files)
	if err != nil {
		return nil, err
	}
	if err := s.foldFiles(files, events); err != nil {
		return nil, err
	}
	if s.Binding.Ledger == "" {
		return nil, errors.New("ledger: it was never bound to a repository; `broadside ledger restore` brings it back")
	}
	return s, nil
}

// Extend returns the state after the event files from fromNumber on, which must be s.Number + 1. s stays as it is. A ledger
// that was compacted meanwhile is loaded as far as needed; one that is shorter than s is a *GapError: it was rewound.
func Extend(s *State, files Files, fromNumber int) (*State, error) {
	if fromNumber != s.Number+1 {
		return nil, fmt.Errorf("ledger: cannot extend a state at %d from %d", s.Number, fromNumber)
	}
	if err := checkFormat(files); err != nil {
		return nil, err
	}
	events, err := eventFiles(files)
	if err != nil {
		return nil, err
	}
	newer := slices.DeleteFunc(slices.Clone(events), func(f EventFile) bool { return f.Number < fromNumber })
	switch {
	case len(newer) > 0 && newer[0].Number == fromNumber:
		n := s.Fork()
		return n, n.foldFiles(files, newer)
	case len(events) > 0 && len(newer) == 0 && events[len(events)-1].Number == s.Number:
		return s, nil
	}
	n, err := Load(files)
	if err == nil && n.Number < s.Number {
		err = &GapError{Want: s.Number, Got: n.Number, Path: "the whole ledger is shorter than it was: it was rewound"}
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

func checkFormat(files Files) error {
	b, err := files.Read(FormatPath)
	if err != nil {
		if paths, err2 := files.List(FormatPath); err2 == nil && !slices.Contains(paths, FormatPath) {
			return ErrNoLedger
		}
		return fmt.Errorf("ledger: read %s: %w", FormatPath, err)
	}
	if string(b) != string(FormatFile()) {
		return &VersionError{Found: clip(strings.TrimSpace(string(b)), 40)}
	}
	return nil
}

// eventFiles lists all event files by number. A file in events/ that is none is refused: nothing there is ignored.
func eventFiles(files Files) ([]EventFile, error) {
	paths, err := files.List(eventDir)
	if err != nil {
		return nil, fmt.Errorf("ledger: list %s: %w", eventDir, err)
	}
	out := make([]EventFile, 0, len(paths))
	for _, p := range paths {
		f, ok := ParseEventPath(p)
		if !ok {
			return nil, &LineError{Path: p, Err: errors.New("not the path of an event file")}
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b EventFile) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Path, b.Path))
	})
	return out, nil
}

// foldFiles reads, decodes (on all cores) and folds event files that must follow on s.Number.
func (s *State) foldFiles(files Files, list []EventFile) error {
	for i, f := range list {
		if f.Number != s.Number+1+i {
			return &GapError{Want: s.Number + 1 + i, Got: f.Number, Path: f.Path}
		}
	}
	// Files are decoded by several goroutines, a few ahead of the fold, whose room is used again.
	const ahead = 16
	type slot struct {
		data   []byte
		events []Event
		err    error
		ready  chan struct{}
	}
	slots := make([]slot, ahead)
	work := make(chan *slot, ahead)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(work)
	for range min(runtime.GOMAXPROCS(0), len(list)) {
		wg.Go(func() {
			words := newWords()
			for sl := range work {
				sl.events, sl.err = decodeFile(sl.data, words, sl.events)
				close(sl.ready)
			}
		})
	}
	for i := range len(list) + ahead {
		sl := &slots[i%ahead]
		if done := i - ahead; done >= 0 && done < len(list) {
			<-sl.ready
			if sl.err != nil {
				return inFile(list[done].Path, sl.err)
			}
			if err := s.foldFile(list[done], sl.events); err != nil {
				return err
			}
			clear(sl.events)
		}
		if i < len(list) {
			var err error
			if sl.data, err = files.Read(list[i].Path); err != nil {
				return fmt.Errorf("ledger: read %s: %w", list[i].Path, err)
			}
			sl.ready = make(chan struct{})
			work <- sl
		}
	}
	return nil
}

// foldFile folds the events of one commit.
func (s *State) foldFile(f EventFile, events []Event) error {
	if err := checkTipLast(events); err != nil {
		return inFile(f.Path, err)
	}
	s.Number = f.Number
	for i := range events {
		if err := s.fold(&events[i]); err != nil {
			return &LineError{Path: f.Path, Line: i + 1, Err: err}
		}
	}
	return nil
}

// checkTipLast holds that a file has a tip, once and at its end.
func checkTipLast(events []Event) error {
	for i := range events {
		if last := i == len(events)-1; (events[i].Kind == TipEv) != last {
			return &LineError{Line: i + 1, Err: errors.New("the last line of each file, and no other, is a tip")}
		}
	}
	if len(events) == 0 {
		return &LineError{Err: errors.New("the file has no events")}
	}
	return nil
}

func inFile(path string, err error) error {
	if le, ok := errors.AsType[*LineError](err); ok {
		return &LineError{Path: path, Line: le.Line, Err: le.Err}
	}
	return &LineError{Path: path, Err: err}
}

// parallel calls work for each index, on all cores, with words of each goroutine's own.
func parallel(n int, work func(words *words, i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			words := newWords()
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				work(words, i)
			}
		})
	}
	wg.Wait()
}
