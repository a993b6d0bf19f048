package identity_test

import (
	"regexp"
	"slices"
	"strings"

	"pulse/lib/shared/policy"
)

var withRE = regexp.MustCompile(`(?i)with e?smtps?\b`)

// logins are the words by which a server says that a user handed the mail in.
var logins = map[string]func(string) string{
	"ESMTPSA":       func(r string) string { return withRE.ReplaceAllString(r, "with ESMTPSA") },
	"ESMTPA":        func(r string) string { return withRE.ReplaceAllString(r, "with ESMTPA") },
	"UTF8SMTPSA":    func(r string) string { return withRE.ReplaceAllString(r, "with UTF8SMTPSA") },
	"authenticated": func(r string) string { return strings.Replace(r, "\n", "\n\t(Authenticated sender: mallory)\n", 1) },
	"userid":        func(r string) string { return strings.Replace(r, "(Postfix)", "(Postfix, from userid 1004)", 1) },
	"local":         func(r string) string { return withRE.ReplaceAllString(r, "with local") },
}

// coUser: a user of the same server submits the mail. The server writes no verdict on
// it, and removes none. What it signs as the owner's domain, OpenDKIM may sign truly.
func (a *attacker) coUser() {
	entry := a.entry()
	if entry < 0 || a.c.receiver.Verdict == policy.ByNone {
		return
	}
	for name, edit := range logins {
		login := edit(a.sh.fields[entry].raw)
		if login == a.sh.fields[entry].raw {
			continue
		}
		for _, w := range []world{unsigned, forged, truth} {
			mail := a.deliverLogin(w, entry, login)
			for what, p := range a.made {
				for _, where := range []place{sent, end} { // Received fields are added above
					a.submitted(w, inject(mail, where, p...), "handed in with a login ("+name+"), "+what+" "+string(where))
				}
			}
			a.submitted(w, a.believing(w, entry, login), "handed in with a login ("+name+"), OpenDMARC believes an injected dkim=pass")
		}
	}
}

// believing returns submitted mail with an injected dkim=pass, which OpenDMARC read: its
// true dmarc=pass stands where the receiver's verdict always stands.
func (a *attacker) believing(w world, entry int, login string) []field {
	mail := inject(a.deliverLogin(w, entry, login), sent, a.made["dkim alone"]...)
	dmarc := field{a.owner.fill("Authentication-Results: " + a.idOf("dmarc=") + "; dmarc=pass (p=reject dis=none) header.from={domain}\n"), true}
	at := slices.IndexFunc(a.sh.fields, ownResults)
	return slices.Insert(mail, min(at, len(mail)), dmarc)
}

// submitted is a spoof where a server of one's own receives. What the providers write on
// mail of their own users was not measured.
func (a *attacker) submitted(w world, fields []field, what string) {
	switch a.c.name {
	case "rspamd", "opendkim-opendmarc", "amavis", "exim", "two-mx":
		a.spoof(w, fields, "%s", what)
	default:
		a.risk("co-user", w, fields)
	}
}

// entry returns the index of the Received field by which the mail came in: the lowest
// of the receiver's.
func (a *attacker) entry() int {
	for i := len(a.sh.fields) - 1; i >= 0; i-- {
		if f := a.sh.fields[i]; f.own && f.name() == "received" {
			return i
		}
	}
	return -1
}

// deliverLogin returns mail without a verdict, whose entry says that a user logged in.
func (a *attacker) deliverLogin(w world, entry int, login string) []field {
	before := a.sh.fields[entry].raw
	var out []field
	for _, f := range without(a.deliver(w), ownResults) {
		if f.raw == before {
			f.raw = login
		}
		out = append(out, f)
	}
	return out
}
