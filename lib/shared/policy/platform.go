package policy

import (
	"slices"

	"pulse/lib/shared/peer"
	"pulse/lib/shared/terms"
)

// platform checks the nth [[platform]], and fills in what only webhooks have. No platform
// assigns 0, and a missing id is read as 0.
func (v *validator) platform(p *Platform, t *platformTable, nth int) {
	key := at("platform", nth)
	v.ids(key+".owner_ids", t.OwnerIDs)
	v.ids(key+".allowed_ids", t.AllowedIDs)
	for i, c := range t.Chat {
		chat := at(key+".chat", i)
		if c.ID == "" {
			v.fail(chat, "id is missing or 0")
		}
		v.ids(chat+".allowed_senders", c.AllowedSenders)
		v.toolGlobs(chat+".tools.allow", c.Tools.Allow...)
		again := func(id peer.ID) bool { return id == c.ID }
		if slices.ContainsFunc(t.Chat[:i], func(o chatTable) bool { return again(o.ID) }) {
			v.fail(chat, "%s is declared twice", c.ID)
		}
	}
	v.actions(p, t, key+".actions")
	v.webhook(p, t, key)
}

func (v *validator) ids(key string, list []peer.ID) {
	if i := slices.Index(list, ""); i >= 0 {
		v.fail(at(key, i), "0 is no id")
	}
}

func (v *validator) actions(p *Platform, t *platformTable, key string) {
	if t.Actions != nil && len(t.Actions) == 0 {
		v.fail(key, "an empty list would refuse everything: leave the key out, or name an action")
	}
	for i, word := range t.Actions {
		a := terms.Action(word)
		if !a.Valid() {
			v.fail(at(key, i), "%s is none of %s", word, join(terms.Actions))
		}
		p.Actions = append(p.Actions, a)
	}
}

// webhook keeps the two kinds of platform apart: a sender is trusted by id, or whoever has
// the secret is, and none of them both ways.
func (v *validator) webhook(p *Platform, t *platformTable, key string) {
	switch {
	case p.Source == WebhookPrefix || p.Source+":" == WebhookPrefix:
		v.fail(key, "source %s: want webhook:DIR", p.Source)
	case p.Webhook() && (t.OwnerIDs != nil || t.AllowedIDs != nil || t.Chat != nil):
		if t.Trust != nil {
			v.fail(key+".trust", "it is of all who have the secret, and ids or chats say it of each sender: leave out one of them")
		}
	case !p.Webhook() && t.Trust != nil:
		v.fail(key+".trust", "is for a source webhook:DIR: here owner_ids and allowed_ids say it")
	case p.Webhook():
		p.Trust = terms.ExternalVerified
		oneOf(v, &p.Trust, key+".trust", t.Trust, terms.ExternalVerified, terms.OwnerVerifiedEmail)
	}
}

// May reports whether the source may ask for an action at all.
func (p *Platform) May(a terms.Action) bool {
	return p.Actions == nil || slices.Contains(p.Actions, a)
}
