package identity

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pulse/lib/envelope"
	"pulse/lib/policy"
	"pulse/lib/terms"
)

// platform returns the identity of a message on a chat platform that the policy
// declares: its server vouches for the sender's number, so nothing of the header
// is looked at. What the platform says of names never counts.
func platform(m *envelope.Message, p *policy.Policy, pl *policy.Platform) Identity {
	id := Identity{Trust: terms.Unknown, Stale: late(m, p.MaxAge)}
	found := finding{reason: PlatformNoSender}
	if s := m.Sender; s != nil && s.ID != 0 {
		id.Sender = platformSender(pl.Source, s.ID)
		id.Verified, id.Automatic = !s.Bot, s.Bot
		id.Trust, found = member(pl, s)
	}
	if found.detail == "" {
		found.detail = pl.Source
	}
	id.Reason, id.Why = found.reason, found.reason.sentence(found.detail)
	return id
}

// late is stale for a message without a Date.
func late(m *envelope.Message, limit time.Duration) bool {
	return limit != 0 && (m.Fetched.IsZero() || m.Received.IsZero() || apart(m.Fetched, m.Received) > limit)
}

// platformSender names a sender the way identity.sender does: source and number.
func platformSender(source string, id int64) string { return fmt.Sprintf("%s:%d", source, id) }

// member decides how far a sender is trusted. An owner always passes; everybody
// else is held to the rules of the chat.
func member(pl *policy.Platform, s *envelope.Sender) (terms.Trust, finding) {
	switch {
	case s.Bot:
		return terms.Unknown, finding{reason: PlatformBot}
	case slices.Contains(pl.OwnerIDs, s.ID):
		return terms.OwnerVerifiedEmail, finding{reason: AuthenticatedOwner}
	}
	listed := slices.Contains(pl.AllowedIDs, s.ID)
	if s.Chat != 0 && s.Chat != s.ID {
		chat := chatOf(pl, s.Chat)
		switch {
		case chat == nil || !chat.Enabled:
			return terms.Unknown, finding{PlatformChat, fmt.Sprint(s.Chat)}
		case chat.RequireMention && !s.Mentioned:
			return terms.Unknown, finding{reason: PlatformNotMentioned}
		}
		listed = listed || chat.OpenGroup || slices.Contains(chat.AllowedSenders, s.ID)
	}
	if !listed {
		return terms.Unknown, finding{reason: AuthenticatedUnlisted}
	}
	return terms.ExternalVerified, finding{reason: AuthenticatedExternal}
}

func chatOf(pl *policy.Platform, id int64) *policy.Chat {
	for i := range pl.Chats {
		if pl.Chats[i].ID == id {
			return &pl.Chats[i]
		}
	}
	return nil
}

// onPlatform reports whether a sender that platform named still is what trust
// says under the policy; ok is false for a sender no platform named.
func onPlatform(p *policy.Policy, sender string, t terms.Trust) (still, ok bool) {
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
		// The chat is not known here any more: any in which he may ask will do.
		return slices.ContainsFunc(pl.AllowedIDs, is) || slices.ContainsFunc(pl.Chats, func(c policy.Chat) bool {
			return c.Enabled && (c.OpenGroup || slices.ContainsFunc(c.AllowedSenders, is))
		}), true
	}
	return false, false
}
