package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// runners is how many runs work at the same time.
const runners = 16

// weather is a queue on which many commands work while they are killed.
type weather struct {
	k     *kit
	d     *desk
	kills int

	mu      sync.Mutex
	live    map[int]string // process ids of commands, and what they are
	acked   *books
	wrong   findings
	done    map[string]int // what happened, counted
	workers int            // killed
	given   int            // uids assigned so far
	naive   *tally         // listings without the lock
	stop    bool
}

// storm kills commands at random while they work on one queue.
func storm(k *kit) error {
	d, err := k.desk("storm")
	if err != nil {
		return err
	}
	if err := d.limits(1, "0"); err != nil { // a worker that was killed has used its attempt
		return err
	}
	w := &weather{k: k, d: d, kills: 60, live: map[int]string{}, acked: newBooks(), done: map[string]int{}}
	if k.long {
		w.kills = 1000
	}
	if err := d.init(); err != nil {
		return err
	}
	if err := w.approve(w.kills / 8); err != nil {
		return err
	}
	w.naive = k.tally("storm: CONTROL listing without the lock", "listed")
	w.naive.control = true
	w.blow()
	w.naive.end()
	t := k.tally(fmt.Sprintf("storm, %d runners", runners), "kills")
	t.seen["workers killed"] = w.workers
	w.end(t, w.drain(t))
	return nil
}

// end reports a storm: what was found in its course and at its end, and what was killed.
func (w *weather) end(t *tally, f findings) {
	maps.Copy(t.seen, w.done)
	t.point("in the end", true, append(w.wrong, f...))
	t.points, t.hit = w.kills, 0
	for what, n := range w.done {
		if strings.HasSuffix(what, "killed") {
			t.hit += n
		}
	}
	t.end()
}

// approve adds effects, and approves each of them once.
func (w *weather) approve(n int) error {
	for i := range n {
		out, err := w.d.must(effect(i), "pulse-queue", "add")
		if err != nil {
			return err
		}
		list, err := tasks(out)
		if err != nil {
			return err
		}
		w.acknowledge(out)
		if e := w.d.person(w.k.bin+"/pulse-approve", "yes", list[0].ID); e.status != 0 {
			return fmt.Errorf("pulse-approve yes: %v", e)
		}
		w.acked.yes[list[0].ID]++
	}
	return nil
}

// blow runs everything at once until all kills are made.
func (w *weather) blow() {
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(w.produce)
	}
	for i := range runners {
		if i < 2 {
			wg.Go(func() { w.work("run --effect", "--effect", "external_send", "--max", "1") })
		} else {
			wg.Go(func() { w.work("run", "--max", "20") })
		}
	}
	wg.Go(w.read)
	wg.Go(w.readNaively)
	w.strike()
	w.mu.Lock()
	w.stop = true
	w.mu.Unlock()
	wg.Wait()
}

func (w *weather) over() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stop
}

func (w *weather) find(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong.add(format, args...)
}

// strike kills commands, and now and then a worker.
func (w *weather) strike() {
	deadline := time.Now().Add(time.Duration(w.kills)*time.Second/2 + patience)
	for n := 0; n < w.kills; {
		time.Sleep(time.Duration(rand.IntN(40)) * time.Millisecond)
		if rand.IntN(8) == 0 {
			w.strikeWorker()
		}
		w.mu.Lock()
		for pid := range w.live { // in no order
			if syscall.Kill(pid, syscall.SIGKILL) == nil {
				delete(w.live, pid)
				n++
			}
			break
		}
		w.mu.Unlock()
		if time.Now().After(deadline) {
			w.find("stuck: %d of %d kills in the time there is", n, w.kills)
			return
		}
	}
}

// strikeWorker kills the worker of some run: a child that leads a session.
func (w *weather) strikeWorker() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for pid, what := range w.live {
		if !strings.HasPrefix(what, "run") {
			continue
		}
		for _, child := range childrenOf(pid) {
			if syscall.Kill(child, syscall.SIGKILL) == nil {
				w.workers++
				return
			}
		}
	}
}

// childrenOf returns the children of all threads of a process.
func childrenOf(pid int) (list []int) {
	names, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, name := range names {
		b, _ := os.ReadFile(name)
		for field := range strings.FieldsSeq(string(b)) {
			if child, err := strconv.Atoi(field); err == nil {
				list = append(list, child)
			}
		}
	}
	return list
}

// drain works off the remaining tasks undisturbed, and checks everything.
func (w *weather) drain(t *tally) (f findings) {
	for range 2 {
		if err := w.d.settle(); err != nil {
			f.add("settle: %v", err)
		}
		var wg sync.WaitGroup
		for range runtime.NumCPU() {
			wg.Go(func() {
				for _, flags := range [][]string{{"run", "--"}, {"run", "--effect", "external_send", "--"}} {
					w.fits("run, in the end", w.d.pulse("", "pulse-queue", append(flags, w.script()...)...))
				}
			})
		}
		wg.Wait()
		listed, found := w.d.inspect(w.acked)
		f = append(f, found...)
		ends := map[string]int{}
		for _, task := range listed {
			ends[task.State]++
			unknown := task.Kind == "effect" && task.State == "awaiting_review" && task.Reason == "effect_unknown"
			if task.State != "completed" && task.State != "failed" && !unknown {
				f.add("stuck: %s is %s", task.ID, task.State)
			}
		}
		for st, n := range ends {
			t.seen[st] = n
		}
		t.seen["starts"] = 0
		for _, n := range w.d.started() {
			t.seen["starts"] += n
		}
		t.seen["acknowledged"] = len(w.acked.acked)
	}
	return f
}
