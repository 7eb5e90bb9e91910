// Package media looks at the files that posts show: what they are, whether networks can take them, and what must be done
// to them first (shrink, turn upright, strip metadata). It decodes nothing before its size is known and reaches no
// network.
package media

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/broadside-pub/broadside/pipeline"
)

const (
	// MaxBytes is the largest file that is read.
	MaxBytes = 100 << 20
	// MaxPixels is the largest picture, width times height, that is accepted.
	MaxPixels = 100_000_000
	// MaxSide bounds each side of a picture: what is longer is a mistake or an attack.
	MaxSide = 65_535
)

// Source reads files of one commit or one work tree. Errors wrap fs.ErrNotExist for a path that is not there,
// ErrNotCheckedOut for one that the repository has and this checkout lacks, ErrTooLarge for more than MaxBytes,
// ErrOutside for one that leads out of the repository, and ErrSymlink for one that is a symbolic link or lies below one.
type Source interface {
	Read(path string) ([]byte, error)
}

// The errors of a Source that are told apart.
var (
	ErrNotCheckedOut = errors.New("not in this checkout")
	ErrTooLarge      = errors.New("file too large")
	ErrOutside       = errors.New("leads out of the repository")
	ErrSymlink       = errors.New("a symbolic link")
)

// WorkTree is a Source over a folder. Symbolic links are not followed: a commit holds where they lead, not what is there.
type WorkTree struct {
	Root *os.Root
	// Tracked tells whether the repository has a path that the folder lacks; nil: not known.
	Tracked func(path string) bool
}

// Read returns a file's bytes.
func (w WorkTree) Read(name string) ([]byte, error) {
	if !fs.ValidPath(name) || name == "." {
		return nil, fmt.Errorf("%s: %w", name, ErrOutside)
	}
	f, err := w.Root.Open(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			if w.linked(name) {
				return nil, fmt.Errorf("%s: %w", name, ErrSymlink)
			}
			if w.Tracked != nil && w.Tracked(name) {
				return nil, fmt.Errorf("%s: %w", name, ErrNotCheckedOut)
			}
			return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
		}
		if strings.Contains(err.Error(), "escapes") {
			return nil, fmt.Errorf("%s: %w", name, ErrOutside)
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer func() { _ = f.Close() }()
	if w.linked(name) {
		return nil, fmt.Errorf("%s: %w", name, ErrSymlink)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a file: %w", name, fs.ErrInvalid)
	case info.Size() > MaxBytes:
		return nil, fmt.Errorf("%s: %d bytes: %w", name, info.Size(), ErrTooLarge)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("%s: %w", name, ErrTooLarge)
	}
	return data, nil
}

// linked tells whether name or a folder above it is a symbolic link.
func (w WorkTree) linked(name string) bool {
	for ; name != "."; name = path.Dir(name) {
		if info, err := w.Root.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

// Problem is something to say about a file. It is an error where its Severity is pipeline.Error.
type Problem struct {
	Code     string // stable, snake_case
	Severity pipeline.Severity
	Message  string
	Hint     string
}

func (p *Problem) Error() string { return p.Message }

func failed(code, hint, format string, args ...any) *Problem {
	return &Problem{Code: code, Severity: pipeline.Error, Message: fmt.Sprintf(format, args...), Hint: hint}
}

func warned(code, hint, format string, args ...any) *Problem {
	return &Problem{Code: code, Severity: pipeline.Warning, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// unreadable turns a Source's error into a problem.
func unreadable(name string, err error) *Problem {
	switch {
	case errors.Is(err, ErrNotCheckedOut):
		return failed("media_not_checked_out", "check out the whole repository, or add the file to the sparse checkout",
			"%s is in the repository but not in this checkout", name)
	case errors.Is(err, fs.ErrNotExist):
		return failed("media_missing", "a leading / means the repository root or a media root; anything else is relative to the post",
			"%s does not exist", name)
	case errors.Is(err, ErrTooLarge):
		return failed("media_too_large", "shrink it; no network takes that much", "%s is larger than %d MiB", name, MaxBytes>>20)
	case errors.Is(err, ErrSymlink):
		return failed("media_symlink", "put the file itself there, or name the file that the link leads to",
			"%s is a symbolic link or lies below one; links are not followed", name)
	case errors.Is(err, ErrOutside):
		return failed("media_outside", "media must lie inside the repository", "%s leads out of the repository", name)
	}
	return failed("media_unreadable", "", "%s cannot be read: %v", path.Base(name), err)
}
