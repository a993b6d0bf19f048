package cmdline

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"pulse/lib/escape"
	"pulse/lib/safefile"
	"pulse/lib/seen"
)

// rootState is stateDir for root.
const rootState = "/var/lib/pulse-seen"

// stateDir returns the directory where this account notes what it saw committed to queues:
// in $XDG_STATE_HOME or its default. Root ignores an environment that may be another
// user's. Without a home the path is empty.
func stateDir() string {
	dir := os.Getenv("XDG_STATE_HOME")
	switch home := os.Getenv("HOME"); {
	case os.Geteuid() == 0 && !rootsOwn(dir):
		return rootState
	case filepath.IsAbs(dir):
	case filepath.IsAbs(home):
		dir = filepath.Join(home, ".local/state")
	default:
		return ""
	}
	return filepath.Join(dir, "pulse")
}

// Forget drops what this account noted of an earlier queue at a path where it has just made
// one, and reports whether it had noted anything. Other accounts keep what they noted.
func Forget(queue string) (had bool, err error) { return seen.Forget(stateDir(), queue) }

// Restored returns the hint about a queue that lacks what was seen committed.
func Restored(c *cli.Context) string {
	return "man 5 pulse-queue, BACKUP AND RESTORE; then, as " + User() +
		": pulse-queue release --restored --queue " + escape.Shell(c.String("queue"))
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
