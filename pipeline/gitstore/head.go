package gitstore

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strings"
)

// readHead reads HEAD and, where the ref is stored in files, its commit.
func (r *Repo) readHead() {
	file := filepath.Join(r.GitDir, "HEAD")
	line, err := readLine(file)
	if err != nil {
		return
	}
	ref, symbolic := strings.CutPrefix(line, "ref:")
	if !symbolic {
		if h := Hash(strings.ToLower(line)); SHA1.valid(h) || SHA256.valid(h) {
			r.Head = h
		}
		return
	}
	ref = strings.TrimSpace(ref)
	if ref == "refs/heads/.invalid" {
		return // the refs are in a reftable
	}
	r.Branch, _ = strings.CutPrefix(ref, "refs/heads/")
	if checkRef(ref) != nil {
		return
	}
	if line, err := readLine(filepath.Join(r.CommonDir, filepath.FromSlash(ref))); err == nil {
		if h := Hash(line); SHA1.valid(h) || SHA256.valid(h) {
			r.Head = h
			return
		}
	}
	r.Head = packedRef(filepath.Join(r.CommonDir, "packed-refs"), ref)
}

func packedRef(file, ref string) Hash {
	data, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	sc := bufio.NewScanner(bytes.NewReader(data))
	for sc.Scan() {
		if id, name, ok := strings.Cut(sc.Text(), " "); ok && name == ref && (SHA1.valid(Hash(id)) || SHA256.valid(Hash(id))) {
			return Hash(id)
		}
	}
	return ""
}
