package main

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// try runs a command that may be killed. It calls each for every line that the command
// prints, as it comes, and returns how the command ended.
func (w *weather) try(what, stdin string, each func(line []byte), args ...string) *ended {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	cmd := w.d.command(ctx, append([]string{w.k.bin + "/pulse-queue"}, args...)...)
	var complaint bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader(stdin), &complaint
	e := &ended{status: -1}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		e.err = err
		return e
	}
	w.enter(cmd.Process.Pid, what)
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		each(line)
	}
	w.leave(cmd.Process.Pid)
	e = e.judge(cmd, cmd.Wait(), ctx.Err())
	e.stderr = complaint.Bytes()
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.killed {
		w.done[what+" killed"]++
	} else {
		w.done[what+" ended"]++
	}
	return e
}

func (w *weather) enter(pid int, what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.live[pid] = what
}

// leave takes a process off the list before it is waited for, so that the next process
// with its number is not killed.
func (w *weather) leave(pid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.live, pid)
}

// fits reports an ending that is not allowed for a command that was not killed.
func (w *weather) fits(what string, e *ended) {
	if e.err != nil || !e.killed && e.status != 0 {
		w.find("status %d: %s: %s", e.status, what, cut(e.String(), 300))
	}
}

// batch is how many records one add is given.
const batch = 12

// produce adds batches; one whose add was killed is given again.
func (w *weather) produce() {
	for !w.over() {
		w.mu.Lock()
		from := w.given
		w.given += batch
		w.mu.Unlock()
		stdin := strings.Join(append(mails(from+1, batch), refusal(from)), "")
		for {
			e := w.try("add", stdin, w.acknowledge, "add")
			w.fits("add", e)
			if !e.killed {
				break
			}
		}
		w.pause()
	}
}

// pause keeps the queue from growing faster than it is worked off.
func (w *weather) pause() {
	for !w.over() {
		entries, _ := os.ReadDir(filepath.Join(w.d.queue, "scheduled"))
		if len(entries) < 20*batch {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (w *weather) acknowledge(line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.acked.receipts(line); err != nil {
		w.wrong.add("receipt: %v", err)
	}
}

// script is a worker that takes its time: it notes its start, and waits a little.
func (w *weather) script() []string {
	return []string{"sh", "-c", `echo "$PULSE_TASK" >>` + w.d.starts() + `; cat >/dev/null; sleep 0.0$(($$ % 4))`}
}

func (w *weather) work(what string, flags ...string) {
	argv := append(append(append([]string{"run"}, flags...), "--"), w.script()...)
	for !w.over() {
		w.fits(what, w.try(what, "", func([]byte) {}, argv...))
	}
}

// read lists the queue. Every task that was acknowledged before must be there, once.
func (w *weather) read() {
	for n := 0; !w.over(); n++ {
		if n%4 == 3 {
			w.fits("verify", w.try("verify", "", func([]byte) {}, "verify"))
		}
		w.mu.Lock()
		before := ids(w.acked.acked)
		w.mu.Unlock()
		var out []byte
		e := w.try("list", "", func(line []byte) { out = append(out, line...) }, "list", "--all", "--json")
		w.fits("list", e)
		if e.killed || e.status != 0 {
			continue
		}
		list, err := tasks(out)
		if err != nil {
			w.find("list: %v", err)
		}
		times := map[string]int{}
		for _, t := range list {
			if times[t.ID]++; times[t.ID] == 2 {
				w.find("listed twice: %s", t.ID)
			}
		}
		for _, id := range before {
			if times[id] == 0 {
				w.find("not listed: %s, which was acknowledged", id)
			}
		}
	}
}

// readNaively lists the directories without the lock. It must show the faults that read
// looks for, or read could not have found them either.
func (w *weather) readNaively() {
	for !w.over() {
		w.mu.Lock()
		before := ids(w.acked.acked)
		w.mu.Unlock()
		times := map[string]int{}
		for _, st := range states {
			entries, _ := os.ReadDir(filepath.Join(w.d.queue, st))
			for _, e := range entries {
				times[strings.TrimSuffix(e.Name(), ".json")]++
			}
		}
		var f findings
		for _, id := range before {
			if n := times[id]; n != 1 {
				f.add("listed %d times: %s", n, id)
			}
		}
		w.naive.point("", true, f)
	}
}
