// Package disktest is a disk in memory for crash tests: it can end a process, or fail, at
// every step that changes anything, or at every one that reads, and forgets what was not synced when
// the power is cut.
//
// Invariant: it forgets whatever a disk may forget. A store that passes here with every
// step ended in every way keeps its promises on a journal and without one. Caveats: it
// runs one command at a time; and what a failed sync lost of a file is saved by the next one
// after a write, which on a real disk saves the pages that were written.
package disktest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"syscall"
	"time"
)

// FS is a disk in memory that forgets. What was not synced may be lost when the power goes:
// names and contents apart, in any combination, a file's last bytes cut off or turned into
// zeros. A rename is one step where names are ordered, as a journal orders them; elsewhere
// it is two, of a name that comes and one that goes, and after a power cut a file may have
// both names or neither.
type FS struct {
	Ordered bool // names reach the disk in the order of their changes (ext4, xfs)
	Group   bool // others than the owner may write it, so that Shared is true
	Account int  // uid of the account that runs the commands

	LieFile, LieDir, LieAll bool // that sync does nothing: a naive writer, for control

	Fault func(n int) Fate // asked before every operation that changes anything; nil: none fails
	Ops   int              // how many of those there were
	Reads bool             // these are asked before every operation that reads, instead
	Syncs int
	Waits int // how often a command waited for syncs

	names   map[string]*inode // as the system call interface shows them
	durable map[string]*inode
	pending []nameOp // changes of names that no sync has covered
}

type inode struct {
	data    []byte
	mtime   time.Time
	durable []byte
	unsaved [][]byte // what data was since the last sync, oldest first
	clean   bool     // a sync failed since the last write: the next one does nothing
	owner   int      // the account that alone could write it; 0: others could
}

type nameOp map[string]*inode // nil: removed

// Fate is what becomes of one operation.
type Fate struct {
	Err  error // it fails so
	Half bool  // and a write is half done first
	Die  bool  // the process ends before it returns
}

// Fates are those that a store has to stand at every step.
var Fates = map[string]Fate{
	"killed before": {Err: syscall.EINTR, Die: true},
	"killed within": {Err: syscall.EINTR, Half: true, Die: true},
	"killed after":  {Die: true},
	"EIO":           {Err: syscall.EIO},
	"ENOSPC":        {Err: syscall.ENOSPC, Half: true},
}

// At is a Fault: the nth operation has a fate, and the others have none.
func At(n int, f Fate) func(int) Fate {
	return func(k int) Fate {
		if k == n {
			return f
		}
		return Fate{}
	}
}

// ErrKilled is the error of a process that was killed.
var ErrKilled = errors.New("killed")

// Run runs a command, and returns its error, or ErrKilled.
func Run(command func() error) (err error) {
	defer func() {
		if r := recover(); r == ErrKilled {
			err = ErrKilled
		} else if r != nil {
			panic(r)
		}
	}()
	return command()
}

// New returns an empty disk.
func New() *FS { return &FS{names: map[string]*inode{}, durable: map[string]*inode{}} }

// Clone copies the disk; the copy has no faults.
func (d *FS) Clone() *FS {
	seen := map[*inode]*inode{nil: nil}
	copied := func(i *inode) *inode {
		if _, ok := seen[i]; !ok {
			c := *i
			c.unsaved = slices.Clone(i.unsaved)
			seen[i] = &c
		}
		return seen[i]
	}
	c := New()
	c.Ordered, c.Group, c.Account, c.Reads = d.Ordered, d.Group, d.Account, d.Reads
	c.LieFile, c.LieDir, c.LieAll = d.LieFile, d.LieDir, d.LieAll
	for n, i := range d.names {
		c.names[n] = copied(i)
	}
	for n, i := range d.durable {
		c.durable[n] = copied(i)
	}
	for _, op := range d.pending {
		o := nameOp{}
		for n, i := range op {
			o[n] = copied(i)
		}
		c.pending = append(c.pending, o)
	}
	return c
}

// Each calls fn for each file, whatever its directory, and with the account that alone can
// have written it, 0 if there is none.
func (d *FS) Each(fn func(name string, owner int)) {
	for _, n := range slices.Sorted(maps.Keys(d.names)) {
		fn(n, d.names[n].owner)
	}
}

// Sum identifies what commands read: names, contents, times and accounts. With durable it also
// identifies what a power cut may leave of them.
func (d *FS) Sum(durable bool) string {
	h, met := sha256.New(), map[*inode]int{nil: 0}
	file := func(name string, i *inode) {
		n, again := met[i]
		if fmt.Fprintf(h, "%q %d ", name, n); again { // another link of it, or its end
			return
		}
		met[i] = len(met)
		fmt.Fprintf(h, "%d %d %d ", len(i.data), i.mtime.UnixNano(), i.owner)
		h.Write(i.data)
		if !durable {
			return
		}
		fmt.Fprintf(h, "%t ", i.clean)
		for _, b := range append([][]byte{i.durable}, i.unsaved...) {
			fmt.Fprintf(h, "%d ", len(b))
			h.Write(b)
		}
	}
	sums := []nameOp{d.names}
	if durable {
		sums = append(append(sums, d.durable), d.pending...)
	}
	for _, m := range sums {
		fmt.Fprintf(h, "%d names ", len(m))
		for _, name := range slices.Sorted(maps.Keys(m)) {
			file(name, m[name])
		}
	}
	return string(h.Sum(nil))
}
