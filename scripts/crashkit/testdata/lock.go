package main

import "runtime"

// The kernel counts system calls by thread, and so does whoever ends a process at
// its nth one: this file, laid over a command by scripts/crash-test, keeps the main
// goroutine on the first thread, which makes all calls in the order of the program.
func init() {
	runtime.GOMAXPROCS(1)
	runtime.LockOSThread()
}
