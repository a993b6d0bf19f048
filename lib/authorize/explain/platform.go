package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

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
func withPlatform(nth int, risk string, set func(*policy.Platform), edits ...Edit) Change {
	return change(risk, func(p *policy.Policy) {
		p.Platforms = slices.Clone(p.Platforms)
		pl := &p.Platforms[nth]
		pl.Chats = slices.Clone(pl.Chats)
		set(pl)
	}, edits...)
}

// chat lets people of a platform ask: in the chat where they wrote, or anywhere.
func chat(s *Subject, _ *answer) (list []Change) {
	nth := platformOf(s)
	if s.given() || nth < 0 || s.Message.Sender == nil || s.Message.Sender.ID == 0 {
		return webhook(s, nth)
	}
	pl, from := &s.Policy.Platforms[nth], s.Message.Sender
	if from.Chat != 0 && from.Chat != from.ID {
		list = inChat(s, nth)
	}
	if !slices.Contains(pl.AllowedIDs, from.ID) {
		ids := with(pl.AllowedIDs, from.ID)
		list = append(list, withPlatform(nth, "", func(pl *policy.Platform) { pl.AllowedIDs = ids },
			Edit{Table: "platform", Nth: nth, Key: "allowed_ids", Value: numbers(ids)}))
	}
	return list
}

// inChat names, switches on or opens to the sender the chat that a message was written in.
func inChat(s *Subject, nth int) []Change {
	pl, from := &s.Policy.Platforms[nth], s.Message.Sender
	i := slices.IndexFunc(pl.Chats, func(c policy.Chat) bool { return c.ID == from.Chat })
	if i < 0 {
		added := policy.Chat{ID: from.Chat, Enabled: true, RequireMention: true}
		return []Change{withPlatform(nth, "", func(pl *policy.Platform) { pl.Chats = append(pl.Chats, added) },
			Edit{Table: "platform.chat", Nth: New, In: nth, Key: "id", Value: strconv.FormatInt(from.Chat, 10)})}
	}
	at := Edit{Table: "platform.chat", Nth: i, In: nth}
	edit := func(key, value string, set func(*policy.Chat)) Change {
		e := at
		e.Key, e.Value = key, value
		return withPlatform(nth, "", func(pl *policy.Platform) { set(&pl.Chats[i]) }, e)
	}
	ids := with(pl.Chats[i].AllowedSenders, from.ID)
	return []Change{
		edit("enabled", "true", func(c *policy.Chat) { c.Enabled = true }),
		edit("require_mention", "false", func(c *policy.Chat) { c.RequireMention = false }),
		edit("allowed_senders", numbers(ids), func(c *policy.Chat) { c.AllowedSenders = ids }),
	}
}

func numbers(list []int64) string { return strings.ReplaceAll(fmt.Sprint(list), " ", ", ") }

// webhook declares the source of a request.
func webhook(s *Subject, nth int) []Change {
	if s.given() || nth >= 0 || s.Message.Webhook == nil || !plain(s.Message.Source) {
		return nil
	}
	pl := policy.Platform{Source: s.Message.Source, Trust: terms.ExternalVerified}
	if !pl.Webhook() || pl.Source == policy.WebhookPrefix {
		return nil
	}
	return []Change{change("whoever has the secret of this source may ask", func(p *policy.Policy) { p.Platforms = with(p.Platforms, pl) },
		Edit{Table: "platform", Nth: New, Key: "source", Value: strconv.Quote(pl.Source)})}
}

// platformAction lets a source ask for an action.
func platformAction(s *Subject, a *answer) []Change {
	nth := platformOf(s)
	if nth < 0 || a.id.Effect() || !a.d.Action.Valid() || s.Policy.Platforms[nth].May(a.d.Action) {
		return nil
	}
	list := with(s.Policy.Platforms[nth].Actions, a.d.Action)
	return []Change{withPlatform(nth, "", func(pl *policy.Platform) { pl.Actions = list },
		Edit{Table: "platform", Nth: nth, Key: "actions", Value: array(list)})}
}

// toolOfChat lets effects of a chat use the tool.
func toolOfChat(s *Subject, a *answer) []Change {
	for nth := range s.Policy.Platforms {
		pl := &s.Policy.Platforms[nth]
		if !strings.HasPrefix(a.id.Sender, pl.Source+":") || !usesTool(s, a) {
			continue
		}
		for i := range pl.Chats {
			if c := &pl.Chats[i]; c.ID == a.id.Chat && c.Tools != nil && !slices.Contains(c.Tools, s.Request.Tool) {
				list := with(c.Tools, s.Request.Tool)
				return []Change{withPlatform(nth, "", func(pl *policy.Platform) { pl.Chats[i].Tools = list },
					Edit{Table: "platform.chat", Nth: i, In: nth, Key: "tools.allow", Value: array(list)})}
			}
		}
	}
	return nil
}
