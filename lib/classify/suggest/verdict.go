package suggest

import (
	"fmt"
	"slices"
	"strings"

	"pulse/lib/classify/receivers"
	"pulse/lib/shared/address"
	"pulse/lib/shared/policy"
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
	known    *receivers.Receiver // whose IMAP server it is; nil: not known
	ways     []*way              // what was tried, the best first
	best     *way                // by the receiver's word, if a person agrees or it is vouched for; or nil
	voucher  string              // what, besides numbers, speaks for best; empty if nothing does
	unusable bool                // no pin can ever be set: the receiver's verdict is of no use
	why      string              // why there is none
}

// judge tries every way that may be suggested for the source, and chooses.
func (src *source) judge() verdict {
	v := verdict{src: src, lead: src.lead()}
	if r, ok := receivers.BySource(src.example); ok {
		v.known = &r
	}
	v.ways = v.candidates()
	for _, w := range v.ways {
		w.try(src.mails)
	}
	v.choose()
	if src.checked > 0 {
		v.ways = append(v.ways, v.checks()...)
	}
	rank(v.ways)
	return v
}

// checks tries pulse's own check, alone and with the word of the receiver.
func (v *verdict) checks() []*way {
	list := []*way{{verdict: policy.ByNone, evidence: policy.ByDKIM}}
	if v.best != nil {
		for _, e := range []policy.Evidence{policy.ByEither, policy.ByBoth} {
			list = append(list, &way{verdict: v.best.verdict, ids: v.best.ids, evidence: e})
		}
	}
	for _, w := range list {
		w.try(v.src.mails)
	}
	return list
}

// candidates returns the ways by the receiver's word that may be suggested. What is known
// of the receiver decides, where it is. Patterns come from that knowledge alone, never
// from mail.
func (v *verdict) candidates() (list []*way) {
	add := func(kind policy.Verdict, ids ...string) {
		list = append(list, &way{verdict: kind, ids: ids, evidence: policy.ByAuthRes})
	}
	if v.known != nil {
		switch v.known.Verdict {
		case policy.ByNone:
			return nil
		case policy.ByMicrosoft:
			add(policy.ByMicrosoft)
			return list
		}
		add(v.known.Verdict, v.known.IDs...)
	} else if v.lead.kind == noID && v.src.servers > 0 {
		add(policy.ByMicrosoft)
	}
	id := v.src.widest(v.lead)
	switch r, unsafe, ok := receivers.ByID(id); {
	case !address.Domain(id), unsafe, ok && v.known != nil && r.Name == v.known.Name:
	case ok && r.Verdict != policy.ByNone:
		add(r.Verdict, r.IDs...)
	case !ok:
		add(policy.ByFirst, id)
		add(policy.BySet, id)
		if hosts := v.src.siblings(id); len(hosts) > 1 {
			add(policy.BySet, hosts...)
		}
	}
	return list
}

// widest returns the id that most mails hold somewhere. A receiver's own id stands on all
// of its mail, forged ones too, so no flood of another id can outnumber it. Of several,
// the one that stands first most often counts.
func (src *source) widest(lead *first) (id string) {
	better := func(a, b string) bool {
		switch {
		case src.ids[a] != src.ids[b]:
			return src.ids[a] > src.ids[b]
		case lead.kind == byID && (a == lead.id) != (b == lead.id):
			return a == lead.id
		}
		return a < b
	}
	for other := range src.ids {
		if other != "" && (id == "" || better(other, id)) {
			id = other
		}
	}
	return id
}

// siblings returns the ids of hosts in one domain with that of an id, each of which
// stands on enough mail, always above every Received field: the MX hosts of a domain.
func (src *source) siblings(id string) (list []string) {
	const most = 4
	_, domain, _ := strings.Cut(id, ".")
	for other, n := range src.ids {
		_, d, _ := strings.Cut(other, ".")
		enough := n >= fewMails && src.tops[other] == n
		if enough && address.Domain(other) && address.Equal(d, domain) && strings.Contains(domain, ".") {
			list = append(list, other)
		}
	}
	if len(list) > most {
		return nil
	}
	slices.Sort(list)
	return list
}

// choose picks the way by the receiver's word, if there is one, and says why not if not.
func (v *verdict) choose() {
	rank(v.ways)
	for _, w := range v.ways {
		if w.all.verified[1] > 0 { // "any" is never suggested
			v.best = w
			break
		}
	}
	if v.best == nil {
		v.unusable, v.why = v.refusal()
		return
	}
	v.voucher = v.vouched(v.best)
	if set := v.sameBySet(); set != nil && v.voucher == "" {
		v.best = set
	}
	if v.unusable, v.why = v.thin(); v.why != "" {
		v.best = nil
	}
}

// sameBySet returns the way that reads the fields of the best id as a set, if that
// verifies as much. Where a sender can put a field on top, it asks for more.
func (v *verdict) sameBySet() *way {
	for _, w := range v.ways {
		same := slices.Equal(w.ids, v.best.ids) && w.verified() == v.best.verified()
		if same && w.verdict == policy.BySet && v.best.verdict == policy.ByFirst {
			return w
		}
	}
	return nil
}

// refusal returns why nothing that the receiver writes may be believed. unusable means
// that more mail could not change that.
func (v *verdict) refusal() (unusable bool, why string) {
	settled := v.lead.mails >= enoughMails
	if r := v.known; r != nil && r.Verdict == policy.ByNone {
		return true, "this is the IMAP server of " + r.Title + ", whose word proves nothing: " + r.Risk
	}
	if r, unsafe, _ := receivers.ByID(v.src.widest(v.lead)); unsafe || r.Verdict == policy.ByNone {
		return true, quote(v.src.widest(v.lead)) + " is an id of " + r.Title + ", whose word proves nothing: " + r.Risk
	}
	switch v.lead.kind {
	case none:
		return settled, "most of this mail has no Authentication-Results field. " +
			"Mail from yourself to yourself through one provider carries none; " +
			"if mail from elsewhere has none either, this server writes none, and whatever there is was written by senders"
	case noID:
		return true, "this server writes no authserv-id (Microsoft 365 does this), " +
			"so its field can't be told from one that the sender wrote, except by its place among fields of Microsoft's servers, which this mail lacks"
	case oddName, unreadable:
		return settled, "the first field of most of this mail can't be used; pulse-classify says for each what is wrong with it"
	}
	if !address.Domain(v.lead.id) {
		return settled, "the id that stands first most often is not the name of a server"
	}
	return settled, v.useless()
}

// useless returns why no mail is verified by the verdict of an id.
func (v *verdict) useless() string {
	if slices.ContainsFunc(v.ways, func(w *way) bool { return w.all.verified[2] > 0 }) {
		return "this server does not say which domain signed (Zoho), or no sender signs with its own domain: dkim_alignment = \"any\" would take the server's word that it compared them"
	}
	return "nothing is verified on its word; the reasons are above"
}

// thin returns why there is too little mail for the best way, or too little of it has
// the fields; empty if there is enough.
func (v *verdict) thin() (unusable bool, why string) {
	if v.best.verdict == policy.ByMicrosoft {
		return false, ""
	}
	have, expected := v.holding(v.best), len(v.src.mails)-v.unstamped()
	if have*100 < expected*enoughPercent && v.lead.kind != byID {
		return v.refusal()
	}
	if have*100 < expected*enoughPercent {
		return len(v.src.firsts) > 2 && len(v.src.mails) >= enoughMails, fmt.Sprintf(
			"no id stands first on nearly all of this mail, as a receiver's own would: %d of %d is the most. "+
				"An id that differs from mail to mail (Yahoo, Fastmail, Yandex) can't be pinned; "+
				"if these are mails of several receivers, look at each alone", have, expected)
	}
	mails, domains := enoughMails, enoughDomains
	if v.voucher != "" {
		mails, domains = fewMails, fewDomains
	}
	if have >= mails && len(v.lead.domains) >= domains {
		return false, ""
	}
	return false, fmt.Sprintf("%s of %d From domains are too few to tell a receiver from a sender: it takes %d of %d. "+
		"Fetch more (--limit 100), or write evidence = \"dkim\" on top of the policy: then pulse checks signatures itself",
		plural(have, "mail"), len(v.lead.domains), mails, domains)
}

// holding counts the mails that have what the way reads: its id first, or a field of its
// set anywhere.
func (v *verdict) holding(w *way) (n int) {
	for _, m := range v.src.mails {
		if w.verdict == policy.ByFirst && w.believes(m.id) ||
			w.verdict != policy.ByFirst && slices.ContainsFunc(m.ids, w.believes) {
			n++
		}
	}
	return n
}

// vouched returns what, besides numbers, speaks for a way; empty if nothing does. Fields
// above every Received field count if no other id is there too, because a server that
// orders the fields anew may put those of a sender there.
func (v *verdict) vouched(w *way) string {
	if r := v.known; r != nil && r.Verdict == w.verdict && slices.Equal(r.IDs, w.ids) {
		return "This is the IMAP server of " + r.Title + ", which is known to write it."
	}
	if w.verdict == policy.ByMicrosoft {
		return ""
	}
	for _, m := range v.src.mails {
		mine := slices.ContainsFunc(m.ids, w.believes)
		foreign := slices.ContainsFunc(m.above, func(id string) bool { return !w.believes(id) })
		if mine && (!m.received || len(m.above) == 0 || foreign) {
			return ""
		}
	}
	return "It always stands above every Received field, where no sender can put it."
}

// unstamped returns how many mails carry no field because the owner sent them to the
// owner's own mailbox.
func (v *verdict) unstamped() int { return v.src.bare().own }
