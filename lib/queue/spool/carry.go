package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"pulse/lib/queue/disk"
	"pulse/lib/queue/journal"
	"pulse/lib/queue/store"
	"pulse/lib/shared/task"
)

// carrier carries out the changes of some lines of the log on the files.
type carrier struct {
	disk  disk.Disk
	fresh bool // this command wrote the lines: nothing was carried out yet

	dirs     map[string]bool     // directories whose names changed
	unsynced []string            // files written and not synced
	old      map[string]bool     // names that go once the new ones of their files are durable
	less     map[string][]string // effects that leave an outbox, by its file
}

func newCarrier(d disk.Disk, fresh bool) *carrier {
	return &carrier{
		disk: d, fresh: fresh, dirs: map[string]bool{}, old: map[string]bool{}, less: map[string][]string{},
	}
}

// change carries out one change.
func (c *carrier) change(to *store.Change) error {
	name := fileOf(to.Shelf, to.Key)
	st := task.State(to.Shelf)
	switch {
	case to.Shelf == store.Pruned || to.Shelf == store.Names:
		return c.know(to)
	case to.Shelf == store.Spent || to.Shelf == store.Approvals:
		return c.approval(to, name)
	case slices.Contains(task.States, st) && to.Gone():
		return errors.Join(c.remove(name), c.alone(to.Key, ""))
	case slices.Contains(task.States, st):
		return c.move(to, st)
	case to.Less != "":
		c.less[name] = append(c.less[name], to.Less)
		return nil
	case to.Digest != "" || to.Lines != nil:
		return c.keep(to, name)
	case to.Gone():
		return c.remove(name)
	case to.Shelf == store.Positions: // its readers take no lock, so it has to be whole whenever the power fails
		return writeSynced(c.disk, name, withNewline(to.Bytes))
	case to.Bytes == nil: // only a forged line moves a task to what is no state
		return fmt.Errorf("%w: a line puts %s on the shelf %q", journal.ErrBroken, to.Key, to.Shelf)
	}
	return c.write(name, to)
}

func withNewline(b []byte) []byte { return append(slices.Clip(b), '\n') }

// move puts a task file into the directory of a state, wherever it lies now.
func (c *carrier) move(to *store.Change, st task.State) error {
	from, name := stagedFile(to.Shelf, to.Key), taskFile(st, to.Key)
	if to.From != "" {
		from = fileOf(to.From, to.Key)
	}
	err := c.carry(from, name)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err = c.disk.Stat(name); err == nil { // it was moved before
			c.dirs[string(st)] = true
			delete(c.old, name)
		} else if err = c.find(to.Key, name); errors.Is(err, fs.ErrNotExist) {
			return nil // it was removed by hand: verify says so
		}
	}
	if err != nil {
		return err
	}
	return c.alone(to.Key, st)
}

// find carries a task file that does not lie where the line says.
func (c *carrier) find(id, name string) (err error) {
	for _, st := range append([]task.State{tmpDir}, task.States...) {
		if err = c.carry(taskFile(st, id), name); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}

// alone removes all names of a task file except the one in st, if any, because a power
// cut may have left it several. Lines that this command wrote leave no other name.
func (c *carrier) alone(id string, st task.State) error {
	if c.fresh {
		return nil
	}
	for _, other := range task.States {
		name := taskFile(other, id)
		if _, err := c.disk.Stat(name); err == nil && other != st {
			c.old[name] = true
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// keep moves a staged file to its place. What lies in tmp may come from an attempt that
// was never committed, and be torn.
func (c *carrier) keep(to *store.Change, name string) error {
	staged := stagedFile(to.Shelf, to.Key)
	b, err := c.disk.Read(staged)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !isStaged(to, b) {
		c.dirs[parentOf(name)] = true
		return nil // it was moved before
	}
	if err != nil {
		return err
	}
	return c.carry(staged, name)
}

// isStaged reports whether a file holds what a change says was staged.
func isStaged(to *store.Change, b []byte) bool {
	if to.Lines == nil {
		return task.Digest(b) == to.Digest
	}
	lines, err := store.ReadOutbox(b)
	return err == nil && slices.Equal(lines, to.Lines)
}

// approval changes a task's approval, or its spent one. Only a queue that has approvers
// keeps a spent approval: write says why.
func (c *carrier) approval(to *store.Change, name string) error {
	spent := fileOf(store.Spent, to.Key)
	keeps := c.disk.Shared() && c.fresh
	switch {
	case to.From != "":
		yes := fileOf(store.Approvals, to.Key)
		// What grants approved in this same commit is no person's answer, and need not come back.
		if keeps && !slices.Contains(c.unsynced, yes) {
			if err := c.rename(yes, spent); !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return nil
		}
		return errors.Join(c.remove(yes), c.remove(spent))
	case to.Shelf == store.Spent && !c.disk.Shared():
		return nil
	case to.Gone():
		return c.remove(name)
	case keeps && c.says(name, to.Bytes):
		return nil
	case keeps && c.says(spent, to.Bytes):
		return c.rename(spent, name)
	}
	return c.write(name, to)
}

// says reports whether a file holds this object, and nothing else.
func (c *carrier) says(name string, b []byte) bool {
	have, err := c.disk.Read(name)
	return err == nil && bytes.Equal(have, withNewline(b))
}

// write replaces a file. In a queue that has approvers, the owner of a file in approvals
// or grants says whose yes it is, if nobody else could write it (ReadOwned). The kernel
// recorded that owner, so even someone who can write the queue and the log can't forge it.
// Therefore
//
//   - a file that only a person's answer makes (Change.Answer) is written as their own, by
//     the command that they answered. A command that carries out the log after a crash
//     never does so: a line forged in the log would become the yes of the next person who
//     runs a command,
//   - a file that holds this yes already is not written again, and is moved aside while an
//     effect runs, because it may have to come back.
//
// What is carried out again after a crash is no person's yes, and a person is asked anew.
func (c *carrier) write(name string, to *store.Change) (err error) {
	tmp := tmpDir + "/applied"
	if to.Answer && c.fresh && c.disk.Shared() {
		tmp = tmpDir + "/answer"
		err = c.disk.WriteOwned(tmp, withNewline(to.Bytes))
	} else {
		err = c.disk.Write(tmp, withNewline(to.Bytes), time.Time{})
	}
	if err == nil {
		err = c.disk.Rename(tmp, name)
	}
	if err == nil {
		c.wrote(name)
	}
	return err
}

// wrote notes a file that has to be synced, and its directory.
func (c *carrier) wrote(name string) {
	c.unsynced = append(c.unsynced, name)
	c.dirs[parentOf(name)] = true
}

func (c *carrier) remove(name string) error {
	if len(c.unsynced) < disk.Many { // otherwise all is synced
		c.unsynced = slices.DeleteFunc(c.unsynced, func(was string) bool { return was == name })
	}
	err := c.disk.Remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	c.dirs[parentOf(name)] = true
	return err
}

// carry gives a file another name. The old one goes when the new one is durable: half a
// rename may reach the disk, and then the file could have lost both names.
func (c *carrier) carry(from, to string) error {
	c.dirs[parentOf(to)] = true
	if err := c.disk.Link(from, to); err != nil {
		return err
	}
	delete(c.old, to)
	if from != to {
		c.old[from] = true
	}
	return nil
}

// rename carries a file that may be lost: nothing needs it then.
func (c *carrier) rename(from, to string) error {
	c.dirs[parentOf(from)], c.dirs[parentOf(to)] = true, true
	return c.disk.Rename(from, to)
}

// takeOut removes from the outboxes the proposals that have a receipt now. The rest of an
// outbox is made from the outbox itself, so the file has to be whole whenever the power
// fails: it is synced before it gets its name. All of this may have been done before.
func (c *carrier) takeOut() error {
	for name, effects := range c.less {
		b, err := c.disk.Read(name)
		if errors.Is(err, fs.ErrNotExist) || notFile(err) {
			continue
		}
		if err != nil {
			return err
		}
		rest, had, err := store.Without(b, effects...)
		switch {
		case err != nil || !had: // what can't be read is left to verify
			continue
		case len(rest) == 0:
			err = c.remove(name)
		default:
			c.dirs[parentOf(name)] = true
			err = writeSynced(c.disk, name, rest)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sync makes durable what was carried out, and then removes the old names.
func (c *carrier) sync() error {
	if err := c.syncChanged(); err != nil {
		return err
	}
	for name := range c.old {
		if err := c.remove(name); err != nil {
			return err
		}
	}
	return c.disk.SyncDir(c.changed()...)
}

// syncChanged syncs files and names at the same time: until both are durable, this commit is
// carried out again.
func (c *carrier) syncChanged() error {
	dirs := c.changed()
	if len(c.unsynced) >= disk.Many {
		return c.disk.SyncAll()
	}
	return c.disk.Sync(c.unsynced, dirs)
}

// changed returns the directories whose names changed since it was called last.
func (c *carrier) changed() []string {
	delete(c.dirs, tmpDir) // files there are either moved or thrown away
	defer clear(c.dirs)
	return slices.Sorted(maps.Keys(c.dirs))
}
