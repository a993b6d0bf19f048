package aside

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"pulse/lib/shared/safefile"
)

// MaxKept bounds the session of a client that is kept, in bytes.
const MaxKept = 12 << 20

// keptFile returns the file of the session of a task's client. What runs a worker keeps it, where no
// worker of another account can write.
func keptFile(dir, queue, task string) (string, error) {
	if dir == "" {
		return "", errors.New("neither XDG_STATE_HOME nor HOME names a directory")
	}
	dir = filepath.Join(dir, "kept")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(task + " " + queue))
	return filepath.Join(dir, hex.EncodeToString(sum[:16])), safefile.Own(dir)
}

// Keep keeps the session of a task's client in the place of the one before. An empty one is
// forgotten.
func Keep(dir, queue, task string, session []byte) error {
	path, err := keptFile(dir, queue, task)
	if err != nil {
		return err
	}
	if len(session) == 0 {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := os.WriteFile(path+".new", session, 0o600); err != nil {
		return errors.Join(err, os.Remove(path+".new"))
	}
	return os.Rename(path+".new", path)
}

// Kept returns what Keep kept; nil if there is nothing. It need not be there: the client begins
// anew then.
func Kept(dir, queue, task string) []byte {
	path, err := keptFile(dir, queue, task)
	if err != nil {
		return nil
	}
	b, err := safefile.Read(path, MaxKept)
	if err != nil {
		return nil
	}
	return b
}
