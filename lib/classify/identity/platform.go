package identity

import (
	"slices"
	"strings"
	"time"

	"pulse/lib/shared/envelope"
	"pulse/lib/shared/peer"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
	"pulse/lib/shared/trace"
)

// platform returns the identity of a message on a chat platform that the policy
// declares. The platform's server vouches for the sender's id, so the header is
// not looked at. What the platform says about names never counts.
func platform(log *trace.Log, m *envelope.Message, p *policy.Policy, pl *policy.Platform) Identity {
	id := Identity{Trust: terms.Unknown, Stale: late(m, p.MaxAge)}
	v := visit{p: p, pl: pl, s: m.Sender}
	if v.s == nil {
		v.s = &envelope.Sender{}
	}
	if s := v.s; s.ID != "" {
		id.Sender = platformSender(pl.Source, s.ID)
		id.Verified, id.Automatic = !s.Bot, s.Bot
		if v.group() {
			id.Chat = s.Chat
		}
	}
	found := first(&v, log, visitChecks[:])
	switch found.reason {
	case AuthenticatedOwner:
		id.Trust = terms.OwnerVerifiedEmail
	case authenticatedExternal:
		id.Trust = terms.ExternalVerified
	}
	if found.detail == "" {
		found.detail = pl.Source
	}
	id.Reason, id.Why = found.reason, found.reason.sentence(found.detail)
	if log != nil {
		noteSource(log, m, p, &id)
	}
	return id
}

// visit is a message that a sender wrote in a chat.
type visit struct {
	p  *policy.Policy
	pl *policy.Platform
	s  *envelope.Sender
}

// visitChecks are made until one of them decides. An owner always passes; any other
// sender is subject to the rules of the chat.
var visitChecks = [...]check[*visit]{
	{"sender", (*visit).named, (*visit).sawSender, nil},
	{"owner_ids", (*visit).owner, (*visit).sawPlatform, nil},
	{"chat", (*visit).chat, (*visit).sawChat, (*visit).group},
	{"allowed_ids", (*visit).listed, (*visit).sawListed, nil},
}

// late is what stale is, for a message without a Date field. The request of a platform says
// when it was made, because the signatures of some cover no other time.
func late(m *envelope.Message, limit time.Duration) bool {
	old := func(t time.Time) bool { return m.Fetched.IsZero() || t.IsZero() || apart(m.Fetched, t) > limit }
	return limit != 0 && (old(m.Received) || m.Webhook != nil && m.Webhook.Scheme.Platform() && old(m.Webhook.Timestamp))
}

// platformSender returns a sender as identity.sender names it: source and id.
func platformSender(source string, id peer.ID) string { return source + ":" + string(id) }

// group reports whether the chat is one of several people.
func (v *visit) group() bool { return v.s.Chat != "" && v.s.Chat != v.s.ID }

func (v *visit) named() finding {
	switch {
	case v.s.ID == "":
		return finding{reason: platformNoSender}
	case v.s.Bot:
		return finding{reason: platformBot}
	}
	return finding{}
}

func (v *visit) owner() finding {
	if slices.Contains(v.pl.OwnerIDs, v.s.ID) {
		return finding{reason: AuthenticatedOwner}
	}
	return finding{}
}

func (v *visit) chat() finding {
	chat := v.pl.Chat(v.s.Chat)
	switch {
	case chat == nil || !chat.Enabled:
		return finding{platformChat, string(v.s.Chat)}
	case chat.RequireMention && !v.s.Mentioned:
		return finding{reason: platformNotMentioned}
	}
	return finding{}
}

func (v *visit) listed() finding {
	if slices.Contains(v.pl.AllowedIDs, v.s.ID) {
		return finding{reason: authenticatedExternal}
	}
	if chat := v.pl.Chat(v.s.Chat); v.group() && (chat.OpenGroup || slices.Contains(chat.AllowedSenders, v.s.ID)) {
		return finding{reason: authenticatedExternal}
	}
	return finding{reason: authenticatedUnlisted}
}

// onPlatform reports whether a sender named by platform, in a chat or none, is still worth
// the trust t under the policy. ok is false for a sender that no platform of the policy
// names.
func onPlatform(p *policy.Policy, sender string, chat peer.ID, t terms.Trust) (still, ok bool) {
	for i := range p.Platforms {
		pl := &p.Platforms[i]
		if pl.Webhook() && sender == pl.Source {
			return pl.Trust == t, true
		}
		id, found := strings.CutPrefix(sender, pl.Source+":")
		if !found {
			continue
		}
		is := func(o peer.ID) bool { return string(o) == id }
		if slices.ContainsFunc(pl.OwnerIDs, is) {
			return true, true
		}
		if t != terms.ExternalVerified {
			return false, true
		}
		listed := slices.ContainsFunc(pl.AllowedIDs, is)
		may := func(c policy.Chat) bool {
			return c.Enabled && (listed || c.OpenGroup || slices.ContainsFunc(c.AllowedSenders, is))
		}
		if chat != "" {
			c := pl.Chat(chat)
			return c != nil && may(*c), true
		}
		// A record can be older than identity.chat. Any chat in which the sender may ask will do.
		return listed || slices.ContainsFunc(pl.Chats, may), true
	}
	return false, false
}
