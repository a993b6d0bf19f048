package pgstore

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"pulse/lib/queue/store"
)

// tables are those that a log makes: their names, the columns of their keys, and the others.
var tables = [][3]string{
	{"task", "id", "added n seq state kind action digest entry"},
	{"file", "id", "bytes"},
	{"thing", "shelf, key", "seq rest bytes"},
	{"start", "seq", "at entry"},
	{"nonce", "nonce", "seq"},
}

// anything stands for a digest that the log does not know.
const anything = "*"

// beside holds the shelves that have no rows of their own: a task's line says what is there.
var beside = []store.Shelf{store.Meta, store.Agenda}

// row returns what the columns of a row have to be: as text, and of bytes their digest. It is
// nil if there must be no such row. The parts of a key are joined by /.
func (f *fold) row(table, key string) []string {
	switch t := f.Tasks[key]; {
	case table == "task" && t.File != nil:
		opened := ""
		if e := f.Things[store.Agenda][key]; e != nil {
			opened = e.entry
		}
		return []string{text(t.File.seq), text(t.Opened), text(t.Moved), string(t.State), t.File.kind, t.File.action, t.File.digest, opened}
	case table == "file" && t.File != nil:
		return []string{t.File.digest}
	case table == "thing":
		return f.thing(key)
	case table == "start" && f.starts[key] != nil:
		return []string{text(f.starts[key].at), f.starts[key].entry}
	case table == "nonce" && f.nonces[key] != 0:
		return []string{text(f.nonces[key])}
	}
	return nil
}

func (f *fold) thing(key string) []string {
	shelf, name, _ := strings.Cut(key, "/")
	t := f.Things[store.Shelf(shelf)][name]
	if t == nil || slices.Contains(beside, store.Shelf(shelf)) {
		return nil
	}
	rest, digest := t.labels, t.digest
	if t.lines != nil {
		rest, digest = f.rest(name), anything
	}
	list := ""
	if rest != nil {
		list = "{" + strings.Join(rest, ",") + "}"
	}
	return []string{text(t.seq), list, digest}
}

// rest returns the proposals of a task that have no receipt yet.
func (f *fold) rest(parent string) (ids []string) {
	for _, p := range f.Outboxes[parent] {
		ids = append(ids, p.ID)
	}
	return ids
}

// keys returns the keys of the rows that have to be there.
func (f *fold) keys(table string) (keys []string) {
	switch table {
	case "thing":
		for shelf, things := range f.Things {
			if slices.Contains(beside, shelf) {
				continue
			}
			for key := range things {
				keys = append(keys, at(shelf, key))
			}
		}
		return keys
	case "nonce":
		return slices.Collect(maps.Keys(f.nonces))
	case "start":
		return slices.Collect(maps.Keys(f.starts))
	}
	return slices.Collect(maps.Keys(f.Tasks))
}

// at returns the key of a thing.
func at(shelf store.Shelf, key string) string { return string(shelf) + "/" + key }

func text(n int64) string { return strconv.FormatInt(n, 10) }
