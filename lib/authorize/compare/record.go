package compare

import (
	"time"

	"pulse/lib/authorize/decision"
	"pulse/lib/authorize/tools"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
	"pulse/lib/shared/trace"
)

// fetched is when every message here arrived. No answer depends on a clock.
var fetched = time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)

// candidate is a record that the two policies may decide otherwise.
type candidate struct {
	message *envelope.Message  // nil: an effect, or an ask without one
	session bool               // the sender has a session
	given   *identity.Identity // of a record that pulse-classify does not judge by its message
	request *request.Request   // nil: none
	world   tools.World        // the machine; nil: it is not looked at
	what    string             // what it is, for people
	group   string             // records of one group differ by the same keys
	odd     int                // how many things about it are not usual
}

// identity returns what the record's sender is worth under a policy.
func (c *candidate) identity(p *policy.Policy) identity.Identity {
	if c.given != nil {
		return *c.given
	}
	if c.session {
		return identity.Classify(c.message, p, session(c.message))
	}
	return identity.Classify(c.message, p)
}

// session returns a session of whoever the message is from, proven by the highest level,
// so that it is valid under every policy that lists the sender as an owner.
func session(m *envelope.Message) approval.Session {
	return approval.Session{
		ID: "witness", Sender: m.From, Max: 1, Left: 1, Level: approval.Signature,
		Opened: m.Received.Add(-time.Hour), Expires: fetched.Add(time.Hour),
	}
}

// input is what a decision is made of under a policy, for a sender of that identity.
func (c *candidate) input(p *policy.Policy, id *identity.Identity) decision.Input {
	in := decision.Input{Identity: id, Request: c.request, Policy: p, World: c.world}
	if c.message != nil {
		in.Source, in.Recipients = c.message.Source, identity.Recipients(c.message)
	}
	return in
}

// follow returns what follows under a policy, for a sender of that identity.
func (c *candidate) follow(p *policy.Policy, id *identity.Identity) decision.Follows {
	in := c.input(p, id)
	return decision.Decide(in).Follow(&in)
}

// traces returns what the checks of the sender and those of the decision saw.
func (c *candidate) traces(p *policy.Policy) (who, decided []trace.Step) {
	var log trace.Log
	id := c.identity(p)
	if c.given == nil {
		var sessions []approval.Session
		if c.session {
			sessions = []approval.Session{session(c.message)}
		}
		id = identity.Trace(&log, c.message, p, sessions...)
	}
	who = log.Steps
	log.Steps = nil
	in := c.input(p, &id)
	in.Log = &log
	decision.Decide(in)
	return who, log.Steps
}

// answer is what is compared of a decision.
type answer struct {
	action  terms.Action
	outcome terms.Outcome
	flow    bool
}

// answer classifies and decides.
func (c *candidate) answer(p *policy.Policy) answer {
	id := c.identity(p)
	d := decision.Decide(c.input(p, &id))
	return answer{d.Action, d.Outcome, d.Flow}
}

// size is about how long the record is.
func (c *candidate) size() (n int) {
	if m := c.message; m != nil {
		n += len(m.Source)
		for i := range m.Headers {
			n += len(m.Headers[i].Name) + len(m.Headers[i].Value)
		}
	}
	if c.given != nil {
		n += len(c.given.Sender) + len(c.given.Trust)
	}
	if r := c.request; r != nil {
		n += len(r.Action) + len(r.Tool) + len(r.Args)
		for _, t := range r.Target {
			n += len(t)
		}
	}
	return n
}

// bytes returns the record. What pulse-classify finds out about its message is left to
// pulse-classify. A session is not: it is in a queue, so the identity says that it was there.
func (c *candidate) bytes(old, new *policy.Policy) []byte {
	var o record.Object
	if c.message != nil {
		o.Raw(envelope.Member, c.message.Append(nil))
	}
	if c.message == nil || c.session {
		id := c.identity(new)
		if was := c.identity(old); c.session && id.Session == "" {
			id = was
		}
		o.Raw(identity.Member, id.Append(nil))
	}
	if c.request != nil {
		o.Raw(request.Member, requestBytes(c.request))
	}
	return o.Bytes()
}

func requestBytes(r *request.Request) []byte {
	var o record.Object
	o.Str("action", string(r.Action))
	o.StrIf("tool", r.Tool)
	if r.Target != nil {
		o.Strs("target", r.Target)
	}
	if r.Args != "" {
		o.Raw("args", []byte(r.Args))
	}
	return o.Bytes()
}
