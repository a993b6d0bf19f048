package spool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"pulse/lib/queue/access"
	"pulse/lib/queue/seen"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
)

// There fails if a path holds no queue. Where this account has seen a queue, the hint is not
// to make another one, which would do everything of the last days again.
func There(dir string) error {
	err := access.There(dir)
	if err != nil && !errors.Is(err, fs.ErrPermission) && seen.Known(seen.Dir(), dir) {
		hint := "findmnt --target " + escape.Shell(nearest(dir)) +
			" (is its volume mounted?); only if it is lost for good: pulse-queue init --queue " + escape.Shell(dir)
		return fault.Usagef(hint, "%w, and there was one", err)
	}
	return err
}

// nearest returns the longest part of a path that exists.
func nearest(path string) string {
	for ; filepath.Dir(path) != path; path = filepath.Dir(path) {
		if _, err := os.Stat(path); err == nil {
			break
		}
	}
	return path
}
