package content

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// FS is where files come from: a folder, or the tree of a commit. It must be safe for concurrent use.
type FS interface {
	// List returns the files at or below prefix, "" for all, in any order. Nothing there is no error. Folders are not
	// listed and links are not followed.
	List(prefix string) ([]File, error)
	// Read returns a file's bytes. The error wraps fs.ErrNotExist where there is none.
	Read(path string) ([]byte, error)
}

// File is one file of an FS.
type File struct {
	Path    string // slash-separated, relative to the repository
	Size    int64
	Sum     string // git's blob id, "" where it is not known
	Symlink bool
}

// Dir is an FS over a folder. It cannot be led out of it by links.
func Dir(root *os.Root) FS { return dir{root} }

type dir struct{ root *os.Root }

// List implements FS. The folder .git is left out.
func (d dir) List(prefix string) ([]File, error) {
	prefix = path.Clean("/" + prefix)[1:]
	name := prefix
	if name == "" {
		name = "."
	}
	info, err := d.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", prefix, err)
	}
	if !info.IsDir() {
		return []File{file(prefix, info)}, nil
	}
	return d.walk(prefix, nil)
}

func (d dir) walk(folder string, out []File) ([]File, error) {
	name := folder
	if name == "" {
		name = "."
	}
	f, err := d.root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", folder, err)
	}
	entries, err := f.ReadDir(-1)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", folder, err)
	}
	for _, e := range entries {
		child := path.Join(folder, e.Name())
		switch {
		case e.Name() == ".git":
		case e.IsDir():
			if out, err = d.walk(child, out); err != nil {
				return nil, err
			}
		default:
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue // gone since it was listed
			}
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", child, err)
			}
			out = append(out, file(child, info))
		}
	}
	return out, nil
}

func file(name string, info fs.FileInfo) File {
	return File{Path: name, Size: info.Size(), Symlink: info.Mode()&fs.ModeSymlink != 0}
}

// Read implements FS.
func (d dir) Read(name string) ([]byte, error) {
	f, err := d.root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: not a file: %w", name, fs.ErrInvalid)
	}
	// One byte more than the largest post: what grows while it is read is still refused as too large.
	data := make([]byte, 0, min(info.Size(), MaxPost+1)+1)
	for len(data) <= MaxPost {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		data = slices.Grow(data, 1)
	}
	return data, nil
}

// below tells whether name is folder or lies in it.
func below(name, folder string) bool {
	return folder == "" || name == folder || strings.HasPrefix(name, folder+"/")
}
