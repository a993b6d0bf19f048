package explain

import (
	"slices"
	"strconv"
	"strings"

	"pulse/lib/classify/identity"
	"pulse/lib/shared/policy"
)

// The changes by which more senders are proven.

// withReceiver changes what is believed about the message's source: the [[receiver]] that
// matches it, or the keys at the top. ok is false if there is none.
func withReceiver(s *Subject, risk string, set func(*policy.Receiver) Edit) (Change, bool) {
	if s.Message == nil {
		return Change{}, false
	}
	nth := slices.IndexFunc(s.Policy.Receivers, func(r policy.Receiver) bool {
		return policy.Match(r.Source, s.Message.Source)
	})
	if nth < 0 {
		if len(s.Policy.Receivers) > 0 {
			return Change{}, false
		}
		r := policy.Receiver{Source: "*", AuthservIDs: s.Policy.AuthservIDs, Verdict: s.Policy.Verdict}
		e := set(&r)
		return change(risk, func(p *policy.Policy) { p.AuthservIDs, p.Verdict = r.AuthservIDs, r.Verdict }, e), true
	}
	r := s.Policy.Receivers[nth]
	e := set(&r)
	e.Table, e.Nth = "receiver", nth
	return change(risk, func(p *policy.Policy) {
		p.Receivers = slices.Clone(p.Receivers)
		p.Receivers[nth] = r
	}, e), true
}

// pin believes the server that wrote the verdict.
func pin(s *Subject, a *answer) []Change {
	id := a.id.Auth.AuthservID
	if s.given() || !plain(id) || strings.ContainsAny(id, "* ") || strings.HasSuffix(id, "...") {
		return nil
	}
	if r, ok := s.Policy.Receiver(s.Message.Source); ok && (r.Believes(id) || r.AuthservIDs == nil) {
		return nil
	}
	c, ok := withReceiver(s, "anyone can write "+id+" into a mail: believe it only if your own receiver writes it on top of all mail (pulse-classify suggest)",
		func(r *policy.Receiver) Edit {
			r.AuthservIDs = with(r.AuthservIDs, id)
			return Edit{Key: "authserv_id", Value: array(r.AuthservIDs)}
		})
	return some(c, ok)
}

func some(c Change, ok bool) []Change {
	if !ok {
		return nil
	}
	return []Change{c}
}

// set believes all fields of the receiver and not the topmost alone.
func set(s *Subject, _ *answer) []Change {
	if s.given() {
		return nil
	}
	if r, ok := s.Policy.Receiver(s.Message.Source); !ok || r.Verdict != policy.ByFirst {
		return nil
	}
	c, ok := withReceiver(s, "every field with a pinned name counts, wherever it stands: the receiver has to remove those that senders write",
		func(r *policy.Receiver) Edit {
			r.Verdict = policy.BySet
			return Edit{Key: "verdict", Value: strconv.Quote(string(policy.BySet))}
		})
	return some(c, ok)
}

// align accepts signatures of other domains.
func align(s *Subject, _ *answer) (list []Change) {
	risks := map[policy.Alignment]string{
		policy.Relaxed: "a parent or child of the sender's domain may sign for it",
		policy.Any:     "a signature of any domain will do, so whoever shares a mail server with the sender can write in that name",
	}
	words := []policy.Alignment{policy.Strict, policy.Relaxed, policy.Any}
	for _, word := range words[1+slices.Index(words, s.Policy.DKIMAlignment):] {
		list = append(list, change(risks[word], func(p *policy.Policy) { p.DKIMAlignment = word },
			Edit{Key: "dkim_alignment", Value: strconv.Quote(string(word))}))
	}
	return list
}

// addressees counts those whom the mail is for as the agent's.
func addressees(s *Subject, _ *answer) []Change {
	if s.given() || s.Policy.Recipients == nil {
		return nil
	}
	more := without(identity.Recipients(s.Message), func(to string) bool { return has(s.Policy.Recipients, to) })
	if len(more) == 0 || len(more) > 5 || !plain(more...) {
		return nil
	}
	list := with(s.Policy.Recipients, more...)
	return []Change{change("mail to "+strings.Join(more, ", ")+" is a command to the agent",
		func(p *policy.Policy) { p.Recipients = list }, Edit{Key: "recipients", Value: array(list)})}
}

// evidence lets something else prove the sender.
func evidence(s *Subject, _ *answer) (list []Change) {
	if s.given() {
		return nil
	}
	for _, word := range []policy.Evidence{policy.ByEither, policy.ByDKIM, policy.ByAuthRes} {
		risk := "what name servers answer proves a sender"
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
