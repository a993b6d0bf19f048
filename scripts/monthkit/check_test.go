package monthkit

import (
	"bufio"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// evening compares everything with the model.
func (w *world) evening() {
	bury()
	if w.down || w.full {
		return
	}
	w.look()
	w.verify()
	if w.now.YearDay()%3 == 0 {
		w.listed()
		w.stats()
	}
	w.overdue()
	w.dated()
}

// verify checks the log, and that yesterday's head is in it.
func (w *world) verify() {
	line := "pulse-queue verify"
	if w.head != "" {
		line += " --head " + w.head
	}
	out, err := w.sh(line)
	out = strings.TrimSpace(out)
	if err != nil || len(out) != 64 {
		w.disagree("%s: %v: %s", line, err, out)
		return
	}
	w.head = out
}

// listed compares the queue's list with the tasks that the log made.
func (w *world) listed() {
	out := w.must("pulse-queue list --all --json")
	states := map[string]string{}
	lines := bufio.NewScanner(strings.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var r struct{ Task struct{ ID, State string } }
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			w.disagree("list: %v: %.200s", err, lines.Bytes())
			return
		}
		states[r.Task.ID] = r.Task.State
	}
	for id, t := range w.model.tasks {
		if states[id] != t.state {
			w.disagree("task %s is %q in the list, and %q by the log", id, states[id], t.state)
		}
		delete(states, id)
	}
	for id, st := range states {
		w.disagree("task %s (%s) is listed, and not in the log", id, st)
	}
}

// stats compares the counts.
func (w *world) stats() {
	var s map[string]any
	if err := json.Unmarshal([]byte(w.must("pulse-queue stats --json")), &s); err != nil {
		w.disagree("stats: %v", err)
	}
	counts := map[string]int{}
	for _, t := range w.model.tasks {
		counts[t.state]++
	}
	for _, st := range []string{"scheduled", "awaiting_review", "running", "completed", "rejected", "failed", "corrupt"} {
		if s[st] != float64(counts[st]) {
			w.disagree("stats: %v %s, and by the log %d", s[st], st, counts[st])
		}
	}
}

// overdue finds what should have happened by now.
func (w *world) overdue() {
	for _, t := range w.model.tasks {
		age := w.now.Sub(t.since)
		switch {
		case t.state == "awaiting_review" && age > (336+34+24)*time.Hour:
			w.disagree("task %s waits for a person for %s", t.id, age)
		case t.state == "running" && age > 25*time.Hour:
			w.disagree("task %s runs for %s", t.id, age)
		case t.state == "scheduled" && min(w.now.Sub(t.due), age) > 26*hour && !w.spent(t) && !w.held():
			w.disagree("task %s has been due for %s", t.id, age)
		case t.state == "completed" && t.kind == "ask" && t.observed+t.lost == 0:
			w.disagree("ask %s is completed, and no worker had it", t.id)
		}
	}
	for _, m := range w.model.order {
		if w.held() || w.now.Sub(m.came) < 12*time.Hour || m.added+m.refused > 0 {
			continue
		}
		w.disagree("nothing became of %s mail %s of %s", m.proof, m.id, m.came.Format(time.DateTime))
	}
}

// spent reports whether the caps were used up in the last day, so that a task waited rightly.
func (w *world) spent(t *ticket) bool {
	all, external := 0, 0
	for _, s := range w.model.starts {
		if s.kind == t.kind && w.now.Sub(s.at) < 26*hour {
			all++
			if s.external {
				external++
			}
		}
	}
	return all >= perDay || t.external && external >= perDay/2
}

// held reports whether an incident keeps the gate from its work, today or yesterday.
func (w *world) held() bool {
	return slices.ContainsFunc(w.incidents, func(i *incident) bool {
		return i.stops && !w.now.Before(i.from) && w.now.Before(i.to.Add(20*time.Hour))
	})
}

// dated holds the end of the log against the true time.
func (w *world) dated() {
	if w.server != nil {
		return
	}
	files, _ := filepath.Glob(w.queue() + "/audit/*.jsonl")
	slices.Sort(files)
	if len(files) == 0 {
		return
	}
	last := files[len(files)-1]
	month := strings.TrimSuffix(filepath.Base(last), ".jsonl")
	if month > w.now.UTC().Format("2006-01") && !w.misdated {
		w.misdated = true
		w.disagree("the log goes on in %s", filepath.Base(last))
	}
}
