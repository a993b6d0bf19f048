package spool

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"pulse/lib/queue/disk"
	"pulse/lib/queue/store"
	"pulse/lib/shared/task"
)

// besides holds the shelves of the files that a task has besides its task file.
var besides = []store.Shelf{store.Meta, store.Results, store.Refused, store.Labels, store.Extracts}

// ofTasks holds the shelves of all files of tasks.
var ofTasks = func() (list []store.Shelf) {
	for _, st := range task.States {
		list = append(list, store.On(st))
	}
	return append(list, besides...)
}()

// verifyTasks checks the files of all tasks, and the ids of those that were pruned. From
// here on the verifier notes in touched which tasks the log names again.
func (r *verifier) verifyTasks() error {
	r.touched, r.found = map[string]bool{}, map[store.Shelf]int{}
	known := map[store.ID]bool{}
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
	if err != nil {
		return err
	}
	return r.complete(known)
}

// complete checks that no file of any task is missing. Its files were looked at before, so
// a shelf of which as many were found as there are lacks none.
func (r *verifier) complete(known map[store.ID]bool) error {
	all := map[store.Shelf]int{}
	for _, t := range r.fold.Tasks {
		all[store.On(t.State)]++
	}
	for id, t := range r.fold.Tasks {
		if s := store.On(t.State); r.found[s] < all[s] {
			if err := r.there(s, id.String()); err != nil {
				return err
			}
		}
	}
	for _, s := range besides {
		for id := range r.fold.Things[s] {
			if r.found[s] == len(r.fold.Things[s]) {
				break
			}
			if err := r.there(s, id.String()); err != nil {
				return err
			}
		}
	}
	for _, s := range []store.Shelf{store.Pruned, store.Names} {
		for id := range r.fold.Things[s] {
			r.listed(id, known)
		}
	}
	return nil
}

// there checks that a file of a task is not missing.
func (r *verifier) there(s store.Shelf, id string) error {
	if _, logged := r.fold.Get(s, id); !logged || s == store.Refused && r.snapshot { // a snapshot has none
		return nil
	}
	_, err := r.disk.Stat(fileOf(s, id))
	if errors.Is(err, fs.ErrNotExist) || disk.Absent(err) {
		r.findFile(id, "%s: it is gone", fileOf(s, id))
		return nil
	}
	return err
}

// listed checks that an id or a name which no file has any more is known all the same.
func (r *verifier) listed(id store.ID, known map[store.ID]bool) {
	_, pruned := r.fold.Things[store.Pruned][id]
	_, name := r.fold.Things[store.Names][id]
	if (pruned || name) && !known[id] {
		r.findFile(id.String(), "pruned: it lacks %s", id)
	}
}

// verifyAgain reads the log on, and looks again at the tasks that it names.
func (r *verifier) verifyAgain() error {
	if err := r.readOn(); err != nil {
		return err
	}
	shards := map[string]bool{}
	for id := range r.touched {
		if _, file := r.fold.Tasks[keyed(id)]; !file {
			shards[shardOf(id).Name] = true
		}
	}
	r.files = slices.DeleteFunc(r.files, func(f finding) bool { return r.touched[f.about] || shards[f.about] })
	known := map[store.ID]bool{}
	for name := range shards {
		if err := r.verifyShard(name, known); err != nil {
			return err
		}
	}
	for id := range r.touched {
		if err := r.verifyOne(id); err != nil {
			return err
		}
		r.listed(keyed(id), known)
	}
	if r.still(r.at()) { // otherwise these tasks are looked at once more
		r.touched = map[string]bool{}
	}
	return nil
}

// verifyOne checks the files of one task, in whichever directory they lie.
func (r *verifier) verifyOne(id string) error {
	for _, st := range task.States {
		if err := r.verifyTask(st, id+".json"); err != nil {
			return err
		}
	}
	for _, s := range besides {
		if err := r.verifyBeside(dirOf(s), id+suffixOf(s)); err != nil {
			return err
		}
	}
	for _, s := range ofTasks {
		if err := r.there(s, id); err != nil {
			return err
		}
	}
	return nil
}

// verifyBeside checks a file in the directory of such a shelf: whether it should be there,
// and what it holds.
func (r *verifier) verifyBeside(dir, name string) error {
	at := slices.IndexFunc(besides, func(s store.Shelf) bool {
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
	want, logged := r.fold.Get(besides[at], id)
	if logged {
		r.found[besides[at]]++
	}
	if err != nil || !logged || sha256.Sum256(b) != want {
		r.findFile(id, "%s/%s: the log knows nothing of it, or says something else", dir, name)
	}
	return nil
}

// verifyShard checks a file of pruned ids: each of them was pruned, and in the state that
// its line says.
func (r *verifier) verifyShard(name string, known map[store.ID]bool) error {
	shard := shardIn(name)
	if st, err := r.disk.Stat(name); err == nil && !shard.Fits(st.Size) {
		r.findFile(name, "%s: it ends within a line", name)
	}
	err := shard.Each(r.disk, func(off int64, line []byte) (bool, error) {
		if bytes.Equal(line, make([]byte, len(line))) { // a power cut left this line empty
			return true, nil
		}
		id := store.IDOf(string(line[:32]))
		_, file := r.fold.Tasks[id]
		sum := digest(sha256.Sum256(line))
		is := r.fold.Things[store.Pruned][id] == sum || r.fold.Things[store.Names][id] == sum
		if !is || file || known[id] || shardOf(id.String()).Name != name {
			r.findFile(name, "%s: byte %d: the log knows nothing of %q, or says something else", name, off, line)
		}
		known[id] = true
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
	logged, known := r.fold.Tasks[keyed(id)]
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // there says so
	case err != nil && !notFile(err):
		return err
	case !known:
		r.findFile(id, "%s/%s: the log knows nothing of it", st, name)
		return nil
	case logged.State != st:
		r.findFile(id, "%s/%s: the log has it in %s", st, name, logged.State)
	default:
		r.found[store.On(st)]++
	}
	if err != nil {
		r.findFile(id, "%s/%s: it is not a file any more, or not one that can be read: %v", st, name, err)
	} else if got := sha256.Sum256(b); logged.File != got {
		r.findFile(id, "%s/%s: it was edited: its digest is sha256:%x, the log says sha256:%x",
			st, name, got, logged.File)
	}
	return nil
}
