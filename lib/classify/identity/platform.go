package identity

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// platform returns the identity of a message on a chat platform that the policy
// declares. The platform's server vouches for the sender's number, so the header is
// not looked at. What the platform says about names never counts.
func platform(m *envelope.Message, p *policy.Policy, pl *policy.Platform) Identity {
	id := Identity{Trust: terms.Unknown, Stale: late(m, p.MaxAge)}
	found := finding{reason: platformNoSender}
	if s := m.Sender; s != nil && s.ID != 0 {
		id.Sender = platformSender(pl.Source, s.ID)
		id.Verified, id.Automatic = !s.Bot, s.Bot
		id.Trust, found = member(pl, s)
		if s.Chat != s.ID {
			id.Chat = s.Chat
		}
	}
	if found.detail == "" {
		found.detail = pl.Source
	}
	id.Reason, id.Why = found.reason, found.reason.sentence(found.detail)
	return id
}

// late is what stale is, for a message without a Date field.
func late(m *envelope.Message, limit time.Duration) bool {
	return limit != 0 && (m.Fetched.IsZero() || m.Received.IsZero() || apart(m.Fetched, m.Received) > limit)
}

// platformSender returns a sender as identity.sender names it: source and number.
func platformSender(source string, id int64) string { return fmt.Sprintf("%s:%d", source, id) }

// member decides how far a sender is trusted. An owner always passes; any other sender
// is subject to the rules of the chat.
func member(pl *policy.Platform, s *envelope.Sender) (terms.Trust, finding) {
	switch {
	case s.Bot:
		return terms.Unknown, finding{reason: platformBot}
	case slices.Contains(pl.OwnerIDs, s.ID):
		return terms.OwnerVerifiedEmail, finding{reason: AuthenticatedOwner}
	}
	listed := slices.Contains(pl.AllowedIDs, s.ID)
	if s.Chat != 0 && s.Chat != s.ID {
		chat := pl.Chat(s.Chat)
		switch {
		case chat == nil || !chat.Enabled:
			return terms.Unknown, finding{platformChat, fmt.Sprint(s.Chat)}
		case chat.RequireMention && !s.Mentioned:
			return terms.Unknown, finding{reason: platformNotMentioned}
		}
		listed = listed || chat.OpenGroup || slices.Contains(chat.AllowedSenders, s.ID)
	}
	if !listed {
		return terms.Unknown, finding{reason: authenticatedUnlisted}
	}
	return terms.ExternalVerified, finding{reason: authenticatedExternal}
}

// onPlatform reports whether a sender named by platform, in a chat or 0, is still worth
// the trust t under the policy. ok is false for a sender that no platform of the policy
// names.
func onPlatform(p *policy.Policy, sender string, chat int64, t terms.Trust) (still, ok bool) {
	for i := range p.Platforms {
		pl := &p.Platforms[i]
		if pl.Webhook() && sender == pl.Source {
			return pl.Trust == t, true
		}
		number, found := strings.CutPrefix(sender, pl.Source+":")
		if !found {
			continue
		}
		is := func(id int64) bool { return fmt.Sprint(id) == number }
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
		if chat != 0 {
			c := pl.Chat(chat)
			return c != nil && may(*c), true
		}
		// A record can be older than identity.chat. Any chat in which the sender may ask will do.
		return listed || slices.ContainsFunc(pl.Chats, may), true
	}
	return false, false
}
