package spool

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"pulse/lib/queue/disk"
	"pulse/lib/queue/journal"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// shardOf returns the index of ids that begin like this one, and are known although no file has
// them. The files of tasks that were pruned were removed, and none of them is accepted again: a
// line holds the id and the last state. A mail is known by another name: a line holds that and,
// after an equals sign, the id of its task in base64, which fits where a state does.
func shardOf(id string) disk.Lines { return shardIn(fileOf(store.Pruned, id)) }

func shardIn(name string) disk.Lines { return index(name, 64) }

func appendPruned(dst []byte, id string, last task.State) []byte {
	return fmt.Appendf(dst, "%s %-30s\n", id, last)
}

// named returns what the line of a name holds: a text that is no state.
func named(id string) task.State {
	b, err := hex.DecodeString(id)
	if err != nil {
		return "=" // a forged line
	}
	return task.State("=" + base64.RawURLEncoding.EncodeToString(b))
}

// isName reports whether a line holds what named returns.
func isName(last task.State) bool { return strings.HasPrefix(string(last), "=") }

// name returns the id of the task that has taken a name.
func (v view) name(name string) (store.Item, error) {
	last, err := v.taken(name)
	b, bad := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(string(last), "="))
	if err == nil && (!isName(last) || bad != nil) {
		err = fmt.Errorf("%w: no task has the name %s", store.ErrUnknown, name)
	}
	return store.Item{Bytes: []byte(hex.EncodeToString(b))}, err
}

// pruned returns the last state of a task that was pruned.
func (v view) pruned(id string) (store.Item, error) {
	last, err := v.taken(id)
	if err == nil && (last == "" || isName(last)) {
		err = fmt.Errorf("%w: %s was not pruned", store.ErrUnknown, id)
	}
	return store.Item{Bytes: []byte(last)}, err
}

// taken returns what the line of an id or a name holds, "" if there is none.
func (v view) taken(id string) (last task.State, err error) {
	if task.ValidID(id) {
		_, last, err = findPruned(v.disk, id)
		if errors.Is(err, errShard) && v.locked {
			if err = v.anew(); err == nil {
				_, last, err = findPruned(v.disk, id)
			}
		}
	}
	return last, v.hint(err)
}

// shards holds the files of pruned ids and of names, made of lines of the log, by name.
type shards map[string][]byte

func (sh shards) add(l *audit.Line) {
	id, last := l.Task, l.From
	if l.Event == task.Added {
		id, last = l.KnownAs, named(l.Task)
	}
	if (l.Event == task.Pruned || l.Event == task.Added) && task.ValidID(id) {
		name := shardOf(id).Name
		sh[name] = appendPruned(sh[name], id, last)
	}
}

// write replaces the files durably.
func (sh shards) write(d disk.Disk) error {
	if len(sh) == 0 {
		return nil
	}
	var files []disk.File
	for name, b := range sh {
		files = append(files, disk.File{Name: tmpDir + name[len(prunedDir):], Data: b})
	}
	if err := errors.Join(d.WriteAll(files), d.SyncAll()); err != nil {
		return err
	}
	for name := range sh {
		if err := d.Rename(tmpDir+name[len(prunedDir):], name); err != nil {
			return err
		}
	}
	return d.SyncDir(prunedDir)
}

// errShard means that a file of pruned ids can't be read. Its ids must not pass for ids
// that were never there, so the file is made anew from the log.
var errShard = fmt.Errorf("%w, or a file made from it", journal.ErrBroken)

// findPruned returns where the line of an id stands or has to be written, and the state
// that it holds.
func findPruned(d disk.Disk, id string) (off int64, last task.State, err error) {
	shard := shardOf(id)
	err = shard.Each(d, func(at int64, line []byte) (bool, error) {
		if !task.ValidID(string(line[:32])) && line[0] != 0 { // zeros are what a power cut left
			return false, fmt.Errorf("%w: %s: not a line of an id", errShard, shard.Name)
		}
		if string(line[:32]) == id {
			off, last = at, task.State(strings.TrimSpace(string(line[33:])))
			return false, nil
		}
		off = at + int64(shard.Width)
		return true, nil
	})
	if notFile(err) {
		err = fmt.Errorf("%w: %w", errShard, err)
	}
	return off, last, err
}

// know writes the line of an id or of a name. A line that is there already is written again, because
// the sync that was to follow it may have failed.
func (c *carrier) know(to *store.Change) error {
	last := task.State(to.Bytes)
	if to.Shelf == store.Names {
		last = named(string(to.Bytes))
	}
	off, _, err := findPruned(c.disk, to.Key)
	if err != nil {
		return err
	}
	name := shardOf(to.Key).Name
	c.wrote(name)
	return c.disk.WriteAt(name, off, appendPruned(nil, to.Key, last))
}
