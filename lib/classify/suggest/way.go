package suggest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pulse/lib/classify/identity"
	"pulse/lib/classify/receivers"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
)

// alignments are in the order of the columns. With pulse's own check the third means
// strict, because that check always compares the domains.
var alignments = [...]policy.Alignment{policy.Strict, policy.Relaxed, policy.Any}

// way is one way to prove senders: lines of a policy, and what they verify.
type way struct {
	verdict  policy.Verdict
	ids      []string
	evidence policy.Evidence
	all, own tally // all mail, and the owner's among it
}

// results holds the identity of a message under each of the alignments.
type results [len(alignments)]identity.Identity

// policies returns the policy of the way with each alignment.
func (w *way) policies() (list [len(alignments)]*policy.Policy) {
	for i, a := range alignments {
		list[i] = policy.Default()
		list[i].DKIMAlignment, list[i].Evidence = a, w.evidence
		list[i].AuthservIDs, list[i].Verdict = w.ids, w.verdict
	}
	return list
}

// try classifies mails in this way, and counts the results.
func (w *way) try(mails []*seen) {
	ps := w.policies()
	for _, m := range mails {
		if m.DKIM == nil && (w.evidence == policy.ByDKIM || w.evidence == policy.ByBoth) {
			continue // not checked, which is no failure
		}
		found := classify(m.Message, ps)
		w.all.add(m, &found)
		if m.own {
			w.own.add(m, &found)
		}
	}
}

// classify returns the identities under each policy. What strict verifies is verified by
// the others, too.
func classify(m *envelope.Message, ps [len(alignments)]*policy.Policy) (found results) {
	for i, p := range ps {
		if found[i] = identity.Classify(m, p); i == 0 && found[0].Verified {
			return results{found[0], found[0], found[0]}
		}
	}
	return found
}

// counted returns the tally that matters: the owner's mail, if there is any, else all.
func (w *way) counted() *tally {
	if w.own.mails > 0 {
		return &w.own
	}
	return &w.all
}

// verified returns how many mails the way verifies with the default alignment, or, if
// that is none, with relaxed, or at last with any. No way verifies nothing.
func (w *way) verified() int {
	if w == nil {
		return 0
	}
	for _, n := range w.counted().verified {
		if n > 0 {
			return n
		}
	}
	return 0
}

// believes reports whether the way reads fields with an id.
func (w *way) believes(id string) bool {
	r := policy.Receiver{AuthservIDs: w.ids}
	return r.Believes(id)
}

// caution ranks the ways that verify equally much: what takes the least on trust comes
// first. Both is strictest, but a fault of either leaves a mail unverified.
func (w *way) caution() int {
	return 4*slices.Index([]policy.Evidence{policy.ByAuthRes, policy.ByDKIM, policy.ByEither, policy.ByBoth}, w.evidence) +
		slices.Index([]policy.Verdict{policy.ByFirst, policy.BySet, policy.ByMicrosoft, policy.ByNone}, w.verdict)
}

// rank sorts ways: what verifies most first, and of those the safest.
func rank(list []*way) {
	slices.SortStableFunc(list, func(a, b *way) int {
		return cmp.Or(cmp.Compare(b.counted().verified[0], a.counted().verified[0]),
			cmp.Compare(b.verified(), a.verified()), cmp.Compare(a.caution(), b.caution()))
	})
}

// String returns the lines of the way, for a sentence.
func (w *way) String() string {
	var list []string
	if w.evidence != policy.ByAuthRes {
		list = append(list, fmt.Sprintf("evidence %q", w.evidence))
	}
	if w.evidence == policy.ByDKIM {
		return list[0]
	}
	list = append(list, fmt.Sprintf("verdict %q", w.verdict))
	if len(w.ids) > 0 {
		list = append(list, "authserv_id "+idList(w.ids))
	}
	return strings.Join(list, ", ")
}

// risk says in a sentence what the way takes on trust.
func (w *way) risk() string {
	var list []string
	switch w.evidence {
	case policy.ByDKIM, policy.ByEither:
		list = append(list, "without recipients in the policy, a mail to somebody else, sent on, is a command")
	case policy.ByBoth:
		list = append(list, "a fault of DNS or of the server leaves a mail unverified")
	}
	if w.evidence != policy.ByDKIM {
		list = append(list, receivers.Risk(w.verdict, w.ids))
	}
	return strings.Join(list, "; ")
}

// idList writes ids as TOML does.
func idList(ids []string) string {
	if len(ids) == 1 {
		return toml(ids[0])
	}
	return "[" + strings.Join(each(ids, toml), ", ") + "]"
}
