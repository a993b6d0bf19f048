package replay

import (
	"slices"
	"strings"

	"pulse/lib/authorize/decision"
	"pulse/lib/authorize/tools"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/address"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// Reached calls fn for each rule that a case comes by on the way to its answer: what
// would change if the rule were another. A rule may be reported more than once.
func (c *Case) Reached(p *policy.Policy, a *Answer, fn func(Rule)) {
	w := way{Case: c, p: p, a: a, reached: fn}
	w.sender()
	w.source()
	row, name := p.Row(a.Identity.Trust, a.Identity.Sender)
	o := row.Outcome(a.Decision.Action)
	switch a.Decision.Rule {
	case "action", "accept_automatic", "platform.actions":
		return // decided before the matrix
	}
	fn(cell(name, o, a.Decision.Action))
	if trust := a.Identity.Unchecked(p); trust != terms.Unknown && o == terms.Reject {
		row, name := p.Row(trust, a.Identity.Sender)
		fn(cell(name, row.Outcome(a.Decision.Action), a.Decision.Action))
	}
	if a.Identity.Effect() && o != terms.Reject && c.Request != nil {
		w.effect()
	}
}

// way is the way of a case through a policy.
type way struct {
	*Case
	p       *policy.Policy
	a       *Answer
	reached func(Rule)
}

// sender reports the entries of lists that name the sender.
func (w *way) sender() {
	who := &w.a.Identity
	names := func(key string, list []string) {
		for _, e := range list {
			if address.Listed([]string{e}, who.Sender) {
				w.reached(Rule{Key: key, Entry: e})
			}
		}
	}
	names("owners", w.p.Owners)
	if who.Trust == terms.ExternalVerified || who.Unchecked(w.p) == terms.ExternalVerified {
		names("allowed_external", w.p.AllowedExternal)
	}
	if who.Automatic {
		names("accept_automatic", w.p.AcceptAutomatic)
	}
	chats := 0
	for i := range w.p.Platforms {
		pl := &w.p.Platforms[i]
		if who.Sender == pl.Source || strings.HasPrefix(who.Sender, pl.Source+":") {
			w.reached(Rule{"platform", pl.Source, i})
			w.chat(pl, chats)
		}
		chats += len(pl.Chats)
	}
}

// chat reports the chat that the ask came from; before is how many the file has before
// those of the platform.
func (w *way) chat(pl *policy.Platform, before int) {
	for i := range pl.Chats {
		chat := &pl.Chats[i]
		if chat.ID != w.a.Identity.Chat {
			continue
		}
		w.reached(chatRule(chat, before+i))
		if w.Request == nil || !w.a.Identity.Effect() {
			continue
		}
		for _, glob := range chat.Tools {
			if policy.Match(glob, w.Request.Tool) {
				w.reached(chatTool(chat, before+i, glob))
			}
		}
	}
}

// source reports the rules that go by source and recipients of a message.
func (w *way) source() {
	if w.Message == nil {
		w.action("", nil)
		return
	}
	source, to := w.Message.Source, identity.Recipients(w.Message)
	for i := range w.p.Platforms {
		if w.p.Platforms[i].Source == source {
			w.reached(Rule{"platform", source, i})
		}
	}
	if i := slices.IndexFunc(w.p.Receivers, func(r policy.Receiver) bool { return policy.Match(r.Source, source) }); i >= 0 {
		w.reached(Rule{Key: "receiver", Nth: i})
	}
	for _, e := range w.p.Recipients {
		if slices.ContainsFunc(to, func(t string) bool { return address.Equal(e, t) }) {
			w.reached(Rule{Key: "recipients", Entry: e})
		}
	}
	w.action(source, to)
}

// action reports the rule that gives a record without a request its action.
func (w *way) action(source string, to []string) {
	if w.Request != nil {
		return
	}
	in := decision.Input{Policy: w.p, Source: source, Recipients: to}
	i := in.ActionRule()
	if i < 0 {
		w.reached(Rule{Key: "default_action", Entry: string(w.p.DefaultAction)})
		return
	}
	w.reached(Rule{Key: "action", Nth: i})
}

// effect reports the rules for targets and tools, as far as the effect gets.
func (w *way) effect() {
	for _, e := range w.p.Outbound.Allow {
		if slices.ContainsFunc(w.Request.Target, func(t string) bool { return address.Lets(e, w.p.Outbound.Form(t)) }) {
			w.reached(Rule{Key: "outbound.allow", Entry: e})
		}
	}
	switch w.a.Decision.Rule {
	case "effect.automatic", "outbound", "outbound.allow":
		return // decided before its tool
	}
	w.flow()
	tools.Reached(w.p, w.Request, func(key, glob string, nth int) { w.reached(Rule{key, glob, nth}) })
	if of := w.p.Sender(w.a.Identity.Sender); of != nil {
		for _, glob := range of.Tools {
			if policy.Match(glob, w.Request.Tool) {
				w.reached(Rule{Key: "matrix." + of.Name() + ".tools.allow", Entry: glob})
			}
		}
	}
	if w.a.Decision.Outcome != terms.Reject && w.Request.Tool != "" {
		row, name := w.p.Row(w.a.Identity.Trust, w.a.Identity.Sender)
		does := tools.Action(w.p, w.Request.Tool)
		w.reached(cell(name, row.Outcome(does), does))
	}
}

// flow reports the entries of [flow] about the effect.
func (w *way) flow() {
	about := func(key string, list []string) {
		for _, e := range list {
			if _, ok := tools.FlowEntry(w.p, []string{e}, w.Request, w.a.Decision.Action); ok {
				w.reached(Rule{Key: key, Entry: e})
			}
		}
	}
	for _, u := range decision.Counting(w.p, &w.a.Identity, w.Request, w.a.Decision.Action) {
		key := "flow." + string(u.Label)
		about(key+".confirm", w.p.Flow[u.Label].Confirm)
		about(key+".deny", w.p.Flow[u.Label].Deny)
	}
}
