package identity

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pulse/lib/classify/authres"
	"pulse/lib/classify/taglist"
	"pulse/lib/shared/address"
	"pulse/lib/shared/duration"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
	"pulse/lib/shared/trace"
)

// What the checks looked at, in a few words and by the key of the policy that they go by.

func sawDefects(m *envelope.Message) trace.Step {
	if len(m.Defects) == 0 {
		return trace.Step{Saw: "no defect"}
	}
	return trace.Step{Saw: "defects: " + join(m.Defects)}
}

func (e *evidence) sawFrom() trace.Step { return trace.Step{Saw: e.shown(slotFrom)} }

func (e *evidence) sawFields() trace.Step {
	var list []string
	for s := range slots {
		if e.header.count[s] > 0 {
			list = append(list, fmt.Sprintf("%d %s", e.header.count[s], s))
		}
	}
	return trace.Step{Saw: join(list)}
}

// shown returns a field that may stand there once, as it stands there.
func (e *evidence) shown(s slot) string {
	switch n := e.header.count[s]; n {
	case 0:
		return "no " + s.String()
	case 1:
		return s.String() + ": " + relaxed(e.header.value[s])
	default:
		return fmt.Sprintf("%d %s fields", n, s)
	}
}

func (e *evidence) sawReceiver() trace.Step {
	r, _ := e.p.Receiver(e.m.Source)
	by := e.results.AuthservID
	switch {
	case e.unusable.reason == noAuthRes || e.unusable.reason == microsoftInternal:
		by = "no Authentication-Results"
	case by == "":
		by = "Authentication-Results without a name"
	default:
		by = "Authentication-Results: " + by
	}
	pinned := join(r.AuthservIDs)
	if pinned == "" {
		pinned = "none"
	}
	return e.atReceiver("authserv_id", by+"; verdict "+string(r.Verdict)+", pinned: "+pinned)
}

func (e *evidence) sawVerdict() trace.Step {
	r, _ := e.p.Receiver(e.m.Source)
	return e.atReceiver("verdict", fmt.Sprintf("verdict %s for %s", r.Verdict, e.results.AuthservID))
}

// atReceiver is about the [[receiver]] of the source, or else a key for all sources.
func (e *evidence) atReceiver(key, saw string) trace.Step {
	for i := range e.p.Receivers {
		if policy.Match(e.p.Receivers[i].Source, e.m.Source) {
			return trace.Step{Saw: saw, Key: "receiver", Nth: i}
		}
	}
	return trace.Step{Saw: saw, Key: key}
}

func (e *evidence) sawDMARC() trace.Step {
	return trace.Step{Saw: e.shownResults("dmarc") + "; From is at " + e.from.Domain}
}

func (e *evidence) sawDKIM() trace.Step {
	saw := fmt.Sprintf("%s; From is at %s, alignment %s", e.shownResults("dkim"), e.from.Domain, e.p.DKIMAlignment)
	return trace.Step{Saw: saw, Key: "dkim_alignment"}
}

// shownResults returns the results of a method with the properties that count.
func (e *evidence) shownResults(method string) string {
	var list []string
	for i := range e.results.Results {
		if r := &e.results.Results[i]; r.Method == method {
			list = append(list, shownResult(r))
		}
	}
	if list == nil {
		return "no " + method
	}
	return join(list)
}

func shownResult(r *authres.Result) string {
	text := r.Method + "=" + r.Value
	for _, p := range r.Props {
		if p.Type == "header" {
			text += " header." + p.Name + "=" + p.Value
		}
	}
	return text
}

func (e *evidence) sawSignatures() trace.Step {
	var list []string
	for _, f := range e.dkimFields() {
		list = append(list, "d="+f.d+" s="+f.s+" h="+strings.Join(taglist.Elements(address.Fold(f.h)), ":"))
	}
	if list == nil {
		return trace.Step{Saw: "no DKIM-Signature"}
	}
	return trace.Step{Saw: "DKIM-Signature: " + join(list)}
}

// sawReceived shows the topmost Received field.
func (e *evidence) sawReceived() trace.Step {
	for i := range e.m.Headers {
		if f := &e.m.Headers[i]; address.Equal(trimName(f.Name), "received") {
			return trace.Step{Saw: "Received: " + relaxed(f.Value)}
		}
	}
	return trace.Step{Saw: "no Received"}
}

func (e *evidence) sawOwnCheck() trace.Step {
	d, key := e.m.DKIM, "evidence"
	switch {
	case d == nil:
		return trace.Step{Saw: "no message.dkim; evidence " + string(e.p.Evidence), Key: key}
	case d.Why != "":
		return trace.Step{Saw: "message.dkim: " + d.Why, Key: key}
	}
	var list []string
	for i := range d.Signatures {
		s := &d.Signatures[i]
		list = append(list, fmt.Sprintf("%s d=%s h=%s", s.Result, s.Domain, strings.Join(s.Headers, ":")))
	}
	if list == nil {
		list = []string{"no signature"}
	}
	dmarc := "none looked up"
	if d.DMARC.Result != "" {
		dmarc = string(d.DMARC.Result)
	}
	return trace.Step{Saw: fmt.Sprintf("message.dkim: %s; DMARC record: %s", join(list), dmarc), Key: key}
}

func (e *evidence) sawRecipients() trace.Step {
	return trace.Step{Saw: e.shown(slotTo) + "; " + e.shown(slotCc), Key: "recipients"}
}

// noteSender notes what is known of the sender besides the proof.
func (e *evidence) noteSender(log *trace.Log, id *Identity) {
	log.Add("listed", listed(e.p, id), string(id.Trust))
	log.Add("fresh", e.sawDates(), word(id.Stale, "stale"))
	log.Add("by_hand", e.sawAutomatic(), word(id.Automatic, "automatic"))
	if !id.Verified {
		log.Skip("reads", trace.NotReached)
		log.Skip("signed", trace.NotReached)
		return
	}
	log.Add("reads", e.sawText(), word(!id.TextProven(), "unproven"))
	switch others := id.Unsigned & otherFields; others {
	case 0:
		log.Add("signed", trace.Step{Saw: "every field that may stand there once"}, "")
	default:
		log.Add("signed", trace.Step{Saw: "no signature covers " + join(others.Names())}, "unsigned")
	}
}

func (e *evidence) sawText() trace.Step {
	signed, left := "the fields that say how the body reads are signed", "all of the body is in the text"
	if list := (e.proof.unsigned & mimeFields).Names(); len(list) > 0 {
		signed = "no signature covers " + join(list)
	}
	if !e.m.Left.Nothing() {
		left = "not in the text: " + e.m.Left.String()
	}
	return trace.Step{Saw: signed + "; " + left}
}

func word(found bool, word string) string {
	if found {
		return word
	}
	return ""
}

// listed says on which list of the policy the sender of mail is.
func listed(p *policy.Policy, id *Identity) trace.Step {
	saw := id.Sender + " is on no list"
	switch {
	case id.Sender == "":
		return trace.Step{Saw: "no sender"}
	case isOwner(p, id.Sender):
		if saw = id.Sender + " is in owners"; id.Session != "" {
			saw += ", session " + id.Session
		}
		return trace.Step{Saw: saw, Key: "owners"}
	case address.Listed(p.AllowedExternal, id.Sender):
		saw = id.Sender + " is in allowed_external"
	}
	return trace.Step{Saw: saw, Key: "allowed_external"}
}

func (e *evidence) sawDates() trace.Step {
	return sawTimes(e.m, e.p, e.shown(slotDate)+"; ")
}

func sawTimes(m *envelope.Message, p *policy.Policy, date string) trace.Step {
	saw := fmt.Sprintf("%sreceived %s, fetched %s; max_age %s",
		date, m.Received.Format(time.RFC3339), m.Fetched.Format(time.RFC3339), duration.Text(p.MaxAge))
	return trace.Step{Saw: saw, Key: "max_age"}
}

// sawAutomatic shows the field by which a program said that it sent the message.
func (e *evidence) sawAutomatic() trace.Step {
	for i := range e.m.Headers {
		f := &e.m.Headers[i]
		name := trimName(f.Name)
		if len(name) <= longestName && automatic([]byte(address.Fold(name)), f.Value) {
			return trace.Step{Saw: name + ": " + relaxed(f.Value)}
		}
	}
	return trace.Step{Saw: "no field of a program that sent it"}
}

func (v *visit) sawSender() trace.Step {
	saw := "sender " + v.s.ID.JSON()
	if v.s.Bot {
		saw += ", a bot"
	}
	return trace.Step{Saw: saw}
}

func (v *visit) sawPlatform() trace.Step {
	return atPlatform(v.p, v.pl.Source, "sender "+v.s.ID.JSON())
}

// sawListed goes by the chat unless the platform lists the sender, or the chat is none.
func (v *visit) sawListed() trace.Step {
	if !v.group() || slices.Contains(v.pl.AllowedIDs, v.s.ID) {
		return v.sawPlatform()
	}
	return v.atChat("sender " + v.s.ID.JSON())
}

func (v *visit) sawChat() trace.Step {
	saw := "chat " + v.s.Chat.JSON()
	if v.s.Mentioned {
		saw += ", the agent is mentioned"
	}
	return v.atChat(saw)
}

// atChat is about the [[platform.chat]] of a message, or else about its platform.
func (v *visit) atChat(saw string) trace.Step {
	if nth := v.p.NthChat(v.pl.Source, v.s.Chat); nth >= 0 {
		return trace.Step{Saw: saw, Key: "platform.chat", Nth: nth}
	}
	return atPlatform(v.p, v.pl.Source, saw)
}

func sawWebhook(m *envelope.Message) trace.Step {
	if m.Webhook == nil {
		return trace.Step{Saw: "no message.webhook"}
	}
	return trace.Step{Saw: "message.webhook: " + strings.TrimSpace(string(m.Webhook.Result)+" "+m.Webhook.Why)}
}

// noteSource notes what is known of a request, or of a message in a chat, besides its sender.
func noteSource(log *trace.Log, m *envelope.Message, p *policy.Policy, id *Identity) {
	log.Add("listed", atPlatform(p, m.Source, id.Sender), string(id.Trust))
	log.Add("fresh", sawTimes(m, p, ""), word(id.Stale, "stale"))
	log.Add("by_hand", trace.Step{Saw: "what the platform says"}, word(id.Automatic, "automatic"))
}

// atPlatform is about the [[platform]] of a source.
func atPlatform(p *policy.Policy, source, saw string) trace.Step {
	for i := range p.Platforms {
		if p.Platforms[i].Source == source {
			return trace.Step{Saw: saw, Key: "platform", Nth: i}
		}
	}
	return trace.Step{Saw: saw + ", and no [[platform]] has the source", Key: "platform", Nth: len(p.Platforms)}
}

// sawGiven is about an identity that the record has, before it is capped.
func (id *Identity) sawGiven(p *policy.Policy) trace.Step {
	step := trace.Step{Saw: fmt.Sprintf("%s is %s, as the record has it", id.Sender, id.Trust)}
	if id.Effect() {
		step.Saw += ", for the ask that the effect began with"
	}
	if _, ok := onPlatform(p, id.Sender, id.Chat, id.Trust); !ok {
		step.Key = lists[id.Trust]
	}
	return step
}

// lists are the keys by which a sender of a trust level is trusted.
var lists = map[terms.Trust]string{
	terms.OwnerClaim: "owners", terms.OwnerVerifiedEmail: "owners", terms.ApprovedSession: "owners",
	terms.ExternalVerified: "allowed_external",
}

func join[T ~string](list []T) string {
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = string(w)
	}
	return strings.Join(words, ", ")
}
