package identity_test

import (
	"regexp"
	"slices"

	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
)

// check returns message.dkim for a mail of a world, where the policy asks for it.
func (a *attacker) check(w world) *envelope.DKIM {
	if a.c.policy.Evidence == policy.ByAuthRes {
		return nil
	}
	return a.owner.ownCheck(w)
}

// ownChecks: where pulse verifies itself, no header field proves anything, and neither
// does a signature that is good for another domain, user or message.
func (a *attacker) ownChecks() {
	if a.c.receiver.Verdict != policy.ByNone {
		return
	}
	for name, edit := range map[string]func(*envelope.DKIM){
		"a good signature of another domain": func(d *envelope.DKIM) { d.Signatures[0].Domain = "mallory.example" },
		"a child of the domain":              func(d *envelope.DKIM) { d.Signatures[0].Domain = "mail." + a.owner.domain },
		"a name that ends like the domain":   func(d *envelope.DKIM) { d.Signatures[0].Domain = "x" + a.owner.domain },
		"another user of the domain":         func(d *envelope.DKIM) { d.Signatures[0].User = "mallory" },
		"checked for another From":           func(d *envelope.DKIM) { d.From = "mallory.example" },
		"checked for no From":                func(d *envelope.DKIM) { d.From = "" },
		"a key that is too weak":             func(d *envelope.DKIM) { d.Signatures[0].Result = envelope.DKIMPolicy },
		"no key":                             func(d *envelope.DKIM) { d.Signatures[0].Result = envelope.DKIMPermError },
		"no answer":                          func(d *envelope.DKIM) { d.Signatures[0].Result = envelope.DKIMTempError },
		"an unknown word":                    func(d *envelope.DKIM) { d.Signatures[0].Result = "Pass" },
		"Date not signed":                    func(d *envelope.DKIM) { d.Signatures[0].Headers = []string{"from", "to", "subject"} },
		"Subject not signed":                 func(d *envelope.DKIM) { d.Signatures[0].Headers = []string{"from", "to", "date"} },
		"From not signed":                    func(d *envelope.DKIM) { d.Signatures[0].Headers = []string{"to", "subject", "date"} },
		"no DMARC record":                    func(d *envelope.DKIM) { d.DMARC = envelope.DMARC{Result: envelope.DMARCNone} },
		"a broken DMARC record":              func(d *envelope.DKIM) { d.DMARC = envelope.DMARC{Result: envelope.DMARCPermError} },
		"no answer for DMARC":                func(d *envelope.DKIM) { d.DMARC = envelope.DMARC{Result: envelope.DMARCTempError} },
		"DMARC not looked up":                func(d *envelope.DKIM) { d.DMARC = envelope.DMARC{} },
		"gave up":                            func(d *envelope.DKIM) { d.Why = "too many signatures" },
		"the attacker's beside a failed one": func(d *envelope.DKIM) {
			d.Signatures[0].Result = envelope.DKIMFail
			d.Signatures = append(d.Signatures, envelope.Signature{Domain: "mallory.example", Selector: "m1", Result: envelope.DKIMPass, Headers: d.Signatures[0].Headers})
		},
	} {
		d := a.owner.ownCheck(truth)
		edit(d)
		for what, mail := range map[string][]field{
			"":                   a.deliver(forged),
			" and a verdict":     inject(a.deliver(forged), top, a.own()...),
			" and one of Gmail":  inject(a.deliver(forged), top, a.merged("Authentication-Results: mx.google.com")),
			" and Microsoft's":   inject(a.deliver(forged), top, a.made["no name"]...),
			" and one below all": inject(a.deliver(forged), end, a.own()...),
		} {
			id := a.c.classify(a.t, mail, d)
			a.score.spoofs.add(proven(&id))
			if proven(&id) {
				a.t.Errorf("%s: spoof accepted: own check: %s%s", a.sh.name, name, what)
			}
		}
	}
}

var byRE = regexp.MustCompile(`\bby (\S+)`)

// residual runs what no rule over header fields can refuse. Each name stands for a
// condition that the operator has to see to, or for what nobody has measured:
//
//	loopback     a program on the server, a webmail, hands mail in without a login's word
//	no verdict   a filter skipped the mail, or one of two MX hosts writes nothing
//	connector    a connector or hybrid server of the tenant may keep all organization fields
//	unmentioned  a well-formed signature about which the receiver is silent
//	co-user      a provider's own user submits, and the provider lets injected fields stand
//	first …      the user chose first where the sender's fields may stand above
func (a *attacker) residual() {
	switch a.c.receiver.Verdict {
	case policy.ByNone:
		return
	case policy.ByMicrosoft:
		mail := slices.Clone(a.deliver(truth))
		for i, f := range mail {
			if f.name() == "subject" {
				mail[i].raw = "Subject: written by whoever holds the connector\n"
			}
		}
		a.risk("connector", truth, mail)
	case policy.ByFirst, policy.BySet:
		a.silent()
	}
	a.unmentioned()
}

// silent: no verdict at all, and none of the words of a login.
func (a *attacker) silent() {
	entry := a.entry()
	switch a.c.name {
	case "rspamd", "opendkim-opendmarc", "amavis", "exim", "two-mx":
	default:
		return // these write one on every mail, measured
	}
	host := byRE.FindStringSubmatch(a.sh.fields[entry].raw)[1]
	loopback := "Received: from localhost (localhost [127.0.0.1])\n\tby " + host + " with ESMTP id 1; Sat, 21 Nov 2026 06:58:41 +0000\n"
	for _, where := range []place{top, sent} {
		a.risk("loopback", forged, inject(a.deliverLogin(forged, entry, loopback), where, a.own()...))
		a.risk("no verdict", forged, inject(without(a.deliver(forged), ownResults), where, a.own()...))
	}
}

// unmentioned: DMARC passes by SPF, the receiver is silent about a signature that is
// well formed, because it stops after so many, and the attacker writes the dkim result.
func (a *attacker) unmentioned() {
	mail := inject(a.quiet(), middle, a.forgery(a.owner.domain))
	a.risk("unmentioned", shared, inject(mail, sent, a.made["dkim alone"]...))
}
