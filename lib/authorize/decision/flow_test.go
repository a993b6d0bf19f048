package decision

import (
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/authorize/tools"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/audience"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

var (
	readIt  = label.Set{{Label: label.Private, By: "fs.read", Task: "9f86d081884c7d659a2feaa0c55ad015", At: time.Unix(1, 0)}}
	flowing = map[label.Label]policy.Flow{
		label.Private:   {Confirm: []string{"read_public", "external_send"}, Deny: []string{"web.search", "destructive"}},
		label.Untrusted: {Confirm: []string{"write_local", "calendar.*"}, Deny: []string{"exec"}},
	}
)

func TestFlow(t *testing.T) {
	const system, owner, external = terms.System, terms.OwnerVerifiedEmail, terms.ExternalVerified
	send := []string{"bob@partner.example"}
	const argv = `{"argv":["/bin/x"],"dir":"/srv"}`
	for _, c := range []struct {
		trust  terms.Trust
		labels label.Set
		r      request.Request
		want   string
	}{
		{system, nil, request.Request{Action: terms.ReadPublic, Tool: "web.fetch"}, "allow allowed"},
		{system, readIt, request.Request{Action: terms.ReadPublic, Tool: "web.fetch"}, "require_owner_confirmation flow_private flow.private.confirm"},
		{system, readIt, request.Request{Action: terms.ReadPublic}, "require_owner_confirmation flow_private flow.private.confirm"},
		{system, readIt, request.Request{Action: terms.WriteLocal, Tool: "web.fetch"}, "require_owner_confirmation flow_private flow.private.confirm"},
		{system, readIt, request.Request{Action: terms.ReadPublic, Tool: "web.search"}, "reject flow_private flow.private.deny"},
		{system, readIt, request.Request{Action: terms.ReadPrivate, Tool: "mail.read"}, "allow allowed"},
		{system, readIt, request.Request{Action: terms.Destructive, Target: send}, "reject flow_private flow.private.deny"}, // though a person is needed anyway
		{system, readIt, request.Request{Action: terms.ExternalSend, Target: send}, "require_owner_confirmation effect_needs_person"},
		{system, readIt, request.Request{Action: terms.ExternalSend}, "reject no_target"},
		{owner, readIt, request.Request{Action: terms.ReadPrivate, Tool: "web.search"}, "reject not_permitted"},
		// a level that is not an owner's has the label whatever the pipe says
		{external, nil, request.Request{Action: terms.CodeOrComputer, Args: argv}, "reject flow_untrusted flow.untrusted.deny"},
		{external, nil, request.Request{Action: terms.WriteLocal}, "queue_for_review needs_review"},
		{external, readIt, request.Request{Action: terms.ReadPublic, Tool: "web.search"}, "reject flow_private flow.private.deny"},
		{external, nil, request.Request{Action: terms.ReadPublic}, "allow allowed"},
		{system, label.Set{{Label: label.Untrusted}}, request.Request{Action: terms.CodeOrComputer, Args: argv}, "reject flow_untrusted flow.untrusted.deny"},
		{system, label.Set{{Label: label.Untrusted}}, request.Request{Action: terms.ReadPrivate, Tool: "calendar.read"}, "require_owner_confirmation flow_untrusted flow.untrusted.confirm"},
		{system, label.Set{{Label: label.Untrusted}}, request.Request{Action: terms.WriteLocal, Tool: "mail.draft", Target: send}, "require_owner_confirmation flow_untrusted flow.untrusted.confirm"},
		// what the queue carries out itself
		{system, label.Set{{Label: label.Untrusted}}, request.Request{Action: terms.WriteLocal, Tool: "task.note"}, "allow allowed"},
		{system, label.Set{{Label: label.Untrusted}}, request.Request{Action: terms.WriteLocal, Tool: "task.close"}, "allow allowed"},
		{system, label.Set{{Label: label.Untrusted}}, request.Request{Action: terms.WriteLocal, Tool: "draft", Target: send}, "allow allowed"},
		{system, label.Set{{Label: label.Untrusted}}, request.Request{Action: terms.WriteLocal, Tool: "task.other"}, "require_owner_confirmation flow_untrusted flow.untrusted.confirm"},
	} {
		p := policy.Default()
		p.Flow, p.Exec.Mode, p.Tools.Profile = flowing, "full", "full"
		id := identity.Identity{Trust: c.trust, Via: identity.ViaAgent, Labels: c.labels}
		d := Decide(Input{Identity: &id, Request: &c.r, Policy: p})
		if got := fmt.Sprintf("%s %s %s", d.Outcome, d.Reason, d.Rule); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s %v %+v: %s (%s), want %s", c.trust, c.labels, c.r, got, d.Why, c.want)
		}
		if strings.Contains(c.want, "flow_private") && !strings.Contains(d.Why, "labelled private (fs.read in 9f86d081884c7d659a2feaa0c55ad015)") {
			t.Errorf("why: %s", d.Why)
		}
	}
}

// TestFlowAudience: private does not count for a message that goes to those alone who have seen
// all of it, and counts for whatever may reach anyone else.
func TestFlowAudience(t *testing.T) {
	const deny, ask = "reject flow_private", "require_owner_confirmation"
	mine, both := []string{"ME@example.com"}, []string{"me@example.com", "bob@partner.example"}
	seen := audience.Of("me@example.com", "bob@partner.example")
	for _, c := range []struct {
		seen audience.Audience
		r    request.Request
		bind terms.Action // of the tool, besides
		want string
	}{
		{seen, request.Request{Action: terms.ExternalSend, Target: mine}, "", ask},
		{seen, request.Request{Action: terms.ExternalSend, Tool: "mail.send", Target: mine}, "", ask},
		{seen, request.Request{Action: terms.WriteLocal, Tool: "mail.draft", Target: mine}, "", "allow"},
		{audience.Anyone, request.Request{Action: terms.ExternalSend, Target: mine}, "", ask},
		{audience.Anyone, request.Request{Action: terms.ExternalSend, Target: both}, "", deny}, // what is private is for the owners
		{seen, request.Request{Action: terms.ExternalSend, Target: both}, "", deny},
		{audience.Audience{}, request.Request{Action: terms.ExternalSend, Target: mine}, "", deny},
		{audience.Of("bob@partner.example"), request.Request{Action: terms.ExternalSend, Target: mine}, "", deny},
		{seen, request.Request{Action: terms.ExternalSend, Tool: "mail.send", Target: mine}, terms.ReadPublic, deny},
		{seen, request.Request{Action: terms.ExternalSend, Tool: "mail.reply", Target: mine}, terms.ExternalSend, deny}, // what its arguments reach, nobody knows
		{seen, request.Request{Action: terms.ReadPublic, Tool: "web.fetch", Target: mine}, "", deny},
		{seen, request.Request{Action: terms.ExternalSend, Tool: "web.fetch", Target: mine}, "", deny},
		{seen, request.Request{Action: terms.ReadPublic, Target: mine}, "", deny},
		{seen, request.Request{Action: terms.Destructive, Target: mine}, "", deny},
		{seen, request.Request{Action: terms.WriteLocal, Tool: "mail.draft"}, "", deny},
		{seen, request.Request{Action: terms.WriteLocal, Tool: "fs.write", Target: mine, Args: `{"path":"x"}`}, "", deny},
	} {
		p := policy.Default()
		p.Owners, p.Exec.Mode, p.Exec.Workspace, p.Tools.Profile = []string{"me@example.com", "you@example.com"}, "full", "/srv", "full"
		p.Flow = map[label.Label]policy.Flow{label.Private: {Deny: []string{"external_send", "read_public", "destructive", "mail.draft", "fs.write"}}}
		if c.bind != "" {
			p.Tools.Action = map[string]terms.Action{c.r.Tool: c.bind}
		}
		id := identity.Identity{Trust: terms.System, Via: identity.ViaAgent, Labels: readIt, Audience: c.seen}
		in := Input{Identity: &id, Request: &c.r, Policy: p, World: anywhere{}}
		d := Decide(in)
		if got := fmt.Sprintf("%s %s", d.Outcome, d.Reason); !strings.HasPrefix(got, c.want) {
			t.Errorf("%v %+v: %s (%s), want %s", c.seen, c.r, got, d.Why, c.want)
		}
		p.Flow[label.Private] = policy.Flow{Confirm: p.Flow[label.Private].Deny}
		if d := Decide(in); d.Flow != (c.want == deny) {
			t.Errorf("%v %+v: a grant may be its yes: %t", c.seen, c.r, !d.Flow)
		}
	}
}

// TestFlowPatterns: a pattern that matches a tool of the queue counts for it.
func TestFlowPatterns(t *testing.T) {
	p := policy.Default()
	p.Flow = map[label.Label]policy.Flow{label.Private: {Confirm: []string{"task.*"}}}
	id := identity.Identity{Trust: terms.System, Via: identity.ViaAgent, Labels: readIt}
	d := Decide(Input{Identity: &id, Request: &request.Request{Action: terms.WriteLocal, Tool: "task.note"}, Policy: p})
	if d.Outcome != terms.Confirm {
		t.Errorf("%+v", d)
	}
}

// TestFlowIsForEffects: an ask is what a person wants, and what it may lead to are effects.
func TestFlowIsForEffects(t *testing.T) {
	p := policy.Default()
	p.Flow = map[label.Label]policy.Flow{label.Private: {Deny: []string{"read_public"}}, label.Untrusted: {Deny: []string{"read_public"}}}
	id := identity.Identity{Trust: terms.ExternalVerified, Labels: readIt}
	if d := Decide(Input{Identity: &id, Policy: p}); d.Outcome != terms.Allow {
		t.Errorf("%+v", d)
	}
}

// TestFlowOnlyTightens: a label more, an entry more, or an entry that moves from confirm to
// deny never lets anything go further. Without [flow], labels change nothing.
func TestFlowOnlyTightens(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	entries := append([]string{"*", "fs.*", "web.*", "exec", "task.*", "mail.draft", "p*y"}, words(terms.Actions)...)
	toolNames := []string{"", "", "fs.read", "fs.write", "web.fetch", "task.note", "draft", "mail.draft", "exec", "pay"}
	rank := func(d Decision) int { return slices.Index(terms.Outcomes, d.Outcome) }
	some := func() (list []string) {
		for range r.Intn(3) {
			list = append(list, entries[r.Intn(len(entries))])
		}
		return list
	}
	changed := 0
	for range 20_000 {
		p := policy.Default()
		p.Tools.Profile, p.Exec.Workspace, p.Exec.Mode = "full", "/srv", "full"
		id := identity.Identity{Trust: terms.TrustLevels[r.Intn(6)], Via: identity.ViaAgent, Automatic: r.Intn(9) == 0, Bulk: r.Intn(9) == 0}
		req := request.Request{Action: terms.Actions[r.Intn(6)], Tool: toolNames[r.Intn(len(toolNames))], Target: []string{"a@b.example"}, Args: `{"path":"x"}`}
		in := Input{Identity: &id, Request: &req, Policy: p, World: anywhere{}}
		if r.Intn(2) == 0 {
			id.Labels = readIt
		}
		if r.Intn(2) == 0 {
			p.Owners, id.Audience = []string{"a@b.example"}, audience.Anyone
		}
		bare := Decide(in)
		p.Flow = map[label.Label]policy.Flow{label.Private: {Confirm: some(), Deny: some()}, label.Untrusted: {Confirm: some(), Deny: some()}}
		before := Decide(in)
		tighter := *p
		tighter.Flow = map[label.Label]policy.Flow{label.Private: p.Flow[label.Private], label.Untrusted: p.Flow[label.Untrusted]}
		l := label.All[r.Intn(2)]
		f := tighter.Flow[l]
		switch entry := entries[r.Intn(len(entries))]; r.Intn(3) {
		case 0:
			f.Confirm = append(slices.Clip(f.Confirm), entry)
		case 1:
			f.Deny = append(slices.Clip(f.Deny), entry)
		default:
			f.Confirm, f.Deny = nil, append(slices.Clip(f.Deny), f.Confirm...)
		}
		tighter.Flow[l] = f
		in.Policy = &tighter
		entry := Decide(in)
		in.Policy = p
		id.Labels, _ = id.Labels.With(label.Use{Label: label.All[r.Intn(2)]})
		labelled := Decide(in)
		id.Audience = id.Audience.Intersect(audience.Of("b@b.example"))
		narrowed := Decide(in)
		if rank(before) < rank(bare) || rank(entry) < rank(before) || rank(labelled) < rank(before) || rank(narrowed) < rank(labelled) {
			t.Fatalf("%+v %+v under %+v:\n%+v\n%+v\n%+v with an entry (%+v)\n%+v with a label\n%+v narrowed",
				id, req, p.Flow, bare, before, entry, tighter.Flow, labelled, narrowed)
		}
		if p.Flow = nil; !reflect.DeepEqual(Decide(in), bare) {
			t.Fatalf("without [flow]: %+v, %+v", Decide(in), bare)
		}
		if rank(before)+rank(entry)+rank(labelled) > 3*rank(bare) {
			changed++
		}
	}
	if changed < 1000 {
		t.Errorf("[flow] made a difference %d times", changed)
	}
}

// anywhere is a World in which every path is good.
type anywhere struct{}

func (anywhere) Path(_, _ string) (tools.Place, error) { return tools.Place{}, nil }
func (anywhere) Dir(_, _ string) error                 { return nil }
func (anywhere) Program(string) (tools.Program, error) { return tools.Program{}, nil }
