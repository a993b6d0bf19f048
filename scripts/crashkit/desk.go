package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

// patience is how long one command may take, beside all that works here.
const patience = 10 * time.Minute

// desk is a queue and everything needed to work on it.
type desk struct {
	k      *kit
	dir    string // of what follows, unless a test puts it elsewhere
	queue  string
	policy string
	notes  string // where workers note their starts
	state  string // where commands note outside the queue what they committed
	naive  bool   // the queue is a naive writer's: only its files can be looked at
}

const policyText = `owners = ["me@example.com"]
[limits]
max_per_run = 1000000
max_per_day = 1000000
per_sender_per_hour = 1000000
pending_per_sender = 1000000
max_attempts = %d
disk_reserve = "0"
keep_refused = "14d"
[outbound]
min_reply_interval = "0" # everything here goes to one target
`

// at is a desk in a directory that is there.
func (k *kit) at(dir, queue string) *desk {
	return &desk{k: k, dir: dir, queue: queue, policy: filepath.Join(dir, "policy.toml"), notes: filepath.Join(dir, "starts"), state: filepath.Join(dir, "state")}
}

// desk makes a directory with a desk.
func (k *kit) desk(name string) (*desk, error) {
	dir := filepath.Join(k.dir, name)
	d := k.at(dir, filepath.Join(dir, "q"))
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
		return nil, err
	}
	return d, d.limits(3)
}

// limits writes the policy.
func (d *desk) limits(attempts int) error {
	return os.WriteFile(d.policy, fmt.Appendf(nil, policyText, attempts), 0o600)
}

// edit changes the policy.
func (d *desk) edit(change func(text string) string) error {
	b, err := os.ReadFile(d.policy)
	if err != nil {
		return err
	}
	return os.WriteFile(d.policy, []byte(change(string(b))), 0o600)
}

func (d *desk) env() []string {
	return append(os.Environ(), "PULSE_QUEUE="+d.queue, "PULSE_POLICY="+d.policy, "XDG_STATE_HOME="+d.state)
}

// init makes the queue, or finishes what another init began.
func (d *desk) init() error { return d.do("init") }

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

// exec runs a command undisturbed.
func (d *desk) exec(stdin string, argv ...string) *ended {
	return d.drive(victim{}, stdin, func([]byte) {}, argv...)
}

// drive runs a command, which the storm of v may kill. It calls each for every line that the
// command prints, as it comes.
func (d *desk) drive(v victim, stdin string, each func(line []byte), argv ...string) *ended {
	ctx, cancel := context.WithTimeout(context.Background(), v.patience())
	defer cancel()
	cmd := d.command(ctx, argv...)
	var said, complaint bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader(stdin), &complaint
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return &ended{status: -1, err: err}
	}
	v.enter(cmd.Process.Pid)
	for lines := bufio.NewReader(out); err == nil; {
		var line []byte
		line, err = lines.ReadBytes('\n')
		said.Write(line)
		if err == nil {
			each(line)
		}
	}
	v.leave(cmd.Process.Pid)
	err = cmd.Wait()
	e := &ended{status: -1, stdout: said.Bytes(), stderr: complaint.Bytes()}
	return v.ended(e.judge(cmd, err, ctx.Err()))
}

// sit runs a command at a terminal, where the storm of v may kill it, and types the code if it
// shows one.
func (d *desk) sit(v victim, argv ...string) *ended {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := d.command(ctx, argv...)
	p, err := cmdlinetest.Sit(cmd)
	if err != nil {
		return &ended{status: -1, err: err}
	}
	defer p.Leave()
	v.enter(cmd.Process.Pid)
	if code, err := p.Code(); err == nil {
		_ = p.Type(code + "\n") // what the command makes of it is judged
	}
	v.leave(cmd.Process.Pid)
	_, screen := p.Wait()
	return v.ended((&ended{status: -1, stderr: screen}).judge(cmd, nil, ctx.Err()))
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

// pulse is exec of a command of pulse.
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

// do is must of pulse-queue, whatever it prints.
func (d *desk) do(args ...string) error {
	_, err := d.must("", "pulse-queue", args...)
	return err
}

// add adds records, and enters the receipts.
func (d *desk) add(b *books, records ...string) ([]shownTask, error) {
	out, err := d.must(strings.Join(records, ""), "pulse-queue", "add")
	if err != nil {
		return nil, err
	}
	return b.receipts(out)
}

// yes is a person's yes to an effect.
func (d *desk) yes(b *books, id string) error {
	if e := d.sit(victim{}, d.k.bin+"/pulse-approve", "yes", id); e.status != 0 {
		return fmt.Errorf("pulse-approve yes: %v", e)
	}
	b.yes[id]++
	return nil
}

// running is the arguments of a run of a worker.
func running(worker []string, flags ...string) []string {
	return slices.Concat([]string{"run"}, flags, []string{"--"}, worker)
}

// sends are the flags of a run of effects.
var sends = []string{"--effect", "external_send"}

// worker is a command for run that notes its start, and ends with a status.
func (d *desk) worker(status int) []string {
	return []string{"sh", "-c", fmt.Sprintf(`echo "$PULSE_TASK" >>%s; cat >/dev/null; echo result; exit %d`, d.notes, status)}
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
