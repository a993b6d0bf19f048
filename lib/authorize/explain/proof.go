package explain

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"pulse/lib/classify/identity"
	"pulse/lib/classify/receivers"
	"pulse/lib/shared/policy"
)

// The changes by which more senders are proven.

// withReceiver changes what is believed about the message's source: the [[receiver]] that
// matches it, or the keys at the top if there is no [[receiver]] at all.
func withReceiver(s *Subject, risk string, set func(*policy.Receiver) Edit) []Change {
	nth := slices.IndexFunc(s.Policy.Receivers, func(r policy.Receiver) bool {
		return policy.Match(r.Source, s.Message.Source)
	})
	switch {
	case nth >= 0:
		r := s.Policy.Receivers[nth]
		e := set(&r)
		e.Table, e.Nth = "receiver", nth
		return []Change{change(risk, func(p *policy.Policy) {
			p.Receivers = slices.Clone(p.Receivers)
			p.Receivers[nth] = r
		}, e)}
	case len(s.Policy.Receivers) > 0:
		return nil
	}
	r := policy.Receiver{AuthservIDs: s.Policy.AuthservIDs, Verdict: s.Policy.Verdict}
	e := set(&r)
	return []Change{change(risk, func(p *policy.Policy) { p.AuthservIDs, p.Verdict = r.AuthservIDs, r.Verdict }, e)}
}

// pin believes the server that wrote the verdict.
func pin(s *Subject, a *answer) []Change {
	id := a.id.Auth.AuthservID
	if !plain(id) || strings.ContainsAny(id, "* ") || strings.HasSuffix(id, "...") {
		return nil
	}
	r, ok := s.Policy.Receiver(s.Message.Source)
	if ok && (r.Believes(id) || r.AuthservIDs == nil) {
		return nil
	}
	return withReceiver(s, "believe "+id+" only if your own receiver writes it on all mail (pulse-classify suggest): "+
		cmp.Or(receivers.Risk(r.Verdict, []string{id}), "anyone can write it into a mail"),
		func(r *policy.Receiver) Edit {
			r.AuthservIDs = with(r.AuthservIDs, id)
			return Edit{Key: "authserv_id", Value: array(r.AuthservIDs)}
		})
}

// set believes all fields of the receiver and not the topmost alone.
func set(s *Subject, _ *answer) []Change {
	r, ok := s.Policy.Receiver(s.Message.Source)
	if !ok || r.Verdict != policy.ByFirst {
		return nil
	}
	return withReceiver(s, "every field with a pinned name counts, wherever it stands: "+receivers.Risk(policy.BySet, r.AuthservIDs),
		func(r *policy.Receiver) Edit {
			r.Verdict = policy.BySet
			return Edit{Key: "verdict", Value: strconv.Quote(string(policy.BySet))}
		})
}

// align accepts signatures of other domains.
func align(s *Subject, _ *answer) (list []Change) {
	words := []policy.Alignment{policy.Strict, policy.Relaxed, policy.Any}
	for _, word := range words[1+slices.Index(words, s.Policy.DKIMAlignment):] {
		list = append(list, change(receivers.AlignmentRisks[word], func(p *policy.Policy) { p.DKIMAlignment = word },
			Edit{Key: "dkim_alignment", Value: strconv.Quote(string(word))}))
	}
	return list
}

// addressees counts those whom the mail is for as the agent's.
func addressees(s *Subject, _ *answer) []Change {
	if s.Policy.Recipients == nil {
		return nil
	}
	more := without(identity.Recipients(s.Message), func(to string) bool { return has(s.Policy.Recipients, to) })
	if len(more) == 0 || len(more) > 5 || !plain(more...) {
		return nil
	}
	return recipients.set("mail to "+strings.Join(more, ", ")+" is a command to the agent", with(s.Policy.Recipients, more...))
}

// evidence lets something else prove the sender.
func evidence(s *Subject, _ *answer) (list []Change) {
	for _, word := range []policy.Evidence{policy.ByEither, policy.ByDKIM, policy.ByAuthRes} {
		risk := receivers.NameServers
		if word == policy.ByAuthRes {
			risk = "the word of the receiving server alone proves a sender"
		}
		if word != s.Policy.Evidence {
			list = append(list, change(risk, func(p *policy.Policy) { p.Evidence = word },
				Edit{Key: "evidence", Value: strconv.Quote(string(word))}))
		}
	}
	return list
}
