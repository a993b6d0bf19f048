package compare_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
)

// now is when all records were fetched.
var now = time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)

// mail says how one message is made. The first value of each choice is what an honest
// sender and receiver would write.
type mail struct {
	from, source string
	proof        proof
	dkim         string // what pulse-fetch --dkim found
	signed       string // h=
	age          time.Duration
	date         string
	automatic    bool
	to           [2]string // To and Cc
	session      bool
}

// proof is what the receiver wrote.
type proof struct {
	id, shape string
	with      string // another id, or the domain that signed
}

// choices are the values of mail that can matter for two policies.
type choices struct {
	from, source []string
	proof        []proof
	dkim, signed []string
	age          []time.Duration
	date         []string
	automatic    []bool
	to           [][2]string
	session      []bool
}

const everySigned = "from:to:cc:subject:date:message-id"

// senders are whom mail is from. The last stands in no policy.
var senders = []string{"me@example.com", "boss@example.com", "friend@partner.example", "x@partner.example", "other@example.com",
	"sales@supplier.example", "stranger@evil.example"}

// choicesOf returns all choices, without those that no word of the policies can tell
// from another.
func choicesOf(list ...*policy.Policy) choices {
	c := choices{
		from: senders[len(senders)-1:], proof: []proof{{}}, dkim: []string{"", "pass"}, signed: []string{everySigned},
		age: []time.Duration{time.Minute}, date: []string{"same"}, automatic: []bool{false}, to: [][2]string{{agents[0]}}, session: []bool{false, true},
	}
	var entries, ids, matched []string
	for _, p := range list {
		entries = slices.Concat(entries, p.Owners, p.AllowedExternal, p.AcceptAutomatic)
		for i := range p.Senders {
			entries = append(entries, p.Senders[i].Sender)
		}
		ids = append(ids, p.AuthservIDs...)
		for _, r := range p.Receivers {
			ids, matched = append(ids, r.AuthservIDs...), append(matched, r.Source)
		}
		for _, r := range p.ActionRules {
			matched = append(matched, r.Source)
		}
		c.perhaps(p)
	}
	all := strings.ToLower(strings.Join(entries, " "))
	for _, s := range slices.Backward(senders[:len(senders)-1]) {
		if _, domain, _ := strings.Cut(s, "@"); strings.Contains(all, domain) {
			c.from = append([]string{s}, c.from...)
		}
	}
	c.sources(matched)
	c.proofs(strings.Join(ids, " "))
	return c
}

// perhaps adds what matters under one of the policies.
func (c *choices) perhaps(p *policy.Policy) {
	if p.AcceptAutomatic != nil {
		c.automatic = []bool{false, true}
	}
	if p.MaxAge != 0 {
		c.age = []time.Duration{time.Minute, 2 * time.Hour, 72 * time.Hour}
		c.date = []string{"same", "none", "later"}
	}
	if p.Relies("To") {
		c.to = [][2]string{{agents[0]}, {"write@example.net"}, {agents[0], agents[2]}, {agents[0] + ", " + agents[1]}, {}, {agents[2]}, {"", agents[0]}}
	}
	if p.Evidence != policy.ByAuthRes {
		c.dkim = []string{"", "pass", "child", "strict", "temperror", "fail", "none", "no record", "no answer"}
	}
	if p.Relies("To") || p.Relies("Date") || p.Evidence != policy.ByAuthRes {
		c.signed = []string{everySigned, "from:subject:date:message-id", "from:to:subject:date", "from:to:cc:subject:message-id", "from:date", "from"}
	} else if p.AcceptUnsigned != nil && len(c.signed) == 1 {
		c.signed = []string{everySigned, "from:to:cc:date:message-id"}
	}
}

// sources keeps one source for each way in which the patterns match.
func (c *choices) sources(matched []string) {
	known := map[string]bool{}
	for _, s := range append(slices.Clone(sources), "jmap:https://example.net/", "maildir:/m/Commands") {
		key := ""
		for _, pattern := range matched {
			key += fmt.Sprint(policy.Match(pattern, s))
		}
		if !known[key] {
			known[key] = true
			c.source = append(c.source, s)
		}
	}
}

// proofs adds what a receiver of each name can write.
func (c *choices) proofs(ids string) {
	var names []string
	for _, id := range []string{"mx1.example.net", "mx2.example.net", "a.mx.example.net", "gmx.net", "mxs.mail.ru", "mail.protonmail.ch"} {
		if strings.Contains(ids, strings.TrimPrefix(id, "a.")) {
			names = append(names, id)
		}
	}
	for _, id := range names {
		for _, shape := range []string{"one", "bare", "two", "login", "fail", "under", "again", "below", "unnamed"} {
			c.proof = append(c.proof, proof{id: id, shape: shape})
		}
		c.proof = append(c.proof, proof{id, "one", "child"}, proof{id, "one", "other.example"})
		for _, other := range names {
			if other != id {
				c.proof = append(c.proof, proof{id, "both", other}, proof{id, "split", other})
			}
		}
	}
	c.proof = append(c.proof, proof{shape: "microsoft"}, proof{shape: "microsoft", with: "child"}, proof{id: "mx.evil.example", shape: "one"})
	c.proof = append(c.proof[1:], c.proof[0]) // nothing comes last
}

// message makes the message.
func (c *mail) message() *envelope.Message {
	m := &envelope.Message{Source: c.source, Fetched: now, Received: now.Add(-c.age), ID: "<1@example.com>", DKIM: c.checked()}
	_, domain, _ := strings.Cut(c.from, "@")
	signer := domain
	switch c.proof.with {
	case "child":
		signer = "mail." + domain
	case "other.example":
		signer = c.proof.with
	}
	above, below := c.results(domain, signer)
	m.Headers = append(m.Headers, above...)
	for _, d := range c.signers(m.DKIM, signer) {
		m.Headers = append(m.Headers, envelope.Field{Name: "DKIM-Signature", Value: "v=1; a=rsa-sha256; d=" + d + "; s=s1; h=" + c.signed + "; bh=AbCd; b=AbCdEf"})
	}
	m.Headers = append(m.Headers, envelope.Field{Name: "From", Value: c.from})
	add := func(name, value string) {
		if value != "" {
			m.Headers = append(m.Headers, envelope.Field{Name: name, Value: value})
		}
	}
	add("To", c.to[0])
	add("Cc", c.to[1])
	add("Subject", "News")
	date := m.Received
	if c.date == "later" {
		date = now.Add(72 * time.Hour)
	}
	if c.date != "none" {
		add("Date", date.Format(time.RFC1123Z))
	}
	add("Message-ID", m.ID)
	if c.automatic {
		add("Auto-Submitted", "auto-replied")
	}
	m.Headers = append(m.Headers, below...)
	return m
}

// signers returns who signed the mail. Where pulse's own check and the receiver's verdict
// are about different signatures, it has both, and the own check names both.
func (c *mail) signers(checked *envelope.DKIM, signer string) []string {
	if checked == nil || len(checked.Signatures) == 0 || checked.Signatures[0].Domain == signer {
		return []string{signer}
	}
	checked.Signatures = append(checked.Signatures,
		envelope.Signature{Domain: signer, Result: envelope.DKIMNeutral, Headers: strings.Split(c.signed, ":")})
	return []string{checked.Signatures[0].Domain, signer}
}

// results returns what the receiver put above and below what was sent.
func (c *mail) results(domain, signer string) (above, below []envelope.Field) {
	result := func(id, text string) envelope.Field {
		return envelope.Field{Name: "Authentication-Results", Value: id + "; " + text}
	}
	received := envelope.Field{Name: "Received", Value: "from out.example (out.example [192.0.2.1]) by " + c.proof.id + " with ESMTPS id 1"}
	dkim, dmarc := "dkim=pass header.d="+signer+" header.s=s1", "dmarc=pass header.from="+domain
	whole := result(c.proof.id, dkim+"; "+dmarc)
	switch c.proof.shape {
	case "one":
		above = []envelope.Field{whole, received}
	case "unnamed": // dkim=pass with another property
		above = []envelope.Field{result(c.proof.id, "dkim=pass header.s=s1; "+dmarc), received}
	case "bare":
		above = []envelope.Field{result(c.proof.id, "dkim=pass; "+dmarc), received}
	case "two":
		above = []envelope.Field{result(c.proof.id, dmarc), result(c.proof.id, dkim), received}
	case "login":
		received.Value = strings.Replace(received.Value, "ESMTPS", "ESMTPSA", 1)
		above = []envelope.Field{whole, received}
	case "fail":
		above = []envelope.Field{result(c.proof.id, dkim+"; dmarc=fail header.from="+domain), received}
	case "under":
		above = []envelope.Field{result("mx.evil.example", dkim+"; "+dmarc), whole, received}
	case "again":
		above = []envelope.Field{whole, received, whole}
	case "both":
		above = []envelope.Field{whole, result(c.proof.with, dkim+"; "+dmarc), received}
	case "split":
		above = []envelope.Field{result(c.proof.id, dmarc), result(c.proof.with, dkim), received}
	case "below":
		above, below = []envelope.Field{received}, []envelope.Field{result(c.proof.id, dkim+"; dmarc=pass header.from="+c.from)}
	case "microsoft":
		return microsoft(domain, signer)
	}
	return above, below
}

// microsoft returns what Microsoft 365 puts around mail from outside.
func microsoft(domain, signer string) (above, below []envelope.Field) {
	return []envelope.Field{
			{Name: "Received", Value: "from a.eurprd01.prod.outlook.com (2603:10a6::1) by b.eurprd01.prod.outlook.com with HTTPS"},
			{Name: "Authentication-Results", Value: "spf=pass (sender IP is 192.0.2.1) smtp.mailfrom=" + domain +
				"; dkim=pass (signature was verified) header.d=" + signer + ";dmarc=pass action=none header.from=" + domain + ";compauth=pass reason=100"},
			{Name: "Received-SPF", Value: "Pass (protection.outlook.com: domain of " + domain +
				" designates 192.0.2.1 as permitted sender) receiver=protection.outlook.com; client-ip=192.0.2.1; helo=out.example; pr=C"},
			{Name: "Received", Value: "from out.example (192.0.2.1) by DB5EUR02FT001.mail.protection.outlook.com (10.13.58.1)" +
				" with Microsoft SMTP Server (version=TLS1_2, cipher=TLS) id 15.20.1 via Frontend Transport"},
		}, []envelope.Field{
			{Name: "X-MS-Exchange-Organization-AuthSource", Value: "DB5EUR02FT001.eop-EUR02.prod.protection.outlook.com"},
			{Name: "X-MS-Exchange-Organization-AuthAs", Value: "Anonymous"},
			{Name: "X-MS-Exchange-Organization-MessageDirectionality", Value: "Incoming"},
		}
}

// checked returns message.dkim.
func (c *mail) checked() *envelope.DKIM {
	if c.dkim == "" {
		return nil
	}
	_, domain, _ := strings.Cut(c.from, "@")
	d := &envelope.DKIM{From: domain, DMARC: envelope.DMARC{Result: envelope.DMARCFound, Domain: domain, Organizational: domain}}
	s := envelope.Signature{Domain: domain, Selector: "s1", Result: envelope.DKIMPass, Headers: strings.Split(c.signed, ":")}
	switch c.dkim {
	case "child", "strict":
		s.Domain, s.Organizational, d.DMARC.Strict = "mail."+domain, domain, c.dkim == "strict"
	case "temperror":
		s.Result, d.DMARC = envelope.DKIMTempError, envelope.DMARC{}
	case "fail":
		s.Result, d.DMARC = envelope.DKIMFail, envelope.DMARC{}
	case "none":
		d.DMARC = envelope.DMARC{}
		return d
	case "no record":
		d.DMARC = envelope.DMARC{Result: envelope.DMARCNone}
	case "no answer":
		d.DMARC = envelope.DMARC{Result: envelope.DMARCTempError}
	}
	d.Signatures = []envelope.Signature{s}
	return d
}
