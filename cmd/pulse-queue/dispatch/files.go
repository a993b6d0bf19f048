package dispatch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"pulse/lib/authorize/tools"
	"pulse/lib/queue"
	"pulse/lib/queue/agent"
	"pulse/lib/queue/aside"
	"pulse/lib/queue/box"
	"pulse/lib/queue/files"
	"pulse/lib/queue/seen"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audience"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/label"
	"pulse/lib/shared/task"
)

// watched is what one worker does with files: what it may read, as its judge asks, and what changed
// while it ran.
type watched struct {
	sh     *shift
	id     string
	places files.Places
	before *files.Look
	asks   bool         // its command line names a client that asks its hook
	made   queue.Origin // of what an ask's worker writes, besides, unless its client asks its hook what it may read

	mu    sync.Mutex
	read  queue.Origin
	ended bool // the queue is not the judge's to ask any more
}

// mine returns the directories where workers of this command line may write files: the workspace, and what
// a box leaves to them.
func (sh *shift) mine() []string {
	return append([]string{sh.policy.Exec.Workspace}, box.Writable(sh.worker.Argv)...)
}

func (sh *shift) places() files.Places { return files.Of(sh.mine()...) }

// watch begins to watch the worker of a claim. An effect reads what its request names.
func (sh *shift) watch(claim *queue.Claim) *watched {
	w := &watched{sh: sh, id: claim.Task.ID, places: sh.places()}
	if !claim.Identity.Effect() {
		// To read a large workspace takes seconds, and says nothing of a client that asks about each use.
		// One that turns out not to have said hello may have read anything.
		if w.asks = slices.ContainsFunc(sh.worker.Argv, hooked); w.asks {
			w.made = queue.Unknown()
		} else {
			w.made, _ = w.origin(nil)
		}
	} else if claim.Request != nil {
		if names, reads := tools.Files(sh.policy, claim.Request); reads {
			w.files(tools.Of(claim.Request), names)
		}
	}
	w.before = w.places.Look()
	return w
}

// hooked reports whether a word of a command line starts a client that asks its hook.
func hooked(word string) bool { return agent.Hooked(filepath.Base(word)) }

// files returns what a tool that reads these files gets, and notes it.
func (w *watched) files(tool string, names []string) (label.Set, audience.Audience) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o, seen := w.origin(names)
	if o.None() {
		return nil, audience.Anyone
	}
	by := tool
	if len(o.Roots) > 0 {
		by += " of " + o.Roots[0]
	}
	for i := range o.Labels {
		o.Labels[i].By = by
	}
	w.read = w.read.Union(o)
	return o.Labels, seen
}

// origin returns where files come from, and who has seen that; what can't be found out is unknown. What
// changed since another worker began that still runs may be that one's.
func (w *watched) origin(names []string) (o queue.Origin, seen audience.Audience) {
	switch {
	case len(w.places) == 0:
		return o, audience.Anyone
	case w.ended:
		return queue.Unknown(), seen
	}
	r := w.places.Read(w.sh.policy.Exec.Workspace, names)
	err := w.sh.store.View(func(v store.View) error {
		first, err := w.sh.firstStart(v, func(id string) bool { return id != w.id })
		if err != nil {
			return err
		}
		if o, err = queue.OriginOf(v, r.Things); err != nil {
			return err
		}
		if r.Lost || !first.IsZero() && !files.Before(r.Newest, first) {
			o = o.Union(queue.Unknown())
		}
		seen, err = o.Audience(v)
		return err
	})
	if err != nil {
		return queue.Unknown(), audience.Audience{}
	}
	return o, seen
}

// firstStart returns when the first of some tasks was started that run, or whose run has not noted yet what
// they changed; zero if there is none.
func (sh *shift) firstStart(v store.View, of func(id string) bool) (first time.Time, err error) {
	began := func(id string, at time.Time) {
		if of(id) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	for id, at := range sh.runs.Started() {
		began(id, at)
	}
	err = v.Open(task.Running, func(e store.Entry) (bool, error) {
		began(e.ID, e.Since)
		return true, nil
	})
	return first, err
}

// attached notes the files that proposals bring along: a worker that names one need not have read it.
func (w *watched) attached(p *queue.Proposals) {
	var names []string
	for i := 0; p != nil && i < len(p.List); i++ {
		for _, f := range p.List[i].Files {
			names = append(names, f.Name)
		}
	}
	if len(names) == 0 {
		return
	}
	w.files(queue.Attached, names)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read.Labels, _ = w.read.Labels.With(label.Use{Label: label.Private, By: queue.Attached})
}

// end notes what the worker leaves. One that died may have read anything.
func (w *watched) end(last *queue.End, seat *seat) {
	if last.Unread {
		w.files(queue.Unreported, nil)
	}
	w.attached(last.Proposals)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	if last.Read = w.read; !w.asks || seat == nil || !seat.judge.Result().Greeted {
		last.Made = w.made
	}
	// A place that was not there before is new as a whole.
	last.Wrote, last.Lost = w.before.Changed(files.Of(slices.Concat(w.places, w.sh.places())...).Look())
	if n := len(last.Lost); n > 0 {
		cmdline.Note(w.sh.c, "task %s: in %d places nobody knows which files its worker wrote; they have all labels", w.id, n)
	}
}

// placesOf is what the directories of all command lines are kept by, apart from the sessions of tasks.
const placesOf = "places"

// known returns the directories where workers of any command line for a queue could write files, with these:
// one that died need not have been of this one.
func known(name string, mine []string) (all []string, err error) {
	var b []byte
	if seen.Dir() != "" {
		if b, err = aside.Kept(seen.Dir(), name, placesOf); err != nil {
			return nil, fmt.Errorf("where workers may have written files is not known: %w", err)
		}
	}
	kept := strings.Split(string(b), "\x00")
	for _, dir := range slices.DeleteFunc(mine, func(dir string) bool { return dir == "" }) {
		dir, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		all = append(all, dir)
	}
	for _, dir := range kept {
		if _, err := os.Lstat(dir); dir != "" && !errors.Is(err, fs.ErrNotExist) {
			all = append(all, dir)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) == 0 || seen.Dir() == "" || slices.Equal(all, kept) {
		return all, nil
	}
	return all, aside.Keep(seen.Dir(), name, placesOf, []byte(strings.Join(all, "\x00")))
}

// abandoned notes what changed since workers began that died: nobody knows where it comes from.
func (sh *shift) abandoned(now time.Time) error {
	dirs, err := known(sh.queue, sh.mine())
	if err != nil || len(dirs) == 0 {
		return err
	}
	first, err := store.Read(sh.store, func(v store.View) (time.Time, error) { return sh.firstStart(v, sh.runs.Dead) })
	if err != nil || first.IsZero() {
		return err
	}
	things := files.Of(dirs...).Look().Since(first)
	if err := queue.Update(sh.todo, func(tx *queue.Tx) error { return queue.Come(tx, things, queue.Unknown(), now) }); err != nil {
		return err
	}
	for id := range sh.runs.Started() {
		if hold, err := sh.runs.Take(id); err == nil { // nobody else gives its locks back, if its task was cancelled
			hold.Drop()
		}
	}
	return nil
}
