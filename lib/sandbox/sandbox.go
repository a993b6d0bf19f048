// Package sandbox takes away from a process what it does not need: files and TCP
// ports with Landlock (landlock(7)), and with a seccomp filter (seccomp(2)) what
// Landlock can't reach: other sockets, new programs, other processes, the terminal's
// input queue, mode, owner, times and attributes of files, how other processes run, what
// is shared by name, and the parts of the kernel that no stage has a use for.
//
// Invariant: once Enforce has returned, what it names in its Level holds for all
// threads of the process, for all that it starts, and for as long as they live.
// Caveat: what this process opened before stays open, and a file can still be looked at with
// stat(2): Landlock guards opening, listing and changing. A stage that makes files can
// give those modes to whatever it may read and owns.
package sandbox

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pulse/lib/fault"
)

// Mode is what to do about a kernel that can't confine.
type Mode string

// The modes, as --sandbox spells them.
const (
	Auto    Mode = "auto"    // go on with what there is
	Require Mode = "require" // fail
	Off     Mode = "off"     // confine nothing
)

// Modes lists them.
var Modes = []Mode{Auto, Require, Off}

// Valid reports whether m is one of Modes.
func (m Mode) Valid() bool { return slices.Contains(Modes, m) }

// Level is what is in force. The zero Level is nothing.
type Level struct {
	Landlock int // the version of its interface, 0: none
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

// The versions of Landlock that a profile needs to be kept whole: since 3 a file
// can't be cut short by its name, since 4 TCP has ports.
const (
	leastForFiles = 3
	leastForPorts = 4
)

// Lacks says what this kernel has not of what a stage is confined with, one that asks
// name servers (dns) or another one; empty: nothing.
func Lacks(dns bool) string { return Here().lacks(Profile{DNS: dns}) }

// lacks says what a level can't keep of a profile; empty: nothing.
func (l Level) lacks(p Profile) string {
	least := leastForFiles
	if p.DNS {
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

// Enforce takes away all that the profile does not keep, and returns what is in
// force from now on. What the kernel has not is left out, or with Require a
// temporary error; what it has and refuses is one in any case.
func Enforce(p Profile, m Mode) (Level, error) { return enforce(p, m, Here()) }

func enforce(p Profile, m Mode, here Level) (Level, error) {
	if m == Off {
		return Level{}, nil
	}
	if why := here.lacks(p); m == Require && why != "" {
		return Level{}, fault.Temporaryf("--sandbox=auto goes on without", "sandbox: %s", why)
	}
	closeInherited(p)
	_, _ = time.Now().Zone() // the time zone is read once, and could not be later
	var got Level
	if here.Landlock > 0 {
		if err := restrictFiles(p); err != nil {
			return got, refused("Landlock", err)
		}
		got.Landlock = here.Landlock
	}
	if here.Seccomp {
		if err := restrictCalls(p); err != nil {
			return got, refused("seccomp", err)
		}
		got.Seccomp = true
	}
	return got, nil
}

func refused(what string, err error) error {
	return fault.Temporaryf("--sandbox=off goes on without", "sandbox: %s: %w", what, err)
}

// Conceal makes the memory of this process unreadable to others of the same user, and
// keeps it out of core dumps: passwords and mail are in there. What the process starts
// is not concealed.
func Conceal() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) } // it can't fail
