package carry

import (
	"errors"
	"io/fs"
	"slices"
	"syscall"

	"pulse/lib/authorize/edit"
	"pulse/lib/authorize/workspace"
	"pulse/lib/shared/record"
)

// write makes the change that was shown, of the files that were judged. It may be killed and
// started again: what was changed before is not changed again.
func (c *Carrier) write(e *effect) ([]byte, error) {
	dir := c.Policy.Exec.Workspace
	if dir == "" {
		return nil, later(errors.New("the policy names no exec.workspace"))
	}
	seal, err := edit.SealOf(e.Args)
	if err != nil {
		return nil, notDone(err)
	}
	left, err := seal.Left(e.Args, func(name string) (edit.File, error) { return workspace.Read(dir, name) })
	if err != nil {
		return nil, notDone(err)
	}
	for i := range left {
		if err := workspace.Replace(dir, &left[i], e.id); err != nil {
			if i > 0 || errors.Is(err, workspace.ErrUnsure) { // nobody has half of it undone
				return nil, err
			}
			if slices.ContainsFunc(full, func(f error) bool { return errors.Is(err, f) }) {
				return nil, later(err)
			}
			return nil, notDone(err)
		}
	}
	var o record.Object
	o.Strs("becomes", seal.Becomes)
	return o.Bytes(), nil
}

// full are errors that end by themselves, or by a person's hand.
var full = []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO, fs.ErrPermission}
