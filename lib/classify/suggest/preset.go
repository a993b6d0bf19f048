package suggest

import (
	"cmp"
	"strings"

	"pulse/lib/classify/receivers"
	"pulse/lib/shared/policy"
)

const noPin = `# authserv_id = "mx.example.com"`

// Preset returns the lines of an owner's policy that say how mail is proven, and in comments what they
// rest on. r is who receives the mail; nil: that is not known.
func Preset(owner string, r *receivers.Receiver) string {
	var p page
	if r == nil {
		p.line(noPin)
	} else {
		p.preset(r)
	}
	if _, domain, _ := strings.Cut(owner, "@"); receivers.SignsNoTo(domain) && (r == nil || !r.Probed) {
		p.line("#")
		p.unsigned("Your own mail goes out through Outlook.com:")
	}
	return strings.TrimSuffix(p.String(), "\n")
}

func (p *page) preset(r *receivers.Receiver) {
	p.line("#")
	p.facts(r)
	switch {
	case r.Probed:
		p.afterProbe(r)
	case r.Verdict == policy.ByNone:
		p.text("Nothing that it writes proves a sender, so pulse-fetch, which reads this policy, checks DKIM itself%s.", expected(r))
		p.line("evidence = %q", r.Evidence)
	default:
		p.pin(r)
	}
	if !r.Probed {
		p.probe(r, "Nobody has tried it with pulse's own probe. To try it from outside, and from inside as another of its users:")
	}
}

// facts says what is known of the receiver.
func (p *page) facts(r *receivers.Receiver) {
	p.text("%s: %s.", r.Title, r.Writes)
	for _, fact := range []struct{ lead, text string }{
		{"Measured", cmp.Or(r.Measured, "nothing")}, {"Only documented", r.Documented},
		{"Not verified at all", r.Never}, {"Risk", r.Risk}, {"To do", r.Do},
	} {
		if fact.text != "" {
			p.text("%s: %s.", fact.lead, fact.text)
		}
	}
}

// expected says why pulse's own check may fail.
func expected(r *receivers.Receiver) string {
	if r.OwnCheck == "" {
		return ""
	}
	return ". Expect failures: " + r.OwnCheck
}

// pin writes the lines for a receiver whose verdict is believed.
func (p *page) pin(r *receivers.Receiver) {
	switch {
	case r.Yours && r.Name == "two-mx":
		p.text("Put in the names that your servers write:")
		p.line(`# authserv_id = ["mx1.example.com", "mx2.example.com"]`)
	case r.Yours:
		p.text("Put in the name that your server writes:")
		p.line(noPin)
	default:
		p.line("authserv_id = %s", idList(r.IDs))
	}
	if r.Verdict != policy.ByFirst {
		p.line("verdict = %q", r.Verdict)
	}
	if r.Evidence == policy.ByEither {
		p.text("Where it left no field, pulse-fetch, which reads this policy, checks DKIM itself%s.", expected(r))
		p.line("evidence = %q", r.Evidence)
	}
}

// afterProbe writes the lines for a receiver whose verdict a person has to choose.
func (p *page) afterProbe(r *receivers.Receiver) {
	p.text("What works at once: pulse-fetch, which reads this policy, checks DKIM itself. "+
		"What does not: much good mail, because %s; and mail within one tenant: write from an account elsewhere.", r.OwnCheck)
	p.line("evidence = %q", policy.ByDKIM)
	p.line("#")
	p.probe(r, "What helps is verdict %q: it believes the field that the servers write, by where it stands. "+
		"It is off until you choose it, because whether yours lets others write that field has to be tried first:", r.Verdict)
	p.text("If check says \"trusted\" each time, remove the line with evidence above, and the # from these:")
	p.line("# verdict = %q", r.Verdict)
	p.line("# evidence = %q", r.Evidence)
	p.line("#")
	p.unsigned("If your own mail goes out through Microsoft, too:")
}

// unsigned says what follows for an owner whose mail has To unsigned.
func (p *page) unsigned(lead string) {
	p.text("%s its signatures leave out To and Cc (measured: %s), so anyone who gets a mail of yours can send it on to another address. "+
		"With recipients, which is set below, whatever it asks for waits for a person (field_unsigned). "+
		"To take that risk all the same:", lead, receivers.Unsigned)
	p.line(`# accept_unsigned = ["To", "Cc"]`)
}

func (p *page) probe(r *receivers.Receiver, lead string, args ...any) {
	p.text(lead, args...)
	outside, inside := r.Probe()
	p.line("#   %s", outside)
	before, after, _ := strings.Cut(inside, " --server")
	p.line(`#   %s \`, before)
	p.line("#       --server%s", after)
	p.line("# and after each: pulse-fetch --limit 20 SOURCE | scripts/probe-receiver check --nonce NONCE")
}
