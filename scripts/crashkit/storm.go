package main

import (
	"fmt"
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
	t     *tally // of what happened
	kills int

	mu      sync.Mutex
	live    map[int]string // process ids of commands, and what they are
	acked   *books
	wrong   findings
	killed  int
	workers int    // killed
	given   int    // uids assigned so far
	naive   *tally // listings without the lock
	stop    bool
}

// weather is a storm over a new queue, of so many kills, or of those of a long test.
func (k *kit) weather(name, line string, attempts, kills, long int) (*weather, error) {
	d, err := k.desk(name)
	if err == nil {
		err = d.limits(attempts)
	}
	if err == nil {
		err = d.init()
	}
	if k.long {
		kills = long
	}
	return &weather{k: k, d: d, t: k.tally(line, "kills"), kills: kills, live: map[int]string{}, acked: newBooks()}, err
}

// storm kills commands at random while they work on one queue.
func storm(k *kit) error {
	const attempts = 1 // a worker that was killed has used its attempt
	w, err := k.weather("storm", fmt.Sprintf("storm, %d runners", runners), attempts, 60, 1000)
	if err != nil {
		return err
	}
	for i := range w.kills / 8 {
		list, err := w.d.add(w.acked, effect(i))
		if err == nil {
			err = w.d.yes(w.acked, list[0].ID)
		}
		if err != nil {
			return err
		}
	}
	w.naive = k.tally("storm: CONTROL listing without the lock", "listed")
	w.naive.control = true
	w.blow()
	w.naive.end()
	w.t.seen["workers killed"] = w.workers
	w.end(w.drain())
	return nil
}

// end reports a storm: what was found in its course and at its end, and what was killed.
func (w *weather) end(f findings) {
	w.t.point("in the end", true, append(w.wrong, f...))
	w.t.points, w.t.hit = w.kills, w.killed
	w.t.end()
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
	w.strike(&wg)
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

// strike kills commands, and now and then a worker, until all kills are made; then it waits for the rest.
func (w *weather) strike(rest *sync.WaitGroup) {
	defer rest.Wait()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.stop = true
	}()
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
func (w *weather) drain() (f findings) {
	for range 2 {
		if err := w.d.settle(); err != nil {
			f.add("settle: %v", err)
		}
		var wg sync.WaitGroup
		for range runtime.NumCPU() {
			wg.Go(func() {
				for _, flags := range [][]string{nil, sends} {
					w.fits("run, in the end", w.d.pulse("", "pulse-queue", running(w.script(), flags...)...))
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
			w.t.seen[st] = n
		}
		w.t.seen["starts"] = 0
		for _, n := range w.d.started() {
			w.t.seen["starts"] += n
		}
		w.t.seen["acknowledged"] = len(w.acked.acked)
	}
	return f
}
