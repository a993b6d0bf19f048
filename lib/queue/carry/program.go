package carry

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"syscall"

	"pulse/lib/authorize/tools"
	"pulse/lib/authorize/workspace"
	"pulse/lib/queue/box"
	"pulse/lib/shared/record"
	"pulse/lib/shared/terms"
)

// maxSaid bounds what is kept of each of a program's two outputs, in bytes: its beginning.
const maxSaid = 64 << 10

// program starts a program once, in a box and in the directory that was shown. Whatever its exit
// status, it was carried out.
func (c *Carrier) program(ctx context.Context, e *effect) ([]byte, error) {
	argv, dir, err := tools.Call(c.Policy, e.Args)
	if err != nil || e.Action != terms.CodeOrComputer {
		return nil, notDone(errors.New("it is not the start of a program"))
	}
	ws := c.Policy.Exec.Workspace
	if ws == "" {
		return nil, later(errors.New("the policy names no exec.workspace"))
	}
	is, err := workspace.Directory(ws, dir)
	if err != nil {
		return nil, notDone(err)
	}
	var out, said head
	p := box.Once{Dir: dir, In: ws, Is: is, RW: append([]string{ws}, c.RW...), RO: c.RO, Env: c.Env, Stdout: &out, Stderr: &said}
	if err := p.Begin(argv); errors.Is(err, box.ErrNotBegun) {
		return nil, notDonef("the program did not begin: %s", lastLine(said.text()))
	} else if errors.Is(err, syscall.E2BIG) {
		return nil, notDone(err)
	} else if err != nil {
		return nil, later(err)
	}
	stop := context.AfterFunc(ctx, p.Kill)
	defer stop()
	status, err := p.End()
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	var o record.Object
	o.Int("exit", int64(status))
	o.Str("stdout", out.text())
	o.Str("stderr", said.text())
	o.BoolIf("cut", out.cut || said.cut)
	return o.Bytes(), nil
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// head keeps the beginning of what is written.
type head struct {
	mu  sync.Mutex
	b   []byte
	cut bool
}

var _ io.Writer = (*head)(nil)

func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	room := maxSaid - len(h.b)
	h.cut = h.cut || len(p) > room
	h.b = append(h.b, p[:min(room, len(p))]...)
	return len(p), nil
}

func (h *head) text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.ToValidUTF8(string(h.b), "\ufffd")
}
