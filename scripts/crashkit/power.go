package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// power cuts the power on real file systems.
func power(k *kit) error {
	if os.Geteuid() != 0 {
		k.skip("power cuts", "not root")
		return nil
	}
	for _, c := range []struct{ fstype, how string }{
		{"ext4", "copy"}, {"ext4", "shutdown"}, {"xfs", "copy"}, {"xfs", "shutdown"},
		{"ext4, encrypted", "copy"}, {"ext4, encrypted", "below"},
		{"ext4 without a journal", "copy"}, {"btrfs", "copy"}, // the ioctl of shutdown is not theirs
	} {
		if err := cuts(k, c.fstype, c.how); err != nil {
			return err
		}
	}
	return nil
}

// cuts makes a file system and cuts its power again and again.
func cuts(k *kit, fstype, how string) error {
	v, err := newVolume(k, fstype, how)
	if err != nil {
		k.skip(fmt.Sprintf("power, %s, %s", fstype, how), err)
		return nil
	}
	defer v.remove()
	n := 3
	if k.long {
		n = 60
	}
	p := &plug{v: v}
	for _, part := range []struct {
		name string
		n    int
		try  func(*tally, int) error
	}{
		{"add", 2 * n, p.whileAdding},
		{"a completed ask", n, p.afterRun},
		{"yes, then its effect", n, p.duringEffect},
		{"cancel, between its syncs", n + 4, p.betweenSyncs},
	} {
		t := k.tally(fmt.Sprintf("power, %s, %s: %s", fstype, how, part.name), "cut")
		for i := range part.n {
			if i%6 == 0 {
				if err := p.renew(); err != nil {
					return err
				}
			}
			if err := part.try(t, i); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
		}
		t.end()
	}
	for _, writer := range []string{early, nodirsync} {
		t := k.tally(fmt.Sprintf("power, %s, %s: CONTROL naive-add %s", fstype, how, writer), "cut")
		t.control = true
		for i := range n {
			d := v.desk(fmt.Sprintf("naive-%s-%d", writer, i))
			d.naive = true
			if err := (&plug{v: v, d: d, b: newBooks()}).cutAdd(t, i, false, k.bin+"/crashkit", "naive-add", writer, d.queue); err != nil {
				return err
			}
		}
		t.end()
	}
	return nil
}

// plug is the queue whose power is cut, and what must be true of it.
type plug struct {
	v      *volume
	d      *desk
	b      *books
	queues int
	uid    int
	sent   int
}

// renew begins a new queue, because to look at all of a long one takes long.
func (p *plug) renew() error {
	if p.d != nil {
		os.RemoveAll(p.d.queue)
		os.Remove(p.d.notes)
	}
	p.queues++
	p.d, p.b = p.v.desk(fmt.Sprintf("q%d", p.queues)), newBooks()
	return p.d.init()
}

func (p *plug) whileAdding(t *tally, i int) error {
	return p.cutAdd(t, i, i%2 == 0, p.v.k.bin+"/pulse-queue", "add")
}

// cutAdd cuts the power right after a receipt was read, while more records are on their
// way (busy) or none are.
func (p *plug) cutAdd(t *tally, i int, busy bool, argv ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := p.d.command(ctx, argv...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	before := 1 + rand.IntN(20)
	behind := 0
	if busy {
		behind = 40
	}
	closing := make(chan struct{})
	go p.feed(in, before, behind, closing)
	lines := bufio.NewReader(out)
	receipt := func() error {
		line, err := lines.ReadBytes('\n')
		if err == nil {
			_, err = p.b.receipts(line)
		}
		return err
	}
	for range before {
		if err := receipt(); err != nil {
			return fmt.Errorf("receipt: %w", err)
		}
	}
	then, b, err := p.v.cut(p.d, p.b)
	close(closing)
	for err == nil && receipt() == nil {
	}
	_ = cmd.Wait() // its status is looked at below
	status := cmd.ProcessState.ExitCode()
	p.uid += before + behind
	if err != nil {
		return err
	}
	return p.after(t, fmt.Sprintf("cut %d, after %d receipts", i, before), then, b, status)
}

// feed writes records: first those that are waited for, then more. It pauses, so that
// they come in several batches. The command may end before it has read all.
func (p *plug) feed(in io.WriteCloser, before, behind int, closing chan struct{}) {
	defer func() { _ = in.Close() }()
	_, _ = io.WriteString(in, strings.Join(append([]string{refusal(p.uid)}, mails(p.uid+1, before-1)...), ""))
	for i := range behind {
		_, _ = io.WriteString(in, mail(p.uid+1+before+i, "allow"))
		if i%8 == 7 {
			time.Sleep(time.Millisecond)
		}
	}
	<-closing
}

// after looks at what the cut left twice, goes on working there, and looks again.
func (p *plug) after(t *tally, where string, then *outage, b *books, status int) error {
	if then.same {
		if err := p.v.again(); err != nil {
			return err
		}
	}
	var f findings
	if ok := status == 0 || then.same && status == 75; !ok {
		f.add("status %d: of the command whose disk went away", status)
	}
	for range 2 {
		_, found := then.desk.inspect(b)
		f = append(f, found...)
	}
	if b.kept != "" && !then.desk.approved(b.kept) {
		f.add("yes: %s was approved, and the approval is gone", b.kept)
	}
	b.kept = ""
	if !then.desk.naive && len(f) == 0 {
		if _, err := then.desk.add(b, mails(p.uid+1, 3)...); err != nil {
			f.add("add: %v", err)
		}
		p.uid += 3
		if err := then.desk.do(running(then.desk.worker(0), "--max", "2")...); err != nil {
			f.add("run: %v", err)
		}
		if err := then.desk.do(running(then.desk.worker(0), sends...)...); err != nil {
			f.add("run --effect: %v", err)
		}
		_, found := then.desk.inspect(b)
		f = append(f, found...)
	}
	t.point(where, true, f)
	return then.end()
}

// add adds an ask, and returns its id.
func (p *plug) add() (string, error) {
	p.uid++
	list, err := p.d.add(p.b, mail(p.uid, "allow"))
	if err != nil {
		return "", err
	}
	return list[0].ID, nil
}

// cut cuts the power while no command runs. kept is an effect that was approved before, if any.
func (p *plug) cut(t *tally, where, kept string) error {
	then, b, err := p.v.cut(p.d, p.b)
	if err != nil {
		return err
	}
	b.kept = kept
	return p.after(t, where, then, b, 0)
}

// afterRun cuts the power after run has ended. A completed task stays completed.
func (p *plug) afterRun(t *tally, i int) error {
	if _, err := p.add(); err != nil {
		return err
	}
	if err := p.d.do(running(p.d.worker(0), "--max", "3")...); err != nil {
		return err
	}
	if _, f := p.d.inspect(p.b); len(f) > 0 { // and enters what is completed
		t.point(fmt.Sprintf("before cut %d", i), false, f)
	}
	return p.cut(t, fmt.Sprintf("cut %d", i), "")
}

// betweenSyncs cuts the power before one of the syncs of a command that moves a task.
// Some of its directories are on the disk then, and some are not.
func (p *plug) betweenSyncs(t *tally, i int) error {
	id, err := p.add()
	if err != nil {
		return err
	}
	n := 1 + i%7
	e := p.d.exec("", strace(filepath.Join(p.v.dir, "trace"), "fsync", fmt.Sprintf("fsync:signal=KILL:when=%d", n),
		p.v.k.locked+"/pulse-queue", "cancel", id)...)
	if e.err != nil || !e.killed && e.status != 0 {
		return fmt.Errorf("cancel: %v", e)
	}
	return p.cut(t, fmt.Sprintf("cut %d, before sync %d", i, n), "")
}

// duringEffect cuts the power after a yes, and while its effect is being sent.
func (p *plug) duringEffect(t *tally, i int) error {
	p.sent++
	list, err := p.d.add(p.b, effect(1000+p.sent))
	if err == nil {
		err = p.d.yes(p.b, list[0].ID)
	}
	if err != nil {
		return err
	}
	if i%2 == 0 {
		return p.cut(t, fmt.Sprintf("cut %d, after the yes", i), list[0].ID)
	}
	return p.cutEffect(t, i)
}

// cutEffect cuts the power while a worker sends. The worker waits at a FIFO until the
// power is cut.
func (p *plug) cutEffect(t *tally, i int) error {
	fifo := filepath.Join(p.v.dir, "fifo")
	os.Remove(fifo)
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := p.d.command(ctx, p.v.k.bin+"/pulse-queue", "run", "--effect", "external_send", "--max", "1", "--",
		"sh", "-c", `echo "$PULSE_TASK" >>`+p.d.notes+`; cat >/dev/null; read x <`+fifo)
	if err := cmd.Start(); err != nil {
		return err
	}
	var end *os.File
	err := until(func() (err error) {
		end, err = os.OpenFile(fifo, os.O_WRONLY|unix.O_NONBLOCK, 0) // ENXIO before the worker opens it
		return err
	})
	if err != nil {
		return fmt.Errorf("the worker does not come: %w", err)
	}
	then, b, err := p.v.cut(p.d, p.b)
	_, _ = end.WriteString("go on\n")
	end.Close()
	var exit *exec.ExitError
	if e := cmd.Wait(); e != nil && !errors.As(e, &exit) {
		err = errors.Join(err, e)
	}
	if err != nil {
		return err
	}
	return p.after(t, fmt.Sprintf("cut %d, while the effect is sent", i), then, b, cmd.ProcessState.ExitCode())
}
