//go:build !unix

package gitstore

import (
	"io/fs"
	"os/exec"
)

func setGroup(*exec.Cmd) {}

func killGroup(cmd *exec.Cmd) error {
	if cmd.Process == nil {
		return nil
	}
	return cmd.Process.Kill()
}

// ownedByUs cannot be told here from the file's information; git checks it on its own.
func ownedByUs(fs.FileInfo) bool { return true }
