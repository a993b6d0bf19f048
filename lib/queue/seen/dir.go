package seen

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"pulse/lib/shared/safefile"
)

// rootDir is Dir for root.
const rootDir = "/var/lib/pulse-seen"

// Dir returns the directory where this account notes what it saw committed to queues:
// in $XDG_STATE_HOME or its default. Root ignores an environment that may be another
// user's. Without a home the path is empty.
func Dir() string {
	dir := os.Getenv("XDG_STATE_HOME")
	switch home := os.Getenv("HOME"); {
	case os.Geteuid() == 0 && !rootsOwn(dir):
		return rootDir
	case filepath.IsAbs(dir):
	case filepath.IsAbs(home):
		dir = filepath.Join(home, ".local/state")
	default:
		return ""
	}
	return filepath.Join(dir, "pulse")
}

// rootsOwn reports whether an absolute path is root's, or will be once it is made.
func rootsOwn(dir string) bool {
	if !filepath.IsAbs(dir) {
		return false
	}
	_, err := os.Lstat(dir)
	for ; errors.Is(err, fs.ErrNotExist); _, err = os.Lstat(dir) {
		dir = filepath.Dir(dir)
	}
	return err == nil && safefile.Directory(dir) == nil
}
