// Package lazy puts off what a program may never need. Every command links almost every
// package, and starts often: what is made at the start is paid for by each of them.
//
// Invariant: what is put off is made once, even if several goroutines ask at once. Caveat: a
// pattern that can't be read panics where it is first used and not at the start, so a test has
// to use it.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that compiles a pattern when it is first called.
func Regexp(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
