package compare

import (
	"reflect"
	"slices"
	"strings"

	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
)

// proof is what a mail has to prove its sender: what the receiving server wrote, which
// domain signed, what pulse's own check found, and which field the signature leaves out.
type proof struct {
	form     *form
	id       string // of the server
	other    string // the id of another one that a policy believes
	signer   signer
	own      own
	second   bool   // own is about a second signature, of the sender's domain
	unsigned string // To, Cc, Subject or Date; empty: everything is signed
}

// form is a way in which servers write their verdict. In its fields {id} stands for the
// server, {other} for another one that a policy believes, {from} for the sender, {domain} for the sender's domain and {signer} for the
// domain that signed.
type form struct {
	above, below []string // name: value, above and below what the sender wrote
	when         string   // names of servers that write so; empty: any
	bare         bool     // no server is named
	two          bool     // another server is named
	name         string   // for people
}

const (
	ar      = "Authentication-Results: "
	dkim    = "dkim=pass header.d={signer}"
	dmarc   = "dmarc=pass header.from={domain}"
	foreign = ar + "mx.unlisted.invalid; spf=pass smtp.mailfrom={from}"
)

// forms are the ways in which the servers write that package identity knows how to read,
// good verdicts first.
var forms = []form{
	{above: []string{ar + "{id}; " + dkim + "; " + dmarc}},
	{above: []string{ar + "{id}; " + dmarc, ar + "{id}; " + dkim}, name: " in two fields"},
	{above: []string{ar + "{id}; dkim=pass; " + dmarc}, name: " that names no signing domain"},
	{above: []string{ar + "{id}; " + dkim + "; dmarc=pass header.from={from}"}, name: " that names the whole address"},
	{above: []string{foreign}, below: []string{ar + "{id}; " + dkim + "; dmarc=pass header.from={from}"}, name: " below another field"},
	{above: []string{foreign, ar + "{id}; " + dkim + "; " + dmarc}, name: " below that of another server"},
	{above: []string{ar + "{id}; " + dkim + "; " + dmarc, ar + "{id}; " + dkim + "; " + dmarc}, name: ", twice"},
	{above: []string{ar + "{id}; dkim=fail; dmarc=fail header.from={domain}"}, name: " that is bad"},
	{two: true, name: " above one of ", above: []string{ar + "{id}; " + dkim + "; " + dmarc, ar + "{other}; " + dkim + "; " + dmarc}},
	{two: true, name: " above a login at ", above: []string{ar + "{id}; " + dkim + "; " + dmarc,
		"Received: from a by relay.unlisted.invalid with ESMTPS", "Received: from b by {other} with ESMTPSA"}},
	{when: "icloud.com", above: []string{
		ar + "bimi.icloud.com; bimi=none", ar + "dmarc.icloud.com; " + dmarc, ar + "dkim-verifier.icloud.com; " + dkim}},
	{bare: true, name: "with the verdict of Microsoft 365", above: []string{
		ar + "spf=pass smtp.mailfrom={domain}; " + dkim + "; dmarc=pass action=none header.from={domain}",
		"Received-SPF: Pass (protection.outlook.com: domain of {domain} designates 192.0.2.1 as permitted sender)",
		"Received: from out.{domain} (192.0.2.1) by A.mail.protection.outlook.com (192.0.2.2) with Microsoft SMTP Server id 1 via Frontend Transport; Fri, 2 Jan 2026 00:00:00 +0000"},
		below: []string{
			"X-MS-Exchange-Organization-AuthSource: A.prod.protection.outlook.com",
			"X-MS-Exchange-Organization-AuthAs: Anonymous",
			"X-MS-Exchange-Organization-MessageDirectionality: Incoming"}},
}

// noVerdict is the form of mail without a verdict.
var noVerdict = form{bare: true, name: "without a server's verdict"}

// signer says how the domain of a signature is related to the sender's.
type signer int

const (
	itself signer = iota
	child
	parent
	another
)

// domain returns the domain that signs for a sender in another.
func (s signer) domain(of string) string {
	_, above, _ := strings.Cut(of, ".")
	switch {
	case s == child:
		return "mail." + of
	case s == parent && strings.Contains(above, "."):
		return above
	case s == another:
		return "unlisted.invalid"
	}
	return of
}

func (s signer) String() string {
	return [...]string{"", "a subdomain", "its parent domain", "another domain"}[s]
}

// own is what pulse's own check found.
type own int

const (
	unmade own = iota
	good
	bad
	later // DNS gave no answer
)

// result returns message.dkim for a signature of signer over the fields.
func (o own) result(domain, signer string, related bool, fields []string) *envelope.DKIM {
	if o == unmade {
		return nil
	}
	sig := envelope.Signature{Domain: signer, Selector: "s", Algorithm: "rsa-sha256", Result: envelope.DKIMPass, Headers: fields}
	out := &envelope.DKIM{From: domain, DMARC: envelope.DMARC{Result: envelope.DMARCFound, Domain: domain, Policy: "reject"}}
	switch o {
	case bad:
		sig.Result, sig.Why, out.DMARC = envelope.DKIMFail, "the body was changed", envelope.DMARC{}
	case later:
		sig.Result, sig.Why, out.DMARC = envelope.DKIMTempError, "DNS did not answer", envelope.DMARC{}
	case good:
		if signer != domain && related {
			sig.Organizational, out.DMARC.Organizational = domain, domain
		} else if signer != domain {
			sig.Organizational, out.DMARC.Organizational = signer, domain
		}
	}
	out.Signatures = []envelope.Signature{sig}
	return out
}

// write writes the header: what the server wrote, the signature, what the sender wrote.
func (p *proof) write(m *envelope.Message, from string, sender func()) {
	_, domain, _ := strings.Cut(from, "@")
	signer := p.signer.domain(domain)
	fill := strings.NewReplacer("{id}", p.id, "{other}", p.other, "{from}", from, "{domain}", domain, "{signer}", signer)
	fields := func(list []string) {
		for _, f := range list {
			name, value, _ := strings.Cut(fill.Replace(f), ": ")
			m.Headers = append(m.Headers, envelope.Field{Name: name, Value: value})
		}
	}
	names := slices.DeleteFunc([]string{"from", "to", "cc", "date"}, func(n string) bool { return strings.EqualFold(n, p.unsigned) })
	fields(p.form.above)
	signature := "; s=s; h=" + strings.Join(names, ":") + "; bh=AAAA; b=AAAA"
	fields([]string{"DKIM-Signature: v=1; a=rsa-sha256; d={signer}" + signature})
	if p.second {
		fields([]string{"DKIM-Signature: v=1; a=rsa-sha256; d={domain}" + signature})
		signer = domain
	}
	sender()
	fields(p.form.below)
	m.DKIM = p.own.result(domain, signer, p.second || p.signer != another, names)
}

// recipients returns the field in which the recipients stand.
func (p *proof) recipients() string {
	if p.unsigned == "Cc" {
		return "Cc"
	}
	return "To"
}

// what describes the proof where it is not the usual one.
func (p *proof) what(s *search) (what string) {
	if p.signer != itself {
		what += ", signed by " + p.signer.String()
	}
	if p.second {
		what += " and its own"
	}
	if p.unsigned != "" {
		what += ", " + p.unsigned + " not signed"
	}
	if p.form == &forms[0] && s.old.Evidence == policy.ByAuthRes && s.new.Evidence == policy.ByAuthRes && s.sameReceivers() {
		return what
	}
	switch {
	case p.form == &noVerdict || p.form.bare:
		what += ", " + p.form.name
	case p.form.when != "":
		what += ", with the verdict of " + p.form.when
	default:
		what += ", with a verdict of " + p.id + p.form.name + p.other
	}
	return what + [...]string{"", ", own check good", ", own check failed", ", own check without an answer of DNS"}[p.own]
}

func (s *search) sameReceivers() bool {
	return sameNames(s.old.AuthservIDs, s.new.AuthservIDs) && s.old.Verdict == s.new.Verdict &&
		reflect.DeepEqual(s.old.Receivers, s.new.Receivers)
}

// proofs remembers, for the receivers that two policies have for a source, a proof for each
// way in which the policies take one.
type proofs map[string][]proof
