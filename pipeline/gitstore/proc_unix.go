//go:build unix

package gitstore

import (
	"io/fs"
	"os"
	"os/exec"
	"syscall"
)

// setGroup puts a child in a session, and so in a process group, of its own: git leaves its helpers behind when it alone is
// killed, an interrupt from the terminal must not cut a push in two, and without a terminal nothing can prompt.
func setGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}

func killGroup(cmd *exec.Cmd) error {
	if cmd.Process == nil {
		return nil
	}
	return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
}

// ownedByUs tells whether a file belongs to the user that this process acts for.
func ownedByUs(st fs.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == os.Geteuid()
}
