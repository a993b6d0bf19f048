package compare

import (
	"slices"
	"strings"

	"pulse/lib/classify/identity"
	"pulse/lib/shared/peer"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

// whose is a sender as the queue knows one: of a trust level, perhaps with a row of its own
// or in a chat.
type whose struct {
	trust  terms.Trust
	sender string
	chat   peer.ID
	what   string
}

// peopleOf returns a sender for each row of both policies.
func peopleOf(old, new *policy.Policy) (list []whose) {
	senders := sendersOf(old, new)
	for _, t := range terms.TrustLevels {
		list = append(list, whose{trust: t, sender: typical(t, old, new), what: string(t)})
		if t != terms.OwnerVerifiedEmail && t != terms.ExternalVerified {
			continue
		}
		for _, s := range senders {
			if s.row && (s.owner && t == terms.OwnerVerifiedEmail || s.external && t == terms.ExternalVerified || !s.owner && !s.external) {
				list = append(list, whose{trust: t, sender: s.address, what: string(t) + " " + s.name()})
			}
		}
	}
	return list
}

// typical returns a sender of a trust level without a row, and one on a list if there is
// any.
func typical(t terms.Trust, old, new *policy.Policy) string {
	var list []string
	switch t {
	case terms.System:
		return "user"
	case terms.ExternalVerified:
		list = slices.Concat(new.AllowedExternal, old.AllowedExternal)
	case terms.OwnerClaim, terms.OwnerVerifiedEmail, terms.ApprovedSession:
		list = slices.Concat(new.Owners, old.Owners)
	}
	for _, a := range list {
		if strings.HasPrefix(a, "@") {
			a = "someone" + a
		}
		if old.Sender(a) == nil && new.Sender(a) == nil {
			return a
		}
	}
	return stranger
}

// given looks at asks whose sender is known already: by a queue, a session or submit.
func (s *search) given() error {
	for _, w := range peopleOf(s.old, s.new) {
		id := identity.Identity{Sender: w.sender, Trust: w.trust, Verified: w.trust != terms.Unknown && w.trust != terms.OwnerClaim}
		if w.trust == terms.System {
			id.Via = identity.ViaSubmit
		}
		for _, a := range terms.Actions {
			s.one(candidate{given: &id, request: &request.Request{Action: a}, what: "ask of " + w.what, group: w.what})
		}
	}
	return nil
}
