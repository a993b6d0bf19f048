package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

// crowded is a queue on which people and scripts work at once, and all of them are killed: who
// adds effects, says yes, gives and spends grants, pulls the brake, prunes, and runs.
type crowded struct {
	*weather
	yeses  map[string]int // how often a person may have said yes to an effect
	grants int            // that may have been given
	spent  int            // of which consume said that it is spent
}

// granted is a target that only grants reach.
const granted = "al@partner.example"

// people is the second storm: nothing starts, and nothing is spent, beyond what people said.
func people(k *kit) error {
	d, err := k.desk("people")
	if err == nil {
		err = d.init()
	}
	if err != nil {
		return err
	}
	c := &crowded{weather: &weather{k: k, d: d, kills: 400, live: map[int]string{}, acked: newBooks(), done: map[string]int{}}, yeses: map[string]int{}}
	if k.long {
		c.kills = 4000
	}
	c.kills = cmp.Or(k.kills, c.kills)
	c.blow()
	t := k.tally("storm, of people", "kills")
	c.end(t, c.judge(t))
	return nil
}

func (c *crowded) blow() {
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() { c.ask(i) })
	}
	for _, again := range []func(){c.run, c.run, c.give, c.spend, c.brake, c.prune} {
		wg.Go(func() {
			for !c.over() {
				again()
			}
		})
	}
	c.strike()
	c.mu.Lock()
	c.stop = true
	c.mu.Unlock()
	wg.Wait()
}

// sit runs a command at a terminal, where it may be killed; a person types the code.
func (c *crowded) sit(what string, argv ...string) *ended {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := c.d.command(ctx, append([]string{c.k.bin + "/" + argv[0]}, argv[1:]...)...)
	p, err := cmdlinetest.Sit(cmd)
	if err != nil {
		return &ended{status: -1, err: err}
	}
	defer p.Leave()
	c.enter(cmd.Process.Pid, what)
	if code, err := p.Code(); err == nil {
		_ = p.Type(code + "\n") // what the command makes of it is judged
	}
	c.leave(cmd.Process.Pid)
	_, screen := p.Wait()
	e := (&ended{stderr: screen}).judge(cmd, nil, ctx.Err())
	c.count(what, e)
	return e
}

func (c *crowded) count(what string, e *ended) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done[what+map[bool]string{true: " killed", false: " ended"}[e.killed]]++
}

// ask adds effects, and says yes to each of them, at most three times. Every yes may count,
// also one whose command was killed.
func (c *crowded) ask(who int) {
	for n := 0; !c.over(); n++ {
		id := ""
		c.try("add", effect(who*1_000_000+n), func(line []byte) {
			if list, err := tasks(line); err == nil && len(list) == 1 {
				id = list[0].ID
			}
		}, "add")
		for range 3 {
			if id == "" || c.over() {
				break
			}
			c.mu.Lock()
			c.yeses[id]++
			c.mu.Unlock()
			if e := c.sit("yes", "pulse-approve", "yes", id); !e.killed {
				break
			}
		}
	}
}

func (c *crowded) run() {
	c.try("run --effect", "", func([]byte) {}, append([]string{"run", "--effect", "external_send", "--max", "3", "--"}, c.script()...)...)
}

func (c *crowded) give() {
	c.mu.Lock()
	c.grants++
	c.mu.Unlock()
	c.sit("grant", "pulse-approve", "grant", granted)
}

// spend spends a grant. While the queue is on hold before and after, nothing can be spent.
func (c *crowded) spend() {
	e := c.d.exec("", c.k.bin+"/pulse-approve", "consume", granted)
	c.count("consume", e)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case e.status == 0:
		c.spent++
	case e.status != 77:
		c.wrong.add("status %d: consume: %s", e.status, cut(e.String(), 300))
	}
}

// brake pulls the brake, tries to spend a grant, and lets go.
func (c *crowded) brake() {
	if e := c.try("hold", "", func([]byte) {}, "hold"); e.status == 0 {
		if e := c.d.exec("", c.k.bin+"/pulse-approve", "consume", granted); e.status != 77 {
			c.find("spent on hold: %s", e.String())
		}
	}
	for {
		if e := c.sit("release", "pulse-queue", "release"); e.status == 0 {
			return
		} else if !e.killed {
			c.find("status %d: release: %s", e.status, cut(e.String(), 300))
			return
		}
	}
}

func (c *crowded) prune() {
	c.fits("prune", c.try("prune", "", func([]byte) {}, "prune", "--older-than", "0"))
}

// judge settles the queue, and reads from its log what was started and spent, and on what.
func (c *crowded) judge(t *tally) (f findings) {
	if err := c.d.settle(); err != nil {
		f.add("settle: %v", err)
	}
	c.fits("run, in the end", c.d.pulse("", "pulse-queue", append([]string{"run", "--effect", "external_send", "--"}, c.script()...)...))
	c.fits("prune, in the end", c.d.pulse("", "pulse-queue", "prune", "--older-than", "0"))
	c.d.verify(c.acked, &f)
	names, _ := filepath.Glob(filepath.Join(c.d.queue, "audit", "*.jsonl"))
	slices.Sort(names)
	left, begun, held := map[string]int{}, map[string]int{}, false
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			f.add("log: %v", err)
		}
		for line := range strings.Lines(string(b)) {
			var l struct{ Event, Task string }
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				f.add("log: %v", err)
			}
			t.seen[l.Event]++
			switch l.Event {
			case "held":
				held = true
			case "released", "resumed":
				held = false
			case "approved":
				left[l.Task]++
			case "restored":
				left[l.Task]++
			case "started":
				begun[l.Task]++
				if left[l.Task]--; left[l.Task] < 0 {
					f.add("started beyond its yeses: %s", l.Task)
				}
			}
			if held && (l.Event == "started" || l.Event == "consumed") {
				f.add("%s on hold: %s", l.Event, line)
			}
		}
	}
	for id, n := range c.d.started() {
		if n > c.yeses[id] || n > begun[id] {
			f.add("started beyond its yeses: %s ran %d times on %d, and the log has %d", id, n, c.yeses[id], begun[id])
		}
	}
	if c.spent > c.grants || t.seen["consumed"] > c.grants || c.spent > t.seen["consumed"] {
		f.add("spent: %d, of %d grants, and the log has %d", c.spent, c.grants, t.seen["consumed"])
	}
	if t.seen["started"] == 0 || t.seen["consumed"] == 0 || t.seen["held"] == 0 || t.seen["pruned"] == 0 {
		f.add("%s: the storm did not do all that it is for", fmt.Sprint(t.seen))
	}
	return f
}
