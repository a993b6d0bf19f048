package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// life is what the log says of a task.
type life struct {
	kind, message                             string
	added, started, finished, again, yes, unk int
}

// lines are the lives of all tasks.
type lines struct {
	all           map[string]*life
	asks, effects int
}

// tasks reads the log.
func (w *world) tasks() (*lines, error) {
	l := &lines{all: map[string]*life{}}
	m := w.machines["gate2"]
	out, err := m.Sh(m.as("pulse-queue log --json"))
	if err != nil {
		return l, err
	}
	for text := range strings.SplitSeq(strings.TrimSpace(out), "\n") {
		var e struct {
			Event, Task, Kind, To string
			MessageID             string `json:"message_id"`
		}
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			return l, err
		}
		if e.Task == "" {
			continue
		}
		t := l.all[e.Task]
		if t == nil {
			t = &life{kind: e.Kind, message: e.MessageID}
			l.all[e.Task] = t
		}
		l.note(t, e.Event)
	}
	return l, nil
}

func (l *lines) note(t *life, event string) {
	switch event {
	case "added":
		t.added++
		if t.kind == "ask" {
			l.asks++
		} else {
			l.effects++
		}
	case "started":
		t.started++
	case "finished", "carried_out":
		t.finished++
	case "restarted":
		t.again++
	case "undecided":
		t.unk++
	case "approved":
		t.yes++
	}
}

// count compares the log with what is known outside, and prints the summary.
func (w *world) count() error {
	l, err := w.tasks()
	if err != nil {
		return err
	}
	var errs []error
	find := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	messages, starts, yes, again, unknown := map[string]int{}, 0, 0, 0, 0
	for id, t := range l.all {
		if t.kind == "ask" {
			messages[t.message]++
		}
		handed := len(slices.DeleteFunc(w.noted("sent", ""), func(f []string) bool { return f[0] != id }))
		switch {
		case t.added != 1 || t.finished != 1:
			find("task %s was added %d times, and finished %d times", id, t.added, t.finished)
		case handed > 0 && (handed > t.yes || t.started > t.yes):
			find("effect %s was handed over %d times, started %d times, with %d yes", id, handed, t.started, t.yes)
		}
		starts, yes, again, unknown = starts+t.started, yes+t.yes, again+t.again, unknown+t.unk
	}
	for i := range w.mail {
		if n := messages[fmt.Sprintf("<%d@example.com>", i+1)]; n != 1 {
			find("mail %q is %d tasks", w.mail[i], n)
		}
	}
	if again < 2 || unknown < 1 {
		find("nothing was interrupted: %d restarts, %d unknown", again, unknown)
	}
	if _, err := os.Stat(w.dir + "/outside/reached"); err == nil {
		find("a worker could connect to a server")
	}
	head, err := w.heads()
	w.log("%d mails, %d asks, %d effects; %d starts, %d of them again; %d yes, %d handed over, %d effect_unknown",
		len(w.mail), l.asks, l.effects, starts, again, yes, len(w.noted("sent", "")), unknown)
	for _, text := range w.apart {
		w.log("%s", text)
	}
	w.log("head %s at all of %s", head, strings.Join(append(people, jobs...), " "))
	return errors.Join(append(errs, err)...)
}

// heads verifies the queue on every machine, and asks each about its health.
func (w *world) heads() (head string, err error) {
	list := append(people, jobs...)
	heads, errs := make([]string, len(list)), make([]error, len(list))
	for i, name := range list {
		m := w.machines[name]
		heads[i], errs[i] = m.Sh(m.as("pulse-queue verify; pulse-queue health"))
		if heads[i] != heads[0] {
			errs[i] = errors.Join(errs[i], fmt.Errorf("%s has another head: %s", name, heads[i]))
		}
	}
	return strings.TrimSpace(heads[0]), errors.Join(errs...)
}

// evidence prints what may explain a failure.
func (w *world) evidence() {
	for _, name := range jobs {
		if said := w.machines[name].mailed(); said != "" {
			fmt.Println(said[:min(len(said), 2000)])
		}
	}
	for _, name := range people {
		b, _ := os.ReadFile(w.dir + "/outside/said-" + name)
		fmt.Printf("%s: %s\n", name, b[:min(len(b), 2000)])
	}
	for _, name := range servers {
		if out, err := w.machines[name].Sh("tail -n 15 /var/log/postgresql/*"); err == nil {
			fmt.Println(name + ": " + out)
		}
	}
	m := w.machines["gate2"]
	if out, err := m.Sh(m.as("pulse-queue stats; pulse-queue list; pulse-queue health || true")); err == nil {
		fmt.Println(out[:min(len(out), 4000)])
	}
}
