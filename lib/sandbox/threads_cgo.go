//go:build cgo

package sandbox

import "os"

// everyThread reports whether a call can be made in every thread. With cgo a library does
// that, which looks for them in /proc and ends the process if it can't: where /proc is
// missing or hidden there is no Landlock then. Built without cgo, the Go runtime does it.
func everyThread() bool {
	_, err := os.ReadDir("/proc/self/task")
	return err == nil
}
