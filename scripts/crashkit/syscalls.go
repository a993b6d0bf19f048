package main

import (
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// syscalls kills every command at its system calls.
func syscalls(k *kit) error {
	for _, s := range k.chosen() {
		if err := s.setUp(k, "syscalls"); err != nil {
			return err
		}
		points, err := s.dryRun(k, "syscalls")
		if err != nil {
			return err
		}
		t := k.tally("kill: "+s.name, "killed")
		t.control = s.control
		chosen := append(pick(points, onDisk, k.most(3)), pick(points, onProcesses, k.most(1))...)
		s.each(t, "syscalls", chosen, func(d *desk, i int, c call) {
			s.kill(d, t, i, c)
		})
		t.end()
	}
	return nil
}

// chosen are the scenarios of syscalls.
func (k *kit) chosen() (list []*scenario) {
	for _, s := range append(scenarios(), naiveScenario(early, true), naiveScenario(nodirsync, false), naiveRunner()) {
		if strings.Contains(s.name, k.only) {
			list = append(list, s)
		}
	}
	return list
}

// most returns how many points of one kind are tried: n, or all of them in long.
func (k *kit) most(n int) int {
	if k.long {
		return math.MaxInt
	}
	return n
}

// dryRun runs the command of a scenario to its end and returns its system calls.
func (s *scenario) dryRun(k *kit, part string) ([]call, error) {
	d, err := s.desk(k, part, "dry")
	if err != nil {
		return nil, err
	}
	log := filepath.Join(d.dir, "trace")
	e := s.traced(d, log, "all", "")
	if e.status != 0 || e.err != nil {
		return nil, fmt.Errorf("%s, undisturbed: %v", s.name, e)
	}
	b := s.books.clone()
	_, err = b.receipts(e.stdout)
	if s.name == "yes" {
		b.yes[ids(b.acked)[0]]++
	}
	if _, f := d.inspect(b); len(f) > 0 || err != nil {
		return nil, fmt.Errorf("%s, undisturbed: %v, %q", s.name, err, f)
	}
	list, err := calls(log)
	return touching(list, d.queue), err
}

// desk makes a desk to be filled from the template.
func (s *scenario) desk(k *kit, part, name string) (*desk, error) {
	dir := filepath.Join(k.dir, part, name)
	d := k.at(dir, filepath.Join(dir, "q"))
	d.naive = s.naive
	return d, mirror(s.template, d.dir)
}

// traced runs the command of the scenario under strace.
func (s *scenario) traced(d *desk, log, calls, inject string) *ended {
	argv := strace(log, calls, inject, s.line(d, d.k.locked)...)
	if s.person {
		return d.sit(victim{}, argv...)
	}
	return d.exec(s.stdin, argv...)
}

// each tries the points on as many desks as there are processors.
func (s *scenario) each(t *tally, part string, points []call, try func(*desk, int, call)) {
	var wg sync.WaitGroup
	queue := make(chan int)
	for n := range runtime.NumCPU() {
		wg.Go(func() {
			for i := range queue {
				d, err := s.desk(t.k, part, fmt.Sprintf("desk-%d", n))
				if err != nil {
					t.point("the test itself", false, findings{"desk: " + err.Error()})
					continue
				}
				try(d, i, points[i])
			}
		})
	}
	for i := range points {
		queue <- i
	}
	close(queue)
	wg.Wait()
}

// kill ends the command before one system call, and looks at what is left twice.
func (s *scenario) kill(d *desk, t *tally, i int, c call) {
	log := filepath.Join(d.dir, "trace")
	e := s.traced(d, log, c.name, fmt.Sprintf("%s:signal=KILL:when=%d", c.name, c.n))
	b, f := s.took(e)
	if e.err != nil || !e.killed && e.status != 0 && e.status != 75 {
		f.add("status: %v", e)
	}
	if e.killed && !onFirstThread(log) {
		t.count("on another thread")
	}
	f = append(f, s.aftermath(d, b, i)...)
	t.point(c.String(), e.killed, f)
}

// aftermath checks what a command left, goes on working, and checks again. The
// first command after a crash is not always the same.
func (s *scenario) aftermath(d *desk, b *books, i int) (f findings) {
	if err := d.settle(); err != nil {
		f.add("settle: %v", err)
	}
	if s.making {
		if err := d.init(); err != nil {
			f.add("%v", err)
		}
	}
	if i%3 == 1 && !s.naive {
		_, _ = d.must("", "pulse-queue", "verify") // inspect says what is wrong
	}
	listed, found := d.inspect(b)
	f = append(f, found...)
	if s.whole != nil && len(f) == 0 {
		var ignore findings
		if text := s.whole(s.was, d.files(&ignore)); text != "" {
			f.add("%s", text)
		}
	}
	for range 2 {
		if s.next != nil {
			if err := s.next(d, b); err != nil {
				f.add("%v", err)
			}
		}
		listed, found = d.inspect(b)
		f = append(f, found...)
	}
	if s.late != nil && len(f) == 0 {
		if text := s.late(listed); text != "" {
			f.add("%s", text)
		}
	}
	return f
}
