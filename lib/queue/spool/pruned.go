package spool

import (
	"errors"
	"fmt"
	"strings"

	"pulse/lib/queue"
	"pulse/lib/queue/disk"
	"pulse/lib/queue/journal"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// shardOf returns the index of pruned ids that begin like this one. The files of these
// tasks were removed, and none of them is accepted again. A line holds the id and the last
// state.
func shardOf(id string) disk.Lines { return shardIn(fileOf(queue.Pruned, id)) }

func shardIn(name string) disk.Lines { return index(name, 64) }

func appendPruned(dst []byte, id string, last task.State) []byte {
	return fmt.Appendf(dst, "%s %-30s\n", id, last)
}

// pruned returns the last state of a task that was pruned.
func (v view) pruned(id string) (item queue.Item, err error) {
	var last task.State
	if task.ValidID(id) {
		_, last, err = findPruned(v.disk, id)
		if errors.Is(err, errShard) && v.locked {
			if err = v.anew(); err == nil {
				_, last, err = findPruned(v.disk, id)
			}
		}
	}
	if err == nil && last == "" {
		err = fmt.Errorf("%w: %s was not pruned", queue.ErrUnknown, id)
	}
	return queue.Item{Bytes: []byte(last)}, v.hint(err)
}

// shards holds the files of pruned ids, made of lines of the log, by name.
type shards map[string][]byte

func (sh shards) add(l *audit.Line) {
	if l.Event == task.Pruned && task.ValidID(l.Task) {
		name := shardOf(l.Task).Name
		sh[name] = appendPruned(sh[name], l.Task, l.From)
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

// prune writes the line of an id. A line that is there already is written again, because
// the sync that was to follow it may have failed.
func (c *carrier) prune(to *queue.Change) error {
	off, _, err := findPruned(c.disk, to.Key)
	if err != nil {
		return err
	}
	name := shardOf(to.Key).Name
	c.wrote(name)
	return c.disk.WriteAt(name, off, appendPruned(nil, to.Key, task.State(to.Bytes)))
}
