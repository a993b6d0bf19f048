// Package sandbox takes away from a process what it does not need. Landlock (landlock(7))
// takes files and TCP ports. A seccomp filter (seccomp(2)) takes what Landlock can't
// reach: other sockets, new programs, other processes, the terminal's input queue, mode,
// owner, times and attributes of files, how other processes run, what is shared by name,
// and the parts of the kernel that no stage has a use for.
//
// Invariant: once Enforce has returned, the Level that it returned holds for all threads
// of the process and for everything that it starts, for as long as they live.
// Caveat: what this process opened before stays open, and any file can still be looked at
// with stat(2), because Landlock guards opening, listing and changing. A stage that makes
// files can give the modes of a queue's files to any file that it may read and owns.
package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pulse/lib/shared/fault"
)

// Mode says what to do about a kernel that can't confine.
type Mode string

// The modes, as --sandbox spells them.
const (
	Auto    Mode = "auto"    // go on with what the kernel has
	Require Mode = "require" // fail
	Off     Mode = "off"     // confine nothing
)

var modes = []Mode{Auto, Require, Off}

// Valid reports whether m is one of the modes.
func (m Mode) Valid() bool { return slices.Contains(modes, m) }

// Level says what is in force. The zero Level means that nothing is.
type Level struct {
	Landlock int // the version of its interface, 0 if it is not in force
	Seccomp  bool
}

// String returns the level as the audit log has it: landlock-7+seccomp, or none.
func (l Level) String() string {
	var words []string
	if l.Landlock > 0 {
		words = append(words, fmt.Sprintf("landlock-%d", l.Landlock))
	}
	if l.Seccomp {
		words = append(words, "seccomp")
	}
	if words == nil {
		return "none"
	}
	return strings.Join(words, "+")
}

// Here returns the level that this kernel can give.
func Here() Level { return Level{Landlock: landlockHere(), Seccomp: seccompHere()} }

// The versions of Landlock that a profile needs to be enforced completely: 3 keeps a file
// from being cut short by its name, 4 knows TCP ports.
const (
	leastForFiles = 3
	leastForPorts = 4
)

// Lacks says what this kernel lacks to confine a stage completely, empty if nothing. dns
// stands for a stage that asks name servers.
func Lacks(dns bool) string {
	if dns {
		return Here().lacks(Profile{DNS: 53})
	}
	return Here().lacks(Profile{})
}

// lacks says what a level lacks to enforce a profile completely, empty if nothing.
func (l Level) lacks(p Profile) string {
	least := leastForFiles
	if p.DNS != 0 {
		least = leastForPorts
	}
	switch {
	case !l.Seccomp:
		return "this kernel has no seccomp filters"
	case l.Landlock == 0:
		return "this kernel has no Landlock"
	case l.Landlock < least:
		return fmt.Sprintf("this kernel has Landlock %d, and %d is needed", l.Landlock, least)
	}
	return ""
}

// ErrLacks means that this kernel lacks what Require wants.
var ErrLacks = errors.New("sandbox")

// Enforce takes away everything that the profile does not keep, and returns what is in
// force from now on. If the kernel lacks something, Enforce does without, or fails with a
// temporary error for Require. If the kernel has it and refuses, Enforce always fails.
func Enforce(p Profile, m Mode) (Level, error) { return enforce(p, m, Here()) }

func enforce(p Profile, m Mode, here Level) (Level, error) {
	if m == Off {
		return Level{}, nil
	}
	if why := here.lacks(p); m == Require && why != "" {
		return Level{}, fault.Temporaryf("--sandbox=auto goes on without", "%w: %s", ErrLacks, why)
	}
	closeInherited(p)
	_, _ = time.Now().Zone() // reads the time zone, which would be impossible later
	var got Level
	if here.Landlock > 0 {
		if err := restrictFiles(p); err != nil {
			return got, refusedBy("Landlock", err)
		}
		got.Landlock = here.Landlock
	}
	if here.Seccomp {
		if err := restrictCalls(p); err != nil {
			return got, refusedBy("seccomp", err)
		}
		got.Seccomp = true
	}
	return got, nil
}

func refusedBy(what string, err error) error {
	return fault.Temporaryf("--sandbox=off goes on without", "sandbox: %s: %w", what, err)
}

// Conceal makes the memory of this process unreadable to other processes of the same user,
// and keeps it out of core dumps, because it holds passwords and mail. Programs that the
// process starts are not concealed.
func Conceal() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) } // it can't fail
