// Package judge decides on each use of a tool in one run of one task, and remembers what it
// decided: what the run has touched, what waits for a person, and how often the client asked.
// It stands outside of the agent's reach: in the process that started the worker.
//
// Invariant: a use is allowed only if pulse-authorize would allow it as an effect of that
// task, with all labels that earlier uses of the run have given; and whatever was put to a
// person is in Parked, because the model was told so. Caveat: it restrains a client that
// asks; the count of what is in its
// transcript finds one that did not ask.
package judge

import (
	"bytes"
	"fmt"
	"slices"
	"sync"

	"pulse/lib/authorize/decision"
	"pulse/lib/authorize/hook"
	"pulse/lib/authorize/pins"
	"pulse/lib/authorize/tools"
	"pulse/lib/authorize/workspace"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/audience"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

// The bounds of one run.
const (
	maxParked  = 50        // uses that were put to a person
	maxRequest = 256 << 10 // bytes of one of them
	maxRoom    = 960 << 10 // bytes of all of them
	maxJudged  = 100       // different judgements
)

// Judge judges the uses of tools of one run. The exported fields are set before the first
// use.
type Judge struct {
	Policy   *policy.Policy
	World    tools.World
	Task     string            // the id of the task that is run
	Identity identity.Identity // of that task; its labels are those of the root task
	Person   bool              // one sits at the client's terminal, and is asked there
	Alone    bool              // nobody else is asked: what the client can't ask that person is refused, and what is allowed is left to the client's own rules
	Pins     pins.Pins
	Listed   Listed       // what the pinned servers have said of their tools
	Kept     record.Value // the session of the client that goes on; empty: it begins
	Last     bool         // it does not go on again

	// Files returns the labels and the audience of what a tool that reads these files gets, or any if
	// names is nil; nil: that is not known here, and counts for nothing.
	Files func(tool string, names []string) (label.Set, audience.Audience)

	mu      sync.Mutex
	labels  label.Set // that uses have given
	parked  [][]byte
	waiting int // how many uses were put to a person, earlier ones too
	room    int // the bytes of them
	judged  []hook.Judged
	session session
	keep    record.Value   // the session, for the next time
	defined int            // definitions that servers have listed
	passed  map[string]int // uses that a client's hook was allowed, and its MCP server has not seen
}

// Use judges a use of a tool, and returns what the client is told.
func (j *Judge) Use(u *hook.Use) (hook.Outcome, string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.session.asked(u)
	r, err := u.Request(j.Policy)
	if err != nil {
		return j.unread()
	}
	if j.passes(u, &r) {
		return hook.Allow, "pulse: the hook of its client has asked before"
	}
	outcome, why := j.decide(u, &r)
	if outcome == hook.Allow {
		j.pass(u, &r)
	}
	return outcome, why
}

// Unread refuses a call that can't be read.
func (j *Judge) Unread() (hook.Outcome, string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.unread()
}

func (j *Judge) unread() (hook.Outcome, string) {
	j.count(hook.Judgement{Outcome: terms.Reject, Rule: "hook", Reason: "hook_failed"})
	return hook.Deny, "pulse: the call can not be read"
}

func (j *Judge) decide(u *hook.Use, r *request.Request) (hook.Outcome, string) {
	d := j.decision(u, r)
	outcome, why := outcomes[d.Outcome], hook.Shown(d.Why)+fmt.Sprintf(" (%s, %s)", d.Reason, d.Rule)
	if outcome == hook.Ask && !(j.Person && u.Client.Asks()) {
		outcome = hook.Deny
		if j.Alone {
			why += ". This client can not ask you for it here: leave it to the person at the terminal."
		} else if full := j.park(r); full != "" {
			d = decision.Decision{Action: d.Action, Outcome: terms.Reject, Rule: "hook", Reason: overBudget}
			why = full
		} else {
			why += ". It was put to a person: do not try it again, go on without it."
			if j.Last {
				why += " You will not be told what became of it (limits.max_continues)."
			}
		}
	}
	if !j.count(hook.Judgement{Tool: r.Tool, Action: d.Action, Outcome: d.Outcome, Rule: d.Rule, Reason: string(d.Reason)}) {
		return hook.Deny, "pulse: this run has used its tools in too many ways"
	}
	if d.Outcome != terms.Reject {
		j.touch(r, &d)
	}
	return outcome, "pulse: " + why
}

const overBudget decision.Reason = "over_budget"

// outcomes has what a decision means for a use; for every other one it is denied.
var outcomes = map[terms.Outcome]hook.Outcome{
	terms.Allow: hook.Allow, terms.Confirm: hook.Ask, terms.Review: hook.Ask, terms.Reject: hook.Deny,
}

// decision decides on the use as an effect of the task.
func (j *Judge) decision(u *hook.Use, r *request.Request) decision.Decision {
	if changed := j.changed(u); changed != "" {
		return decision.Decision{Action: r.Action, Outcome: terms.Reject, Rule: "hook", Reason: definitionChanged, Why: changed}
	}
	id := j.effect()
	d := decision.Decide(decision.Input{Identity: &id, Request: r, Policy: j.Policy, World: j.World})
	if link := tools.Linked(j.Policy, r, j.World); link != "" && d.Outcome != terms.Reject {
		d = decision.Decision{Action: d.Action, Outcome: terms.Reject, Rule: "hook", Reason: "path_refused"}
		d.Why = link + ": it is a symbolic link, and not written through"
	}
	return d
}

// effect returns the identity of what a use would do.
func (j *Judge) effect() identity.Identity {
	id := j.Identity
	if id.Root == "" {
		id.Root = j.Task
	}
	id.Via, id.Parent, id.Ordinal, id.Labels = identity.ViaAgent, j.Task, 0, id.Labels.Union(j.labels)
	return id
}

// touch keeps the labels that a use gives. One that a person is asked about counts.
func (j *Judge) touch(r *request.Request, d *decision.Decision) {
	by := r.Tool
	if by == "" {
		by = string(r.Action)
	}
	for _, l := range d.Labels {
		if j.Identity.Labels.Use(l) != nil {
			continue
		}
		j.labels, _ = j.labels.With(label.Use{Label: l, By: by})
	}
	if names, reads := tools.Files(j.Policy, r); reads && j.Files != nil {
		set, seen := j.Files(by, names)
		j.labels, j.Identity.Audience = j.labels.Union(set), j.Identity.Audience.Intersect(seen)
	}
}

// park puts a request to a person, or says why not.
func (j *Judge) park(r *request.Request) (full string) {
	bound := r.WithArgs(workspace.Bound(j.Policy, r.Tool, r.Action, r.Args))
	line := bound.Append(nil)
	switch {
	case len(line) > maxRequest:
		return "it is too large to be put to a person"
	case j.waiting >= maxParked || j.room+len(line) > maxRoom:
		return "too much of this run waits for a person"
	}
	j.parked = append(j.parked, line)
	j.waiting, j.room = j.waiting+1, j.room+len(line)+1
	return ""
}

// Waiting notes what was put to a person before this judge began.
func (j *Judge) Waiting(lines, bytes int) { j.waiting, j.room = lines, bytes }

// count counts a judgement, and reports whether it is not one too many. Those that are count
// together.
func (j *Judge) count(one hook.Judgement) (room bool) {
	many := hook.Judgement{Outcome: terms.Reject, Rule: "hook", Reason: "too_many"}
	i := slices.IndexFunc(j.judged, func(k hook.Judged) bool { return k.Judgement == one })
	switch {
	case i >= 0:
		j.judged[i].Count++
	case len(j.judged) >= maxJudged && one != many:
		j.count(many)
		return false
	default:
		j.judged = append(j.judged, hook.Judged{Judgement: one, Count: 1})
	}
	return true
}

// Result is what a run leaves.
type Result struct {
	Judged  []hook.Judged
	Parked  []byte // requests that were put to a person, one a line, each once
	Labels  label.Set
	Ungated string // why nobody knows what its client did without asking; empty: it asked
	Greeted bool   // its client's hook said hello
	Keep    []byte // the session of its client; empty: it can't go on
	Counted bool   // the uses in its client's transcript were counted, or it has no client
}

// Result returns what the run leaves, once its worker has ended.
func (j *Judge) Result() Result {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := &j.session
	return Result{j.judged, once(j.parked), j.labels, s.ungated(), s.greeted, []byte(j.keep), s.counted || s.client == ""}
}

// once returns lines, each once.
func once(lines [][]byte) (out []byte) {
	for i, l := range lines {
		if !slices.ContainsFunc(lines[:i], func(k []byte) bool { return bytes.Equal(k, l) }) {
			out = append(append(out, l...), '\n')
		}
	}
	return out
}

// Tools returns the client's tools that the policy leaves to the task.
func (j *Judge) Tools(c hook.Client) (names []string) {
	for _, offer := range c.Offers() {
		if j.shows(offer.Tool) && j.reaches(offer.Action) {
			names = append(names, offer.Name)
		}
	}
	return names
}

// shows reports whether the policy shows a tool to the task.
func (j *Judge) shows(tool string) bool {
	by := tools.Asker{Trust: j.Identity.Trust, Sender: j.Identity.Sender, Chat: j.Identity.Chat}
	shown, _ := tools.Shown(j.Policy, tool, by)
	return shown
}

// reaches reports whether the task may have anything of an action done.
func (j *Judge) reaches(a terms.Action) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	id := j.effect()
	d := decision.Decide(decision.Input{Identity: &id, Request: &request.Request{Action: a}, Policy: j.Policy})
	return d.Outcome != terms.Reject
}
