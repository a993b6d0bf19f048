package suggest

import (
	"fmt"
	"slices"

	"pulse/lib/classify/receivers"
	"pulse/lib/shared/address"
)

// How much mail must speak for an id. The second pair is for ids that are vouched for by
// more than numbers.
const (
	enoughMails, enoughDomains = 10, 3
	fewMails, fewDomains       = 3, 1
	enoughPercent              = 90 // of the mails of a source
)

// verdict says what to do about the receiver of a source.
type verdict struct {
	src      *source
	lead     *first
	pin      string // the id to pin, if a person agrees or it is vouched for; or empty
	unusable bool   // no id can ever be pinned: the receiver's verdict is of no use
	why      string // why there is no pin
}

// verdict judges the first field that most mails of the source share.
func (s *source) verdict() verdict {
	v := verdict{src: s, lead: s.lead()}
	if v.unusable, v.why = v.refusal(); v.why == "" {
		v.pin = v.lead.id
	}
	return v
}

func (s *source) lead() *first {
	lead := s.firsts[0]
	for _, f := range s.firsts {
		if f.mails > lead.mails {
			lead = f
		}
	}
	return lead
}

// refusal returns why the leading id must not be pinned; empty if it may be. unusable
// means that more mail could not change that.
func (v *verdict) refusal() (unusable bool, why string) {
	settled := v.lead.mails >= enoughMails
	switch v.lead.kind {
	case none:
		return settled, "most of this mail has no Authentication-Results field. " +
			"Mail from yourself to yourself through one provider carries none; " +
			"if mail from elsewhere has none either, this server writes none, and whatever there is was written by senders"
	case noID:
		return true, "this server writes no authserv-id (Microsoft 365 does this), " +
			"so its field can't be told from one that the sender wrote"
	case oddName, unreadable:
		return settled, "the first field of most of this mail can't be used; pulse-classify says for each what is wrong with it"
	}
	if !address.Domain(v.lead.id) {
		return settled, "the id that stands first most often is not the name of a server"
	}
	if v.lead.all.verified[1] == 0 {
		return settled, v.useless()
	}
	if expected := v.src.mails - v.unstamped(); v.lead.mails*100 < expected*enoughPercent {
		return len(v.src.firsts) > 2 && v.src.mails >= enoughMails, fmt.Sprintf(
			"no id stands first on nearly all of this mail, as a receiver's own would: %d of %d is the most. "+
				"An id that differs from mail to mail (Yahoo, Fastmail, Yandex) can't be pinned; "+
				"if these are mails of several receivers, look at each alone", v.lead.mails, expected)
	}
	return false, v.scarce()
}

// useless returns why no mail is verified by the verdict of an id.
func (v *verdict) useless() string {
	if v.lead.several*2 > v.lead.mails {
		return "this server spreads what it found over several fields (iCloud, Proton, OpenDKIM with OpenDMARC), " +
			"and only the first counts: a later one can't be told from one that the sender wrote"
	}
	if v.lead.all.verified[2] > 0 {
		return "this server does not say which domain signed (Zoho), or no sender signs with its own domain: dkim_alignment = \"any\" would take the server's word that it compared them"
	}
	return "nothing is verified on its word; the reasons are above"
}

// scarce returns how much mail is missing before the numbers prove anything; empty if
// there is enough.
func (v *verdict) scarce() string {
	mails, domains := enoughMails, enoughDomains
	if v.vouched() != "" {
		mails, domains = fewMails, fewDomains
	}
	if v.lead.mails >= mails && len(v.lead.domains) >= domains {
		return ""
	}
	return fmt.Sprintf("%d mails of %d From domains are too few to tell a receiver from a sender: it takes %d of %d. "+
		"Fetch more (--limit 100), or prove it with scripts/probe-receiver",
		v.lead.mails, len(v.lead.domains), mails, domains)
}

// vouched returns what, besides numbers, speaks for the leading id; empty if nothing
// does.
func (v *verdict) vouched() string {
	if v.lead.top == v.lead.mails {
		return "It always stands above every Received field, where no sender can put it."
	}
	if r, ok := receivers.BySource(v.src.example); ok && slices.Contains(r.IDs, v.lead.id) {
		return "It is the id that " + r.Name + " is known for, whose IMAP server this is."
	}
	return ""
}

// unstamped returns how many mails carry no field because the owner sent them to the
// owner's own mailbox.
func (v *verdict) unstamped() int { return v.src.kind(none).own.mails }

// bare returns how many mails carry no field.
func (v *verdict) bare() int { return v.src.kind(none).mails }

// kind returns the counts for a kind other than byID.
func (s *source) kind(k kind) *first {
	for _, f := range s.firsts {
		if f.kind == k {
			return f
		}
	}
	return new(first)
}

// strangers returns how many mails of the source have a first field other than the
// leading one. Mails without a field do not count.
func (v *verdict) strangers() int {
	n := v.src.uncounted
	for _, f := range v.src.firsts {
		if f != v.lead && f.kind != none {
			n += f.mails
		}
	}
	return n
}
