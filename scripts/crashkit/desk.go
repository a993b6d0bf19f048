package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

// patience is how long one command may take.
const patience = 60 * time.Second

// desk is a queue and everything needed to work on it.
type desk struct {
	k      *kit
	dir    string // of what follows, unless a test puts the queue elsewhere
	queue  string
	policy string
	notes  string // where workers note their starts, if not in dir
	state  string // where commands note what they committed, if not in dir
	naive  bool   // the queue is a naive writer's: only its files can be looked at
}

const policyText = `owners = ["me@example.com"]
[limits]
max_per_run = 1000000
max_per_day = 1000000
per_sender_per_hour = 1000000
pending_per_sender = 1000000
max_attempts = %d
disk_reserve = %q
keep_refused = "14d"
[outbound]
min_reply_interval = "0" # everything here goes to one target
`

func (k *kit) desk(name string) (*desk, error) {
	d := &desk{k: k, dir: filepath.Join(k.dir, name)}
	d.queue, d.policy = filepath.Join(d.dir, "q"), filepath.Join(d.dir, "policy.toml")
	if err := errors.Join(os.RemoveAll(d.dir), os.MkdirAll(d.dir, 0o700)); err != nil {
		return nil, err
	}
	return d, d.limits(3, "0")
}

// limits writes the policy.
func (d *desk) limits(attempts int, reserve string) error {
	return os.WriteFile(d.policy, fmt.Appendf(nil, policyText, attempts, reserve), 0o600)
}

// forget lets the next add remove the refused records that are kept.
func (d *desk) forget() error {
	b, err := os.ReadFile(d.policy)
	if err != nil {
		return err
	}
	return os.WriteFile(d.policy, bytes.Replace(b, []byte(`"14d"`), []byte(`"0"`), 1), 0o600)
}

func (d *desk) starts() string {
	if d.notes != "" {
		return d.notes
	}
	return filepath.Join(d.dir, "starts")
}

func (d *desk) env() []string {
	return append(os.Environ(), "PULSE_QUEUE="+d.queue, "PULSE_POLICY="+d.policy, "XDG_STATE_HOME="+d.memory())
}

// memory is where commands note outside the queue what they committed.
func (d *desk) memory() string {
	if d.state != "" {
		return d.state
	}
	return filepath.Join(d.dir, "state")
}

// init makes the queue, or finishes what another init began.
func (d *desk) init() error {
	_, err := d.must("", "pulse-queue", "init")
	return err
}

// ended tells how a command ended.
type ended struct {
	status         int // -1: by a signal
	killed         bool
	stdout, stderr []byte
	err            error // it could not be run, or took too long
}

func (e *ended) String() string {
	s := fmt.Sprintf("exit %d", e.status)
	if e.err != nil {
		s += ", " + e.err.Error()
	}
	if text := strings.TrimSpace(string(e.stderr)); text != "" {
		s += ", " + text
	}
	return s
}

// command returns a command of pulse, by its path under dir.
func (d *desk) command(ctx context.Context, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = d.env(), d.k.dir, 5*time.Second
	return cmd
}

func (d *desk) exec(stdin string, argv ...string) *ended {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := d.command(ctx, argv...)
	var out, complaint bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &complaint
	err := cmd.Run()
	e := &ended{status: -1, stdout: out.Bytes(), stderr: complaint.Bytes()}
	return e.judge(cmd, err, ctx.Err())
}

func (e *ended) judge(cmd *exec.Cmd, err, late error) *ended {
	var exit *exec.ExitError
	// The reader of stdin may be dead. That is not a failure of the test.
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, syscall.EPIPE) || late != nil {
		e.err = errors.Join(err, late)
	}
	if cmd.ProcessState != nil {
		ws := cmd.ProcessState.Sys().(syscall.WaitStatus)
		e.status, e.killed = cmd.ProcessState.ExitCode(), ws.Signaled() && ws.Signal() == syscall.SIGKILL && late == nil
	}
	return e
}

// pulse runs a command undisturbed.
func (d *desk) pulse(stdin, name string, args ...string) *ended {
	return d.exec(stdin, append([]string{filepath.Join(d.k.bin, name)}, args...)...)
}

// must runs a command that has to succeed.
func (d *desk) must(stdin, name string, args ...string) ([]byte, error) {
	e := d.pulse(stdin, name, args...)
	if e.status != 0 || e.err != nil {
		return nil, fmt.Errorf("%s %v: %v", name, args, e)
	}
	return e.stdout, nil
}

// person runs a command at a terminal, and types the code if it shows one.
func (d *desk) person(argv ...string) *ended {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := d.command(ctx, argv...)
	p, err := cmdlinetest.Sit(cmd)
	if err != nil {
		return &ended{status: -1, err: err}
	}
	defer p.Leave()
	if code, err := p.Code(); err == nil {
		_ = p.Type(code + "\n") // what the command makes of it is judged
	}
	_, screen := p.Wait()
	return (&ended{stderr: screen}).judge(cmd, nil, ctx.Err())
}

// worker is a command for run that notes its start, and ends with a status.
func (d *desk) worker(status int) []string {
	return []string{"sh", "-c", fmt.Sprintf(`echo "$PULSE_TASK" >>%s; cat >/dev/null; echo result; exit %d`, d.starts(), status)}
}

// settle waits until every worker left by a dead runner has ended.
func (d *desk) settle() error {
	locks, _ := filepath.Glob(filepath.Join(d.queue, "workers", "*.worker"))
	for _, name := range locks {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		err = until(func() error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) })
		if f.Close(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// until calls try until it works or patience ends. try should not wait itself, because a
// call that waits could not be given up.
func until(try func() error) error {
	end := time.Now().Add(patience)
	for {
		err := try()
		if err == nil || time.Now().After(end) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// shownTask holds the parts of a `task` member that are looked at.
type shownTask struct {
	ID, Kind, State, Digest, Reason string
	Attempts, Restarts              int
}

// tasks reads the `task` members of whole lines, and ignores half a line at the end.
func tasks(out []byte) (list []shownTask, err error) {
	for len(out) > 0 {
		line, rest, whole := bytes.Cut(out, []byte("\n"))
		if !whole {
			break
		}
		out = rest
		var rec struct{ Task shownTask }
		if err := json.Unmarshal(line, &rec); err != nil {
			return list, fmt.Errorf("%q: %w", line, err)
		}
		list = append(list, rec.Task)
	}
	return list, nil
}
