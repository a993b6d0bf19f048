// Package carry carries out an effect to which a person, or the policy, said yes: a program, a
// change of files, or a call of an MCP server. It is the CMD of run --effect for these.
//
// Invariant: what is carried out is what the request says, whole, or nothing. An error of the
// kind NotDone or Later means that nothing happened; any other one that nobody knows. Caveat: a
// program in the box does with the workspace what it likes, and so does a server with what it
// can reach.
package carry

import (
	"context"
	"errors"
	"fmt"

	"pulse/lib/authorize/pins"
	"pulse/lib/authorize/tools"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/task"
)

// Carrier carries out effects.
type Carrier struct {
	Policy      *policy.Policy
	Pins        pins.Pins
	RO, RW, Env []string // for the box of a program, as the flags of pulse-queue box
}

// ErrNotDone means that nothing happened, and that nothing will: the reason says why.
var ErrNotDone = errors.New("not done")

// ErrLater means that nothing happened, and that it may at another time.
var ErrLater = errors.New("not now")

// ErrOther means that the effect is one for another program, such as a mail.
var ErrOther = errors.New("carry: it is neither a program nor a write nor a call of a pinned server")

func notDone(err error) error { return fmt.Errorf("%w: %w", ErrNotDone, err) }

func notDonef(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrNotDone}, args...)...)
}

func later(err error) error { return fmt.Errorf("%w: %w", ErrLater, err) }

// effect is what is to be carried out.
type effect struct {
	id string
	request.Request
}

// Run carries out the effect of a record, and returns what came of it: one object on one line.
func (c *Carrier) Run(ctx context.Context, line []byte) ([]byte, error) {
	e, err := read(line)
	if err != nil {
		return nil, err
	}
	var do func() ([]byte, error)
	switch tools.Of(&e.Request) {
	case "exec":
		do = func() ([]byte, error) { return c.program(ctx, e) }
	case "fs.write", "fs.edit":
		do = func() ([]byte, error) { return c.write(e) }
	default:
		server, tool, err := c.find(e.Tool)
		if err != nil {
			return nil, err
		}
		do = func() ([]byte, error) { return c.call(ctx, server, tool, e) }
	}
	if len(e.Target) > 0 || len(e.Files) > 0 { // which were shown, and nothing here would use
		return nil, notDonef("a %s has neither targets nor files", e.Tool)
	}
	out, err := do()
	if err != nil {
		return nil, err
	}
	return append(out, '\n'), nil
}

func read(line []byte) (e *effect, err error) {
	e = &effect{}
	rec, err := record.Parse(line, request.Member, identity.Member, task.Member)
	if err == nil && !rec.Has(request.Member) {
		err = ErrOther
	}
	if err == nil {
		err = rec.Decode(request.Member, func(v record.Value) (err error) {
			e.Request, err = request.Decode(v)
			return err
		})
	}
	via := ""
	if err == nil {
		err = rec.Each(identity.Member, record.To("via", &via))
	}
	if err == nil {
		err = rec.Each(task.Member, record.To("id", &e.id))
	}
	if err == nil && (via != string(identity.ViaAgent) || !task.ValidID(e.id)) {
		err = errors.New("carry: it takes effects, from pulse-queue run --effect")
	}
	if err != nil {
		return nil, later(err)
	}
	return e, nil
}
