package compare

import (
	"fmt"
	"slices"
	"strings"

	"pulse/lib/authorize/tools"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/peer"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

// effects looks at what agents may do: for everyone with whom an effect can have begun,
// every action, target and call of a tool.
func (s *search) effects() error {
	narrowed := narrowedOf(s.old, s.new)
	if len(narrowed) > maxNarrowed {
		return errTooMany
	}
	people := slices.Concat(peopleOf(s.old, s.new), narrowed)
	calls, err := s.calls(people)
	if err != nil {
		return err
	}
	targets := targetsOf(s.old, s.new)
	messages, within, err := messagesOf(s.old, s.new)
	if err != nil {
		return err
	}
	for i := range people {
		for _, id := range people[i].labelled(s.old, s.new) {
			if err := s.asking(&people[i], id, calls, targets); err != nil {
				return err
			}
		}
		if err := s.within(&people[i], messages, within); err != nil {
			return err
		}
	}
	return nil
}

// asking looks at every call by one originator.
func (s *search) asking(w *whose, id *identity.Identity, calls []call, targets [][]string) error {
	for j := range calls {
		for _, target := range targets {
			for _, a := range calls[j].actions {
				s.one(calls[j].candidate(w, id, a, target))
			}
		}
		if err := s.enough(); err != nil {
			return err
		}
	}
	return nil
}

// maxNarrowed bounds the senders and chats for whom tools are narrowed, because every call
// is tried for each of them.
const maxNarrowed = 5000

// effect returns the identity of an effect that began with a sender.
func (w *whose) effect() *identity.Identity {
	return &identity.Identity{
		Sender: w.sender, Trust: w.trust, Chat: w.chat,
		Verified: w.trust != terms.Unknown && w.trust != terms.OwnerClaim,
		Via:      identity.ViaAgent, Parent: strings.Repeat("0", 32), Root: strings.Repeat("0", 32), Depth: 1, Budget: 1,
	}
}

// narrowedOf returns the senders and chats for whom one of the policies narrows the tools, at
// every trust level.
func narrowedOf(old, new *policy.Policy) (list []whose) {
	seen := map[whose]bool{}
	add := func(sender string, chat peer.ID, what string) {
		for _, t := range terms.TrustLevels {
			w := whose{t, sender, chat, string(t) + " " + what}
			if !seen[w] {
				seen[w] = true
				list = append(list, w)
			}
		}
	}
	for _, s := range sendersOf(old, new) {
		was, is := old.Sender(s.address), new.Sender(s.address)
		if was != nil && was.Tools != nil || is != nil && is.Tools != nil {
			add(s.address, "", s.name())
		}
	}
	for _, source := range platformsOf(old, new) {
		was, is := old.Platform(source), new.Platform(source)
		before, after, first := chatsOf(was), chatsOf(is), idsOf(is, was)[0]
		for _, id := range chatIDs(was, is) {
			from, to := before[id], after[id]
			if from != nil && from.Tools != nil || to != nil && to.Tools != nil {
				add(source+":"+string(first), id, fmt.Sprintf("in chat %s on %s", id, source))
			}
		}
	}
	return list
}

// call is what an effect would do with a tool.
type call struct {
	tool    string // empty: none is named
	args    string
	world   *world
	what    string
	actions []terms.Action
}

// machine returns what the call is judged by; nil: it is not looked at.
func (c *call) machine() tools.World {
	if c.world == nil {
		return nil
	}
	return c.world
}

func (c *call) candidate(w *whose, id *identity.Identity, a terms.Action, target []string) candidate {
	out := candidate{
		given: id, world: c.machine(), what: "effect of " + w.what, group: c.tool + c.args, odd: len(id.Labels),
		request: &request.Request{Action: a, Tool: c.tool, Target: target, Args: record.Value(c.args)},
	}
	for _, name := range id.Labels.Words() {
		out.what += " labelled " + name
	}
	if !id.Audience.None() {
		out.odd++
		out.what += ", seen by " + id.Audience.String()
	}
	if c.tool == "" {
		out.group = w.what
	} else {
		out.what += ": " + c.tool + c.what
	}
	if target != nil {
		out.what += " to " + strings.Join(target, ", ")
	}
	return out
}

// calls returns the calls that the policies judge differently for some of the people, after
// the one that names no tool. A tool that both judge alike shows nothing that an effect
// without a tool does not show: it can only make both stricter, and by the same.
func (s *search) calls(people []whose) ([]call, error) {
	all := terms.Actions
	list := []call{{actions: all}}
	if !differentTools(s.old, s.new) {
		return s.withDraft(list), nil
	}
	names, err := toolsOf(s.old, s.new)
	if err != nil {
		return nil, err
	}
	spots, err := spotsOf(s.old, s.new)
	if err != nil {
		return nil, err
	}
	old, new, targets := open(s.old), open(s.new), targetsOf(s.old, s.new)
	judges := judgesAmong(people)
	for _, name := range names {
		some, err := callsOf(s.old, s.new, name, spots)
		if err != nil {
			return nil, err
		}
		for _, c := range some {
			if s.looked += len(all) * len(judges) * (1 + len(s.old.Flow) + len(s.new.Flow)); s.looked > maxRecords {
				return nil, errTooMany
			}
			if c.actions = all; !c.differs(old, new, judges) {
				c.actions = nil
				if name == tools.Draft && len(targets) > 1 { // its targets are judged whatever its action is
					c.actions = []terms.Action{terms.WriteLocal}
				}
			}
			if c.actions != nil {
				list = append(list, c)
			}
		}
	}
	return s.withDraft(list), nil
}

// withDraft adds a call of the one tool whose targets are judged whatever its action is, unless there
// is one.
func (s *search) withDraft(list []call) []call {
	known := slices.ContainsFunc(list, func(c call) bool { return c.tool == tools.Draft })
	if len(targetsOf(s.old, s.new)) > 1 && !known {
		list = append(list, call{tool: tools.Draft, actions: []terms.Action{terms.WriteLocal}})
	}
	return list
}

// open returns the policy with every row of the matrix open, so that nothing but the rules
// for tools decides.
func open(p *policy.Policy) *policy.Policy {
	all := policy.Row{}
	for _, a := range terms.Actions {
		all[a] = terms.Allow
	}
	out := *p
	out.Matrix = map[terms.Trust]policy.Row{}
	for _, t := range terms.TrustLevels {
		out.Matrix[t] = all
	}
	out.Senders = slices.Clone(p.Senders)
	for i := range out.Senders {
		out.Senders[i].Row = all
	}
	out.Outbound.Restricted = false
	return &out
}

// judgesAmong returns those of the people whom rules for tools can tell apart: an owner,
// another, and each for whom tools are narrowed.
func judgesAmong(people []whose) (list []whose) {
	seen := map[string]bool{}
	for _, w := range people {
		key := fmt.Sprint(tools.Owner(w.trust), w.sender, w.chat)
		if w.trust == terms.Unknown || w.trust == terms.System {
			key = fmt.Sprint(tools.Owner(w.trust))
		}
		if !seen[key] {
			seen[key] = true
			list = append(list, w)
		}
	}
	return list
}

// differs reports whether the policies judge the call differently, for one of the people.
func (c *call) differs(old, new *policy.Policy, people []whose) bool {
	if c.tool != "" && tools.Action(old, c.tool) != tools.Action(new, c.tool) {
		return true
	}
	for _, a := range terms.Actions {
		if !slices.Equal(tools.Labels(old, c.tool, a), tools.Labels(new, c.tool, a)) {
			return true
		}
	}
	for i := range people {
		for _, id := range people[i].labelled(old, new) {
			for _, a := range terms.Actions {
				it := c.candidate(&people[i], id, a, []string{"someone@example.com"})
				if it.answer(old) != it.answer(new) {
					return true
				}
			}
		}
	}
	return false
}
