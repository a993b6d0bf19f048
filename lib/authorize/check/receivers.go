package check

import (
	"slices"
	"strings"

	"pulse/lib/classify/receivers"
	"pulse/lib/shared/policy"
)

// receiverRisks reports what is risky about whom the policy believes: the receivers of
// its sources, how their fields are read, and what proves a sender besides.
func receiverRisks(p *policy.Policy, risk func(bool, string, ...any)) {
	list := p.Receivers
	if len(list) == 0 {
		list = []policy.Receiver{{Source: "*", AuthservIDs: p.AuthservIDs, Verdict: p.Verdict}}
	}
	owncheck := p.Evidence == policy.ByDKIM || p.Evidence == policy.ByEither
	risk(!owncheck && !slices.ContainsFunc(list, believed), "no authserv_id is pinned: nobody will be verified")
	for i := range list {
		r := &list[i]
		switch {
		case p.Evidence == policy.ByDKIM: // the receiver is not asked
		case !believed(*r):
			risk(!owncheck && len(p.Receivers) > 0, "verdict is %s for %s, and evidence is %s: nobody is verified there", r.Verdict, r.Source, p.Evidence)
		case r.Verdict == policy.ByMicrosoft:
			microsoftRisks(r, risk)
		default:
			nameRisks(r, risk)
		}
	}
	recipientRisks(p, risk)
	alignmentRisks(p, list, risk)
}

// believed reports whether any field of the receiver is.
func believed(r policy.Receiver) bool {
	return r.Verdict == policy.ByMicrosoft || r.Verdict != policy.ByNone && len(r.AuthservIDs) > 0
}

func microsoftRisks(r *policy.Receiver, risk func(bool, string, ...any)) {
	ms, _ := receivers.ByName("microsoft")
	there, known := receivers.BySource(r.Source)
	risk(!known || there.Name != ms.Name,
		"verdict is microsoft for %s, which does not say that it is at Microsoft: elsewhere senders may write the fields that it reads; name the source in a [[receiver]], imaps://you@%s/*", r.Source, ms.IMAP[0])
	risk(true, "verdict is microsoft for %s: %s; try scripts/probe-receiver submit --receiver microsoft", r.Source, ms.Risk)
}

// nameRisks reports what is risky about the names that a receiver goes by: each known
// receiver once, and each name that is not one of a known receiver.
func nameRisks(r *policy.Receiver, risk func(bool, string, ...any)) {
	var told []string
	for _, id := range r.AuthservIDs {
		known, unsafe, ok := receivers.ByID(id)
		suffix, pattern := strings.CutPrefix(id, "*.")
		switch {
		case !ok:
			risk(pattern, "authserv_id has %s: every host name below it is believed, so nobody else may have one", id)
			risk(pattern && registry(suffix), "authserv_id has %s: that may be a suffix under which anyone can register a name", id)
			risk(true, "verdict is %s for %s: %s; try scripts/probe-receiver submit --pin %s",
				r.Verdict, id, receivers.Risk(r.Verdict, nil), strings.Replace(id, "*", "mx1", 1))
		case unsafe:
			risk(true, "authserv_id has %s, of %s, which proves nothing: %s", id, known.Title, known.Risk)
		case slices.Contains(told, known.Name):
		default:
			risk(known.Verdict == policy.BySet && r.Verdict == policy.ByFirst,
				"verdict is first for %s, of %s: a field that a sender wrote may stand above its own, or its first one may say too little; write verdict = \"set\"", id, known.Title)
			risk(pattern && !slices.Contains(known.IDs, id), "authserv_id has %s: every host name below it is believed, more than %s needs", id, known.Title)
			risk(true, "verdict is %s for %s: %s", r.Verdict, known.Title, known.Risk)
			told = append(told, known.Name)
		}
	}
}

// registry reports whether a domain looks like one under which others register names, as
// in co.uk. There is no list of public suffixes here, so this is a guess.
func registry(domain string) bool {
	second, top, _ := strings.Cut(domain, ".")
	return len(top) == 2 && !strings.Contains(top, ".") && len(second) <= 3
}

func recipientRisks(p *policy.Policy, risk func(bool, string, ...any)) {
	risk(p.Recipients == nil && p.Evidence == policy.ByDKIM,
		"recipients is absent, and evidence is dkim: a mail to somebody else, sent on, is a command")
	risk(p.Recipients == nil && p.Evidence != policy.ByDKIM,
		"recipients is absent: a mail of the owner to somebody else, sent on or seen by this mailbox, is a command")
}

func alignmentRisks(p *policy.Policy, list []policy.Receiver, risk func(bool, string, ...any)) {
	text, anyone := receivers.AlignmentRisks[p.DKIMAlignment], p.DKIMAlignment == policy.Any
	if anyone && p.Evidence == policy.ByDKIM { // the receiver is not asked
		return
	}
	risk(text != "", "dkim_alignment is %s: %s", p.DKIMAlignment, text)
	for i := range list {
		risk(anyone && list[i].Verdict == policy.BySet,
			"dkim_alignment is any, and verdict is set for %s: no known server needs that: the set allows for what Zoho leaves out", list[i].Source)
	}
}
