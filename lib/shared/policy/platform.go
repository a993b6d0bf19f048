package policy

import (
	"slices"

	"pulse/lib/shared/terms"
)

// platform checks the nth [[platform]], and fills in what only webhooks have. Ids are
// numbers that a platform assigns. No platform assigns 0, and a missing id is read as 0.
func (v *validator) platform(p *Platform, t *platformTable, nth int) {
	v.ids("owner_ids", t.OwnerIDs, nth)
	v.ids("allowed_ids", t.AllowedIDs, nth)
	for i, c := range t.Chat {
		if c.ID == 0 {
			v.fail("platform.chat", i, "id is missing or 0")
		}
		v.ids("chat.allowed_senders", c.AllowedSenders, nth)
		v.toolGlobs("platform.chat.tools.allow", c.Tools.Allow...)
		again := func(id int64) bool { return id == c.ID }
		if slices.ContainsFunc(t.Chat[:i], func(o chatTable) bool { return again(o.ID) }) {
			v.fail("platform.chat", i, "%d is declared twice", c.ID)
		}
	}
	v.actions(p, t, nth)
	v.webhook(p, t, nth)
}

func (v *validator) ids(key string, list []int64, nth int) {
	if slices.Contains(list, 0) {
		v.fail("platform."+key, nth, "0 is no id")
	}
}

func (v *validator) actions(p *Platform, t *platformTable, nth int) {
	if t.Actions != nil && len(t.Actions) == 0 {
		v.fail("platform.actions", nth, "an empty list would refuse everything: leave the key out, or name an action")
	}
	for _, word := range t.Actions {
		a := terms.Action(word)
		if !a.Valid() {
			v.fail("platform.actions", nth, "%s is none of %s", word, join(terms.Actions))
		}
		p.Actions = append(p.Actions, a)
	}
}

// webhook keeps the two kinds of platform apart. A request has no sender's number, and
// a sender in a chat is trusted for that number.
func (v *validator) webhook(p *Platform, t *platformTable, nth int) {
	switch {
	case p.Source == WebhookPrefix || p.Source+":" == WebhookPrefix:
		v.fail("platform", nth, "source %s: want webhook:DIR", p.Source)
	case p.Webhook() && (t.OwnerIDs != nil || t.AllowedIDs != nil || t.Chat != nil):
		v.fail("platform", nth, "%s has neither senders with an id nor chats: its trust is said with trust", p.Source)
	case !p.Webhook() && t.Trust != nil:
		v.fail("platform.trust", nth, "is for a source webhook:DIR: here owner_ids and allowed_ids say it")
	case p.Webhook():
		p.Trust = terms.ExternalVerified
		oneOf(v, &p.Trust, "platform.trust", t.Trust, terms.ExternalVerified, terms.OwnerVerifiedEmail)
	}
}

// May reports whether the source may ask for an action at all.
func (p *Platform) May(a terms.Action) bool {
	return p.Actions == nil || slices.Contains(p.Actions, a)
}
