package cmdlinetest

import (
	"syscall"
	"testing"
	"time"
)

// Computed returns how long this process has computed. What else the machine does takes none of it.
func Computed(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
