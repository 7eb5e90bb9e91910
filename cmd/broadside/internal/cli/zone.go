package cli

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/broadside-pub/broadside/pipeline/schedule"
)

// systemZone finds the name of this machine's time zone; from says where, "" where none was found and UTC is assumed.
func (a *app) systemZone() (name, from string) {
	known := func(s string) bool {
		_, err := schedule.LoadZone(s)
		return err == nil
	}
	if tz := strings.TrimPrefix(a.getenv("TZ"), ":"); known(tz) {
		return tz, "TZ"
	}
	if b, err := os.ReadFile("/etc/timezone"); err == nil {
		if s := strings.TrimSpace(string(b)); known(s) {
			return plainUTC(s), "/etc/timezone"
		}
	}
	if target, err := filepath.EvalSymlinks("/etc/localtime"); err == nil {
		if _, s, ok := strings.Cut(filepath.ToSlash(target), "/zoneinfo/"); ok && known(s) {
			return plainUTC(s), "/etc/localtime"
		}
	}
	return "UTC", ""
}

// plainUTC writes the names under which systems know UTC as everybody does.
func plainUTC(s string) string {
	switch s {
	case "Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu", "UCT", "Universal", "Zulu":
		return "UTC"
	}
	return s
}
