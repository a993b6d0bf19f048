package aside

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"pulse/lib/shared/safefile"
)

// MaxKept bounds the session of a client that is kept, in bytes.
const MaxKept = 12 << 20

// keptFile returns the file of the session of a task's client. What runs a worker keeps it, where no
// worker of another account can write.
func keptFile(dir, queue, task string, make bool) (path string, err error) {
	if dir == "" {
		return "", errors.New("neither XDG_STATE_HOME nor HOME names a directory")
	}
	if dir = filepath.Join(dir, "kept"); make {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(task + " " + queue))
	return filepath.Join(dir, hex.EncodeToString(sum[:16])), safefile.Own(dir)
}

// longestKept is how long a session is kept of a task that does not go on.
const longestKept = 90 * 24 * time.Hour

// Keep keeps the session of a task's client in the place of the one before. An empty one is
// forgotten, and so are those of tasks that have not gone on for 90 days.
func Keep(dir, queue, task string, session []byte) error {
	path, err := keptFile(dir, queue, task, true)
	if err != nil {
		return err
	}
	sweep(filepath.Dir(path))
	if len(session) == 0 {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return safefile.Replace(path, session, 0o600)
}

// sweep removes what is too old.
func sweep(dir string) {
	list, err := os.ReadDir(dir)
	for _, e := range list {
		if info, gone := e.Info(); err == nil && gone == nil && time.Since(info.ModTime()) > longestKept {
			_ = os.Remove(filepath.Join(dir, e.Name())) // the next one tries again
		}
	}
}

// Kept returns what Keep kept; nil if there is nothing. A session need not be there: the client
// begins anew then.
func Kept(dir, queue, task string) ([]byte, error) {
	path, err := keptFile(dir, queue, task, false)
	if err == nil {
		var b []byte
		if b, err = safefile.Read(path, MaxKept); err == nil {
			return b, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // nor can there be anything
		err = nil
	}
	return nil, err
}
