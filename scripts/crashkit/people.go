package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
	w, err := k.weather("people", "storm, of people", 3, cmp.Or(k.kills, 400), cmp.Or(k.kills, 4000))
	if err != nil {
		return err
	}
	c := &crowded{weather: w, yeses: map[string]int{}}
	c.blow()
	c.end(c.judge())
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
	c.strike(&wg)
}

// sit runs a command at a terminal, where it may be killed.
func (c *crowded) sit(what, name string, args ...string) *ended {
	return c.d.sit(victim{c.weather, what}, append([]string{c.k.bin + "/" + name}, args...)...)
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
	c.try("run --effect", "", ignored, running(c.script(), "--effect", "external_send", "--max", "3")...)
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
	if e := c.try("hold", "", ignored, "hold"); e.status == 0 {
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
	c.fits("prune", c.try("prune", "", ignored, "prune", "--older-than", "0"))
}

// judge settles the queue, and reads from its log what was started and spent, and on what.
func (c *crowded) judge() (f findings) {
	if err := c.d.settle(); err != nil {
		f.add("settle: %v", err)
	}
	c.fits("run, in the end", c.d.pulse("", "pulse-queue", running(c.script(), sends...)...))
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
			c.t.seen[l.Event]++
			switch l.Event {
			case "held":
				held = true
			case "released", "resumed":
				held = false
			case "approved", "restored":
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
	if c.spent > c.grants || c.t.seen["consumed"] > c.grants || c.spent > c.t.seen["consumed"] {
		f.add("spent: %d, of %d grants, and the log has %d", c.spent, c.grants, c.t.seen["consumed"])
	}
	if c.t.seen["started"] == 0 || c.t.seen["consumed"] == 0 || c.t.seen["held"] == 0 || c.t.seen["pruned"] == 0 {
		f.add("%s: the storm did not do all that it is for", fmt.Sprint(c.t.seen))
	}
	return f
}
