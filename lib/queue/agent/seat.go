package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"pulse/lib/authorize/hook"
	"pulse/lib/authorize/wire"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/record"
)

// seat is the worker's way to the judge of the run.
type seat struct {
	client hook.Client
	socket string
	hook   string
	tools  []string // those that the policy leaves to the task
	kept   kept     // the session of the client that goes on
}

// use is a use of a tool in the client's transcript.
type use struct{ id, tool string }

// A client may take so long until it says its version, or its hook has said hello, and so long after its first
// turn has ended. One computes for seven seconds before that, and for minutes where others compute as well.
const (
	helloWithin = 5 * time.Minute
	helloAfter  = time.Minute
)

// begin tells the judge which client is started. An error says why it may not be.
func (s *seat) begin(ctx context.Context, version, ask string) error {
	var o record.Object
	o.Str("worker", string(s.client))
	o.Str("version", version)
	o.StrIf("ask", ask)
	answer, err := wire.Ask(ctx, s.socket, o.Bytes())
	if err != nil {
		return err
	}
	v, err := answer.Raw("tools")
	if err != nil {
		return err
	}
	if err = v.Into(&s.tools); err == nil && answer.Has("kept") {
		if v, err = answer.Raw("kept"); err == nil {
			s.kept, err = readKept(s.client, v)
		}
	}
	return err
}

// hello waits until the client's hook has said hello, or the client has ended.
func (s *seat) hello(ctx context.Context, within time.Duration, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	go func() {
		select {
		case <-ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	var o record.Object
	o.Bool("await", true)
	if _, err := wire.Ask(ctx, s.socket, o.Bytes()); err != nil {
		return errHello
	}
	return nil
}

var errHello = errors.New("agent: its hook did not say hello")

// counted tells the judge the uses in the transcript of a client that has ended, and returns what
// has kept it from getting the ask, or what is wrong with the count.
func (t *turn) counted(p *process, used []use, err error) error {
	failed := t.judge.count(used)
	switch {
	case errors.Is(err, errGone):
		return t.noResult(p)
	case errors.Is(err, errHello):
		return fmt.Errorf("%w: %w", err, t.noResult(p))
	case err != nil:
		return err
	}
	return failed
}

// count tells the judge the uses.
func (s *seat) count(used []use) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var o record.Object
	o.Raw("used", record.List(nil, used, func(u *use, dst []byte) []byte {
		dst = record.AppendString(append(dst, '['), u.id)
		return append(record.AppendString(append(dst, ','), u.tool), ']')
	}))
	_, err := wire.Ask(ctx, s.socket, o.Bytes())
	return err
}

// hookPath returns the pulse-authorize that was installed with this program, or the one in
// PATH: a client need not have that.
func hookPath() (string, error) {
	const name = "pulse-authorize"
	if own, err := os.Executable(); err == nil {
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(own), name)); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(name)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", fault.Usagef("install it beside pulse-queue", "the hook of an agent: %w", err)
	}
	return path, nil
}

// env returns the environment of a client, in which what it starts before an MCP server finds the
// judge: pulse-authorize hook mcp.
func (t *turn) env(own ...string) []string {
	if t.judge != nil && t.judge.socket != "" { // a reader has no judge
		own = append(own, "PULSE_JUDGE="+t.judge.socket)
	}
	return t.home.env(own...)
}

// command returns what the client is given as its hook. Clients go on if a hook is killed,
// hangs or is not there; status 2 is a no.
func (s *seat) command() string {
	return "timeout -k 5 45 " + escape.Shell(s.hook) + " hook " + string(s.client) + " --judge " + escape.Shell(s.socket) +
		` || { echo "pulse: the hook failed" >&2; exit 2; }`
}

// offers reports whether the policy leaves one of the client's tools to the task.
func (s *seat) offers(tool string) bool {
	return slices.Contains(s.tools, tool)
}

// unread stands for what of a transcript can't be read. Nobody was asked about it.
var unread = use{"", "what can not be read"}
