package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pulse/lib/authorize/tools"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/address"
	"pulse/lib/shared/duration"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

// mailing are the changes of the mail, or of what a worker or platform asks for.
var mailing = [...]maker{
	ofMail(byHand), ofMail(dated), ofMail(addressed), ofMail(signed), ofMail(mentioned), ofMail(secret),
	ofEffect(listedTargets), ofTool(fitting), weaker,
}

// mail is a change of a copy of the message.
func mail(what string, change func(*envelope.Message)) []Change {
	return []Change{{What: what, apply: func(s *Subject) {
		m := *s.Message
		m.Headers = slices.Clone(m.Headers)
		change(&m)
		s.Message = &m
	}}}
}

// replace puts a field in the place of all fields of that name, or below the others.
func replace(m *envelope.Message, name, value string) {
	at := len(m.Headers)
	for i := len(m.Headers) - 1; i >= 0; i-- {
		if address.Equal(strings.TrimSpace(m.Headers[i].Name), name) {
			at, m.Headers = i, slices.Delete(m.Headers, i, i+1)
		}
	}
	if value != "" {
		m.Headers = slices.Insert(m.Headers, at, envelope.Field{Name: name, Value: value})
	}
}

func byHand(s *Subject, a *answer) []Change {
	if !a.id.Automatic {
		return nil
	}
	return mail("a person would have to send it, without a field by which programs and lists mark theirs", func(m *envelope.Message) {
		for _, name := range []string{"Auto-Submitted", "X-Autoreply", "X-Autorespond", "Precedence", "List-Id", "Content-Type", "Return-Path"} {
			replace(m, name, "")
		}
		if m.Sender != nil {
			from := *m.Sender
			from.Bot = false
			m.Sender = &from
		}
	})
}

func dated(s *Subject, a *answer) []Change {
	if !a.id.Stale || s.Message.Fetched.IsZero() {
		return nil
	}
	what := fmt.Sprintf("it would have to be written and to arrive within %s of when it is fetched", duration.Text(s.Policy.MaxAge))
	return mail(what, func(m *envelope.Message) {
		m.Received = m.Fetched
		replace(m, "Date", m.Fetched.Format(time.RFC1123Z))
	})
}

func addressed(s *Subject, _ *answer) []Change {
	if len(s.Policy.Recipients) == 0 {
		return nil
	}
	to := s.Policy.Recipients[0]
	return mail("it would have to go to "+to+" and to nobody else", func(m *envelope.Message) {
		replace(m, "To", to)
		replace(m, "Cc", "")
	})
}

// sealed are the fields that a signature of the sender's domain would have to cover.
const sealed = "From, To, Cc, Subject, Date and Message-ID"

// signed is the message as the receiver, or pulse's own check, finds it in order.
func signed(s *Subject, a *answer) []Change {
	_, domain, err := address.Split(a.id.Sender)
	if err != nil {
		return nil
	}
	if s.Message.DKIM != nil || identity.NeedsDKIM(s.Message, s.Policy) {
		what := fmt.Sprintf("%s would have to sign it with DKIM (d=%s), covering %s, and to publish a DMARC record", domain, domain, sealed)
		return mail(what, func(m *envelope.Message) { checked(m, domain) })
	}
	r, ok := s.Policy.Receiver(s.Message.Source)
	if !ok || len(r.AuthservIDs) == 0 {
		return nil
	}
	id := a.id.Auth.AuthservID
	if !r.Believes(id) {
		id = strings.Replace(r.AuthservIDs[0], "*", "mx", 1)
	}
	what := fmt.Sprintf("%s would have to confirm dmarc=pass for %s and dkim=pass with header.d=%s, by a signature that covers %s", id, domain, domain, sealed)
	return mail(what, func(m *envelope.Message) { confirmed(m, id, domain) })
}

// covered are the fields of sealed as message.dkim has them, and those that say how the body
// reads.
var covered = []string{"from", "to", "cc", "subject", "date", "message-id", "content-type", "content-transfer-encoding", "content-disposition"}

// checked is what pulse-fetch writes about a message that its domain has signed.
func checked(m *envelope.Message, domain string) {
	m.DKIM = &envelope.DKIM{From: domain, DMARC: envelope.DMARC{Result: envelope.DMARCFound},
		Signatures: []envelope.Signature{{Domain: domain, Result: envelope.DKIMPass, Headers: covered}}}
	sign(m, domain)
}

// confirmed is what the receiver writes about such a message.
func confirmed(m *envelope.Message, id, domain string) {
	sign(m, domain)
	replace(m, "Authentication-Results", "")
	results := fmt.Sprintf("%s; dkim=pass header.d=%s header.s=s; dmarc=pass header.from=%s", id, domain, domain)
	m.Headers = slices.Insert(m.Headers, 0, envelope.Field{Name: "Authentication-Results", Value: results})
}

func sign(m *envelope.Message, domain string) {
	replace(m, "DKIM-Signature", "v=1; a=rsa-sha256; d="+domain+"; s=s; h="+strings.Join(covered, ":")+"; bh=AAAA; b=AAAA")
}

func mentioned(s *Subject, _ *answer) []Change {
	if s.Message.Sender == nil || s.Message.Sender.Mentioned || unaddressed(s.Message.Webhook) {
		return nil
	}
	return mail("it would have to mention the agent", func(m *envelope.Message) {
		from := *m.Sender
		from.Mentioned = true
		m.Sender = &from
	})
}

// unaddressed reports whether a request is of a platform that does not say whom a message addresses.
func unaddressed(w *envelope.Webhook) bool { return w != nil && w.Scheme == envelope.WebhookGitHub }

func secret(s *Subject, _ *answer) []Change {
	if s.Message.Webhook == nil {
		return nil
	}
	return mail("it would have to be signed with the secret of "+s.Message.Source+", at the time when it arrives", func(m *envelope.Message) {
		w := *m.Webhook
		w.Result, w.Why = envelope.WebhookPass, ""
		m.Webhook = &w
	})
}

// asking is a change of a copy of the request.
func asking(what string, change func(*request.Request)) []Change {
	return []Change{{What: what, apply: func(s *Subject) {
		r := *s.Request
		change(&r)
		s.Request = &r
	}}}
}

// listedTargets leaves out the targets that outbound.allow does not have.
func listedTargets(s *Subject, _ *answer) []Change {
	if s.Settled != "" {
		return nil
	}
	var out []string
	list := without(s.Request.Target, func(to string) bool {
		if s.Policy.Outbound.Lists(to) {
			return false
		}
		out = append(out, to)
		return true
	})
	if len(out) == 0 || len(list) == 0 {
		return nil
	}
	return asking("it would have to leave out the target "+strings.Join(out, ", "), func(r *request.Request) { r.Target = list })
}

// fitting asks for the action that the tool has.
func fitting(s *Subject, _ *answer) []Change {
	does := tools.Action(s.Policy, s.Request.Tool)
	if s.Settled != "" || does == s.Request.Action {
		return nil
	}
	return asking(fmt.Sprintf("request.action would have to be %s, because that is what %s does", does, s.Request.Tool),
		func(r *request.Request) { r.Action = does })
}

// weaker makes an ask one for the strongest weaker action that the row gives more to.
func weaker(s *Subject, a *answer) []Change {
	if s.Request == nil || a.id.Effect() || s.Settled != "" {
		return nil
	}
	row, _ := s.Policy.Row(a.id.Trust, a.id.Sender)
	at := slices.Index(terms.Actions, a.d.Action)
	if at < 0 {
		at = len(terms.Actions)
	}
	for _, action := range slices.Backward(terms.Actions[:at]) {
		if rank(row.Outcome(action)) < rank(a.d.Outcome) {
			return asking("request.action would have to be "+string(action), func(r *request.Request) { r.Action = action })
		}
	}
	return nil
}
