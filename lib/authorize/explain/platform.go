package explain

import (
	"slices"
	"strconv"
	"strings"

	"pulse/lib/shared/envelope"
	"pulse/lib/shared/peer"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// The changes of [[platform]].

// platformOf returns which [[platform]] declares the message's source, or -1.
func platformOf(s *Subject) int {
	return slices.IndexFunc(s.Policy.Platforms, func(pl policy.Platform) bool {
		return s.Message != nil && pl.Source == s.Message.Source
	})
}

// withPlatform changes the nth [[platform]].
func withPlatform(nth int, set func(*policy.Platform), edits ...Edit) Change {
	return change("", func(p *policy.Policy) {
		p.Platforms = slices.Clone(p.Platforms)
		pl := &p.Platforms[nth]
		pl.Chats = slices.Clone(pl.Chats)
		set(pl)
		if pl.Webhook() && (pl.OwnerIDs != nil || pl.AllowedIDs != nil || pl.Chats != nil) {
			pl.Trust = ""
		}
	}, edits...)
}

// chat lets people of a platform ask: in the chat where they wrote, or anywhere.
func chat(s *Subject, _ *answer) (list []Change) {
	nth := platformOf(s)
	if nth < 0 || !named(s.Message) {
		return webhook(s, nth)
	}
	pl, from := &s.Policy.Platforms[nth], s.Message.Sender
	if pl.Trust != "" && s.Policy.Line("platform.trust", nth) != 0 {
		return nil // ids beside it would be no policy
	}
	if from.Chat != "" && from.Chat != from.ID {
		list = inChat(s, nth)
	}
	if !slices.Contains(pl.AllowedIDs, from.ID) {
		more := with(pl.AllowedIDs, from.ID)
		list = append(list, withPlatform(nth, func(pl *policy.Platform) { pl.AllowedIDs = more },
			Edit{Table: "platform", Nth: nth, Key: "allowed_ids", Value: ids(more)}))
	}
	return list
}

// named reports whether the message's sender is trusted by an id.
func named(m *envelope.Message) bool {
	return m.Sender != nil && m.Sender.ID != "" && (m.Webhook == nil || m.Webhook.Scheme.Platform())
}

// inChat names, switches on or opens to the sender the chat that a message was written in.
func inChat(s *Subject, nth int) []Change {
	pl, from := &s.Policy.Platforms[nth], s.Message.Sender
	i := slices.IndexFunc(pl.Chats, func(c policy.Chat) bool { return c.ID == from.Chat })
	if i < 0 {
		added := policy.Chat{ID: from.Chat, Enabled: true, RequireMention: true}
		return []Change{withPlatform(nth, func(pl *policy.Platform) { pl.Chats = append(pl.Chats, added) },
			Edit{Table: "platform.chat", Nth: New, In: nth, Key: "id", Value: from.Chat.JSON()})}
	}
	at := Edit{Table: "platform.chat", Nth: i, In: nth}
	edit := func(key, value string, set func(*policy.Chat)) Change {
		e := at
		e.Key, e.Value = key, value
		return withPlatform(nth, func(pl *policy.Platform) { set(&pl.Chats[i]) }, e)
	}
	more := with(pl.Chats[i].AllowedSenders, from.ID)
	return []Change{
		edit("enabled", "true", func(c *policy.Chat) { c.Enabled = true }),
		edit("require_mention", "false", func(c *policy.Chat) { c.RequireMention = false }),
		edit("allowed_senders", ids(more), func(c *policy.Chat) { c.AllowedSenders = more }),
	}
}

// ids returns a list of ids as TOML.
func ids(list []peer.ID) string {
	texts := make([]string, len(list))
	for i, id := range list {
		texts[i] = id.JSON()
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// webhook declares the source of a request.
func webhook(s *Subject, nth int) []Change {
	if nth >= 0 || s.Message.Webhook == nil || !plain(s.Message.Source) {
		return nil
	}
	pl := policy.Platform{Source: s.Message.Source, Trust: terms.ExternalVerified}
	if !pl.Webhook() || pl.Source == policy.WebhookPrefix {
		return nil
	}
	risk, edits := "whoever has the secret of this source may ask", []Edit{{Table: "platform", Nth: New, Key: "source", Value: strconv.Quote(pl.Source)}}
	if named(s.Message) {
		risk, pl.Trust, pl.AllowedIDs = "", "", []peer.ID{s.Message.Sender.ID}
		edits = append(edits, Edit{Table: "platform", Nth: New, Key: "allowed_ids", Value: ids(pl.AllowedIDs)})
	}
	return []Change{change(risk, func(p *policy.Policy) { p.Platforms = with(p.Platforms, pl) }, edits...)}
}

// platformAction lets a source ask for an action.
func platformAction(s *Subject, a *answer) []Change {
	nth := platformOf(s)
	if nth < 0 || a.id.Effect() || !a.d.Action.Valid() || s.Policy.Platforms[nth].May(a.d.Action) {
		return nil
	}
	list := with(s.Policy.Platforms[nth].Actions, a.d.Action)
	return []Change{withPlatform(nth, func(pl *policy.Platform) { pl.Actions = list },
		Edit{Table: "platform", Nth: nth, Key: "actions", Value: array(list)})}
}

// toolOfChat lets effects of a chat use the tool.
func toolOfChat(s *Subject, a *answer) []Change {
	for nth := range s.Policy.Platforms {
		pl := &s.Policy.Platforms[nth]
		if !strings.HasPrefix(a.id.Sender, pl.Source+":") {
			continue
		}
		for i := range pl.Chats {
			if c := &pl.Chats[i]; c.ID == a.id.Chat && c.Tools != nil && !slices.Contains(c.Tools, s.Request.Tool) {
				list := with(c.Tools, s.Request.Tool)
				return []Change{withPlatform(nth, func(pl *policy.Platform) { pl.Chats[i].Tools = list },
					Edit{Table: "platform.chat", Nth: i, In: nth, Key: "tools.allow", Value: array(list)})}
			}
		}
	}
	return nil
}
