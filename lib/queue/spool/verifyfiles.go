package spool

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"pulse/lib/queue"
	"pulse/lib/queue/disk"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// verifyTasks checks the files of all tasks, and the ids of those that were pruned. From
// here on the verifier notes in touched which tasks the log names again.
func (r *verifier) verifyTasks() error {
	r.touched = map[string]bool{}
	known := map[taskID]bool{}
	err := r.disk.Names(prunedDir, func(name string) error { return r.verifyShard(prunedDir+"/"+name, known) })
	for _, dir := range []string{metaDir, resultDir, refusedDir} {
		if err == nil {
			// complete says which files a directory lacks that is not there
			err = disk.NamesIfAny(r.disk, dir, func(name string) error { return r.verifyBeside(dir, name) })
		}
	}
	for _, st := range task.States {
		if err == nil {
			err = r.disk.Names(string(st), func(name string) error { return r.verifyTask(st, name) })
		}
	}
	for id := range r.tasks {
		r.complete(hex.EncodeToString(id[:]), known)
	}
	return err
}

// complete checks that no file of a task is missing. Its files were looked at before.
func (r *verifier) complete(id string, known map[taskID]bool) {
	logged := r.tasks[idOf(id)]
	if logged.was != "" && !known[idOf(id)] {
		r.findFile(id, "pruned: it lacks %s", id)
	}
	if logged.state != "" && logged.seen&seenTask == 0 {
		r.findFile(id, "%s: it is gone", taskFile(logged.state, id))
	}
	for i, shelf := range besides {
		if logged.besides[i] != [8]byte{} && logged.seen&(1<<i) == 0 {
			r.findFile(id, "%s: it is gone", fileOf(shelf, id))
		}
	}
}

// verifyAgain reads the log on, and looks again at the tasks that it names.
func (r *verifier) verifyAgain() error {
	if err := r.readOn(); err != nil {
		return err
	}
	shards := map[string]bool{}
	for id := range r.touched {
		if r.tasks[idOf(id)].state == "" {
			shards[shardOf(id).Name] = true
		}
	}
	r.files = slices.DeleteFunc(r.files, func(f finding) bool { return r.touched[f.about] || shards[f.about] })
	known := map[taskID]bool{}
	for name := range shards {
		if err := r.verifyShard(name, known); err != nil {
			return err
		}
	}
	for id := range r.touched {
		if err := r.verifyOne(id); err != nil {
			return err
		}
		r.complete(id, known)
	}
	if r.still(r.at()) { // otherwise these tasks are looked at once more
		r.touched = map[string]bool{}
	}
	return nil
}

// verifyOne checks the files of one task, in whichever directory they lie.
func (r *verifier) verifyOne(id string) error {
	r.see(id, 0)
	for _, st := range task.States {
		if err := r.verifyTask(st, id+".json"); err != nil {
			return err
		}
	}
	for _, shelf := range besides {
		if err := r.verifyBeside(dirOf(shelf), id+suffixOf(shelf)); err != nil {
			return err
		}
	}
	return nil
}

// besides holds the shelves of the files that a task has besides its task file. The bit of
// such a file in outcome.seen is 1 << its index here.
var besides = [...]queue.Shelf{queue.Meta, queue.Results, queue.Refused, queue.Labels, queue.Extracts}

// seenTask is the bit of the task file.
const seenTask = 1 << len(besides)

// see notes that a file of a task is there, or with 0 that none has been seen yet.
func (r *verifier) see(id string, what uint8) {
	logged, known := r.tasks[idOf(id)]
	if !known {
		return
	}
	if logged.seen |= what; what == 0 {
		logged.seen = 0
	}
	r.tasks[idOf(id)] = logged
}

// verifyBeside checks a file in the directory of such a shelf: whether it should be there,
// and what it holds.
func (r *verifier) verifyBeside(dir, name string) error {
	at := slices.IndexFunc(besides[:], func(s queue.Shelf) bool {
		_, ok := keyOf(s, name)
		return ok && dirOf(s) == dir
	})
	if at < 0 {
		r.findFile("", "%s/%s: the log knows nothing of it, or says something else", dir, name)
		return nil
	}
	id, _ := keyOf(besides[at], name)
	b, err := r.disk.Read(dir + "/" + name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // complete says so
	}
	if err != nil && !notFile(err) {
		return err
	}
	logged := r.tasks[idOf(id)]
	if want := logged.besides[at]; err != nil || want == [8]byte{} || short(b) != want {
		r.findFile(id, "%s/%s: the log knows nothing of it, or says something else", dir, name)
	}
	r.see(id, 1<<at)
	return nil
}

// verifyShard checks a file of pruned ids: each of them was pruned, and in the state that
// its line says.
func (r *verifier) verifyShard(name string, known map[taskID]bool) error {
	shard := shardIn(name)
	if st, err := r.disk.Stat(name); err == nil && !shard.Fits(st.Size) {
		r.findFile(name, "%s: it ends within a line", name)
	}
	err := shard.Each(r.disk, func(off int64, line []byte) (bool, error) {
		if bytes.Equal(line, make([]byte, len(line))) { // a power cut left this line empty
			return true, nil
		}
		id := string(line[:32])
		logged, ok := r.tasks[idOf(id)]
		if !task.ValidID(id) || !ok || logged.state != "" || known[idOf(id)] || shardOf(id).Name != name ||
			!bytes.Equal(line, appendPruned(nil, id, logged.was)) {
			r.findFile(name, "%s: byte %d: the log knows nothing of %q, or says something else", name, off, line)
		}
		known[idOf(id)] = true
		return true, nil
	})
	if notFile(err) {
		r.findFile(name, "%s: it is not a file any more, or not one that can be read: %v", name, err)
		return nil
	}
	return err
}

// verifyTask checks a file in the directory of a state.
func (r *verifier) verifyTask(st task.State, name string) error {
	id, named := strings.CutSuffix(name, ".json")
	if !named || !task.ValidID(id) {
		r.findFile("", "%s/%s: the log knows nothing of it", st, name)
		return nil
	}
	b, err := r.disk.Read(string(st) + "/" + name)
	logged, known := r.tasks[idOf(id)]
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // complete says so
	case err != nil && !notFile(err):
		return err
	case !known || logged.state == "":
		r.findFile(id, "%s/%s: the log knows nothing of it", st, name)
		return nil
	case logged.state != st:
		r.findFile(id, "%s/%s: the log has it in %s", st, name, logged.state)
	default:
		r.see(id, seenTask)
	}
	if err != nil {
		r.findFile(id, "%s/%s: it is not a file any more, or not one that can be read: %v", st, name, err)
	} else if got := task.Digest(b); audit.Bare(got) != hex.EncodeToString(logged.digest[:]) {
		r.findFile(id, "%s/%s: it was edited: its digest is %s, the log says sha256:%x",
			st, name, got, logged.digest)
	}
	return nil
}
