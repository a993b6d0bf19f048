package pgstore

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"pulse/lib/queue"
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

// row returns what the columns of a row have to be: as text, and of bytes their digest. It is
// nil if there must be no such row. The parts of a key are joined by /.
func (f *fold) row(table, key string) []string {
	switch t, o := f.tasks[key], f.things[key]; {
	case table == "task" && t != nil:
		return []string{text(t.added), text(t.n), text(t.seq), string(t.state), t.kind, t.action, t.digest, t.opened}
	case table == "file" && t != nil:
		return []string{t.digest}
	case table == "thing" && o != nil:
		rest, digest := "", o.digest
		if o.rest != nil {
			rest = "{" + strings.Join(o.rest, ",") + "}"
		}
		if o.lines != nil {
			digest = anything
		}
		return []string{text(o.seq), rest, digest}
	case table == "start" && f.starts[key] != nil:
		return []string{text(f.starts[key].at), f.starts[key].entry}
	case table == "nonce" && f.nonces[key] != 0:
		return []string{text(f.nonces[key])}
	}
	return nil
}

// keys returns the keys of the rows that have to be there.
func (f *fold) keys(table string) []string {
	switch table {
	case "thing":
		return slices.Collect(maps.Keys(f.things))
	case "nonce":
		return slices.Collect(maps.Keys(f.nonces))
	case "start":
		return slices.Collect(maps.Keys(f.starts))
	}
	return slices.Collect(maps.Keys(f.tasks))
}

// at returns the key of a thing.
func at(shelf queue.Shelf, key string) string { return string(shelf) + "/" + key }

func text(n int64) string { return strconv.FormatInt(n, 10) }
