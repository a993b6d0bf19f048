package cmdline

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
)

// Lone reports whether a record is of a task whose file pulse-queue could not read: it
// holds the member `task` and nothing that could be decided on. It warns about such a
// record, which is to be left out, so that one corrupt file does not stop what is
// replayed.
func Lone(c *cli.Context, rec *record.Record) bool {
	if !rec.Only(task.Member) {
		return false
	}
	name := "a task"
	if id, _ := task.Named(rec); task.ValidID(id) {
		name = "task " + id
	}
	Warn(c, "%v", rec.Bad(fmt.Errorf("left out: the file of %s can't be read: pulse-queue verify says more", name)))
	return true
}
