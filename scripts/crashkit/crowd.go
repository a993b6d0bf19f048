package main

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// victim is a command that a storm may kill; that of no storm is left alone.
type victim struct {
	storm *weather
	what  string
}

func (v victim) patience() time.Duration {
	if v.storm != nil {
		return 2 * patience
	}
	return patience
}

func (v victim) enter(pid int) {
	if v.storm != nil {
		v.storm.mu.Lock()
		defer v.storm.mu.Unlock()
		v.storm.live[pid] = v.what
	}
}

// leave takes a process off the list before it is waited for, so that the next process
// with its number is not killed.
func (v victim) leave(pid int) {
	if v.storm != nil {
		v.storm.mu.Lock()
		defer v.storm.mu.Unlock()
		delete(v.storm.live, pid)
	}
}

func (v victim) ended(e *ended) *ended {
	if v.storm != nil {
		v.storm.count(v.what, e)
	}
	return e
}

// count counts how a command ended.
func (w *weather) count(what string, e *ended) {
	w.t.count(what + map[bool]string{true: " killed", false: " ended"}[e.killed])
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.killed {
		w.killed++
	}
}

// try runs a command that may be killed. It calls each for every line that the command
// prints, as it comes.
func (w *weather) try(what, stdin string, each func(line []byte), args ...string) *ended {
	return w.d.drive(victim{w, what}, stdin, each, append([]string{w.k.bin + "/pulse-queue"}, args...)...)
}

func ignored([]byte) {}

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
	if _, err := w.acked.receipts(line); err != nil {
		w.wrong.add("receipt: %v", err)
	}
}

// script is a worker that takes its time: it notes its start, and waits a little.
func (w *weather) script() []string {
	return []string{"sh", "-c", `echo "$PULSE_TASK" >>` + w.d.notes + `; cat >/dev/null; sleep 0.0$(($$ % 4))`}
}

func (w *weather) work(what string, flags ...string) {
	argv := running(w.script(), flags...)
	for !w.over() {
		w.fits(what, w.try(what, "", ignored, argv...))
	}
}

// read lists the queue. Every task that was acknowledged before must be there, once.
func (w *weather) read() {
	for n := 0; !w.over(); n++ {
		if n%4 == 3 {
			w.fits("verify", w.try("verify", "", ignored, "verify"))
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
