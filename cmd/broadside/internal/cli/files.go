package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// The modes of what is written into a repository. git keeps no finer ones, and nothing secret lies there unencrypted.
const (
	fileMode   = 0o644
	folderMode = 0o755
)

// create writes a file of the repository that is not there yet, with its folders. A file that is there is fs.ErrExist.
// Links cannot lead it out of the repository.
func (w *workspace) create(name string, data []byte) error {
	return w.write(name, data, os.O_EXCL)
}

// overwrite writes a file of the repository.
func (w *workspace) overwrite(name string, data []byte) error {
	return w.write(name, data, os.O_TRUNC)
}

func (w *workspace) write(name string, data []byte, how int) error {
	root, err := os.OpenRoot(w.root)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if err := root.MkdirAll(path.Dir(name), folderMode); err != nil {
		return fmt.Errorf("cannot make the folder of %s: %w", name, err)
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|how, fileMode)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", name, err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("cannot write %s: %w", name, err)
	}
	return nil
}

// has tells whether the repository has a file.
func (w *workspace) has(name string) bool {
	_, err := w.files.Read(name)
	return !errors.Is(err, fs.ErrNotExist)
}
