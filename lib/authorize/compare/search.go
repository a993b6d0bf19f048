package compare

import (
	"cmp"
	"errors"
	"slices"

	"pulse/lib/authorize/decision"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

// maxRecords bounds how many records are decided, so that two policies that are made to
// take long do not. Under a long policy a decision counts for several.
const maxRecords = 300_000

// weight says how many decisions one counts for.
func weight(old, new *policy.Policy) int {
	n := 0
	for _, p := range []*policy.Policy{old, new} {
		n += 5*len(p.Senders) + len(p.AuthservIDs) + len(p.Receivers) + len(p.ActionRules) + len(p.Platforms)
		n += (len(p.Owners) + len(p.AllowedExternal) + len(p.Tools.Allow) + len(p.Tools.Deny)) / 10
		n += (len(p.Tools.Level) + len(p.Tools.Action) + len(p.Tools.Paths) + len(p.Exec.Allow) + len(p.Exec.Write)) / 10
		n += len(flowEntries(p)) / 10
		for i := range p.Receivers {
			n += len(p.Receivers[i].AuthservIDs)
		}
		for i := range p.Platforms {
			pl := &p.Platforms[i]
			n += len(pl.Chats) + (len(pl.OwnerIDs)+len(pl.AllowedIDs))/500
			for j := range pl.Chats {
				n += len(pl.Chats[j].AllowedSenders) / 500
			}
		}
	}
	return 1 + n/20
}

var errTooMany = errors.New("there are too many combinations")

// search decides candidates under both policies and keeps those that are decided otherwise.
type search struct {
	old, new *policy.Policy
	looked   int
	weight   int
	found    map[kind]*found
	causes   map[parting]key
	unlike   bool // a source of mail has another receiver
	follower *Follower
	unknown  error // why the effects of workers were not compared
}

func newSearch(old, new *policy.Policy) *search {
	return &search{
		old: old, new: new, weight: weight(old, new),
		found: map[kind]*found{}, causes: map[parting]key{}, follower: NewFollower(old, new),
	}
}

// kind is what records have in common of which one is enough: the group, what differs, and
// how each policy decides, by which rule and for which reason.
type kind struct {
	group    string
	was, is  verdict
	who, now identity.Reason
}

type verdict struct {
	decision.Aspect
	action terms.Action
	rule   string
	reason decision.Reason
}

func verdictOf(a decision.Aspect, f *decision.Follows) verdict {
	return verdict{a, f.Action, f.Rule, f.Reason}
}

// found is the smallest record of a kind.
type found struct {
	candidate
	was, is verdict
	change  Change
	record  []byte
}

// asked are the requests that a message may carry: none, and one for each action.
var asked = func() []*request.Request {
	list := []*request.Request{nil}
	for _, a := range terms.Actions {
		list = append(list, &request.Request{Action: a})
	}
	return list
}()

// message looks at a message, with each of the requests that it may carry.
func (s *search) message(c candidate) {
	was, is := c.identity(s.old), c.identity(s.new)
	for _, r := range asked {
		c := c
		c.request = r
		s.compare(&c, &was, &is)
	}
}

// one looks at a record whose identity is given.
func (s *search) one(c candidate) { s.compare(&c, c.given, c.given) }

func (s *search) compare(c *candidate, was, is *identity.Identity) {
	s.looked += s.weight
	before, after := c.follow(s.old, was), c.follow(s.new, is)
	changes, err := s.follower.Changes(&before, &after)
	if s.unknown == nil {
		s.unknown = err
	}
	for _, change := range changes {
		k := kind{c.group, verdictOf(change.Old, &before), verdictOf(change.New, &after), was.Reason, is.Reason}
		if f := s.found[k]; f == nil || cmp.Or(c.rank()-f.rank(), c.odd-f.odd, c.size()-f.size()) < 0 {
			s.found[k] = &found{candidate: *c, was: k.was, is: k.is, change: change}
		}
	}
}

// enough returns an error once too many records were looked at.
func (s *search) enough() error {
	if s.looked > maxRecords {
		return errTooMany
	}
	return nil
}

// rank orders witnesses: mail as it comes first, then what asks for an action in so many
// words, then effects, and last what only a queue knows.
func (c *candidate) rank() int {
	switch {
	case c.message != nil && c.session:
		return 3
	case c.message != nil && c.request == nil:
		return 0
	case c.message != nil:
		return 1
	case c.given.Effect():
		return 2
	}
	return 4
}

// witnesses returns what was found, the smallest records first.
func (s *search) witnesses() []*found {
	list := make([]*found, 0, len(s.found))
	for _, f := range s.found {
		f.record = f.bytes(s.old, s.new)
		list = append(list, f)
	}
	slices.SortFunc(list, smaller)
	return list
}

func smaller(a, b *found) int {
	return cmp.Or(a.rank()-b.rank(), a.odd-b.odd, len(a.record)-len(b.record), slices.Compare(a.record, b.record))
}
