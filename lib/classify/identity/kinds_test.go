package identity

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
)

// shape is how a receiver delivers the owner's mail: its own fields above and below the
// sender's, and the names that a policy pins.
type shape struct {
	name         string
	verdict      policy.Verdict
	ids          []string
	above, below string
}

const received = "Received: from out.example.com (out.example.com [192.0.2.1]) by mx.example.net with ESMTPS id 1; Sat, 21 Nov 2026 06:55:00 +0000\n"

// sent is what the owner's server sent.
const sent = `DKIM-Signature: v=1; a=rsa-sha256; d=example.com; s=s1; h=from:to:subject:date:message-id; bh=AbCd; b=AbCdEf
From: Me <me@example.com>
To: agent@example.net
Subject: News
Date: Sat, 21 Nov 2026 06:55:00 +0000
Message-ID: <1@example.com>
`

// microsoftMail is what Microsoft 365 puts around mail from outside.
const microsoftAboveMail = `Received: from AM0PR01MB0001.eurprd01.prod.exchangelabs.com.outlook.com (2603:10a6::1) by AM0PR01MB0002.eurprd01.prod.outlook.com with HTTPS; Sat, 21 Nov 2026 06:58:42 +0000
ARC-Seal: i=1; a=rsa-sha256; s=arcselector; d=microsoft.com; cv=none; b=x
ARC-Message-Signature: i=1; a=rsa-sha256; d=microsoft.com; s=arcselector; h=From; bh=x; b=x
ARC-Authentication-Results: i=1; mx.microsoft.com 1; spf=pass; dmarc=pass; dkim=pass
Received: from DB7PR02CA0001.eurprd02.prod.outlook.com (2603:10a6::1) by AM0PR01MB0001.eurprd01.prod.outlook.com (2603:10a6::2) with Microsoft SMTP Server (version=TLS1_2, cipher=TLS) id 15.20.1; Sat, 21 Nov 2026 06:58:41 +0000
Authentication-Results: spf=pass (sender IP is 192.0.2.1) smtp.mailfrom=example.com; dkim=pass (signature was verified) header.d=example.com;dmarc=pass action=none header.from=example.com;compauth=pass reason=100
Received-SPF: Pass (protection.outlook.com: domain of example.com designates 192.0.2.1 as permitted sender) receiver=protection.outlook.com; client-ip=192.0.2.1; helo=out.example.com; pr=C
Received: from out.example.com (192.0.2.1) by DB5EUR02FT001.mail.protection.outlook.com (10.13.58.1) with Microsoft SMTP Server (version=TLS1_2, cipher=TLS) id 15.20.1 via Frontend Transport; Sat, 21 Nov 2026 06:58:40 +0000
`

const microsoftBelowMail = `X-MS-Exchange-Organization-AuthSource: DB5EUR02FT001.eop-EUR02.prod.protection.outlook.com
X-MS-Exchange-Organization-AuthAs: Anonymous
X-MS-Exchange-Organization-MessageDirectionality: Incoming
X-MS-Exchange-CrossTenant-FromEntityHeader: Internet
`

var shapes = []shape{
	{"two MX", policy.ByFirst, []string{"mx1.example.net", "mx2.example.net"},
		"Authentication-Results: mx2.example.net; dkim=pass header.d=example.com; spf=pass smtp.mailfrom=example.com; dmarc=pass header.from=example.com\n" + received, ""},
	{"a name for each host", policy.ByFirst, []string{"*.mx.example.net"},
		"Authentication-Results: a1.mx.example.net; dkim=pass header.d=example.com; dmarc=pass header.from=example.com\n" + received, ""},
	{"Fastmail", policy.BySet, []string{"*.messagingengine.com"},
		`Received: from phl-mx-01.internal ([10.202.2.1]) by phl-store.internal (Cyrus 3.13) with LMTPA; Sat, 21 Nov 2026 06:58:41 +0000
Authentication-Results: phl-mx-01.messagingengine.com; x-csa=none; x-me-sender=none; x-ptr=pass smtp.helo=out.example.com policy.ptr=out.example.com
Authentication-Results: phl-mx-01.messagingengine.com; bimi=skipped (DMARC did not pass)
Authentication-Results: phl-mx-01.messagingengine.com; arc=none (no signatures found)
Authentication-Results: phl-mx-01.messagingengine.com; dkim=pass (2048-bit rsa key sha256) header.d=example.com header.i=@example.com header.b=AbCdEf header.s=s1; dmarc=pass policy.published-domain-policy=none (p=none) header.from=example.com; spf=pass smtp.mailfrom=me@example.com
Received: from out.example.com (out.example.com [192.0.2.1]) by phl-mx-01.messagingengine.com (Postfix) with ESMTPS id 1; Sat, 21 Nov 2026 06:58:40 +0000
`, ""},
	{"Yahoo", policy.BySet, []string{"*.yahoo.com"},
		`X-Atlas-Received: from 10.1.1.1 by atlas106.free.mail.bf1.yahoo.com with http; Sat, 21 Nov 2026 06:58:41 +0000
Return-Path: <me@example.com>
Received: from 192.0.2.1 (EHLO out.example.com) by 10.197.37.1 with SMTPs; Sat, 21 Nov 2026 06:58:40 +0000
Received-SPF: pass (domain of example.com designates 192.0.2.1 as permitted sender)
Authentication-Results: atlas106.free.mail.bf1.yahoo.com; dkim=pass header.i=@example.com header.s=s1; spf=pass smtp.mailfrom=example.com; dmarc=pass(p=NONE) header.from=example.com;
`, ""},
	{"iCloud", policy.BySet, []string{"bimi.icloud.com", "dmarc.icloud.com", "dkim-verifier.icloud.com", "spf.icloud.com"},
		`Authentication-Results: bimi.icloud.com; bimi=none
Authentication-Results: arc.icloud.com; arc=none
Authentication-Results: dmarc.icloud.com; dmarc=pass header.from=example.com
Authentication-Results: dkim-verifier.icloud.com; dkim=pass (2048-bit key) header.d=example.com header.i=@example.com header.b=AbCdEf
Authentication-Results: spf.icloud.com; spf=pass (spf.icloud.com: domain of me@example.com designates 192.0.2.1 as permitted sender) smtp.mailfrom=me@example.com
`, ""},
	{"Proton", policy.BySet, []string{"mail.protonmail.ch"},
		`Authentication-Results: mail.protonmail.ch; dmarc=pass (p=quarantine dis=none) header.from=example.com
Authentication-Results: mail.protonmail.ch; spf=pass smtp.mailfrom=example.com
Authentication-Results: mail.protonmail.ch; arc=none smtp.remote-ip=192.0.2.1
Authentication-Results: mail.protonmail.ch; dkim=pass (2048-bit key) header.d=example.com header.i=@example.com header.b="AbCdEf"
Received: from out.example.com (out.example.com [192.0.2.1]) by mailin001.protonmail.ch (Postfix) with ESMTPS id 1; Sat, 21 Nov 2026 06:58:40 +0000
`, ""},
	{"Zoho", policy.BySet, []string{"mx.zohomail.eu"},
		"Authentication-Results: mx.zohomail.eu; dkim=pass; spf=pass (zohomail.eu: domain of example.com designates 192.0.2.1 as permitted sender) smtp.mailfrom=me@example.com; dmarc=pass(p=none dis=none) header.from=example.com\n", ""},
	{"mail.ru", policy.BySet, []string{"mxs.mail.ru"}, received,
		"Authentication-Results: mxs.mail.ru; spf=pass smtp.mailfrom=me@example.com smtp.helo=out.example.com; dkim=pass header.d=example.com; dmarc=pass header.from=me@example.com\n"},
	{"Posteo", policy.BySet, []string{"posteo.de"},
		`Received: from mout-in.posteo.de (mout-in.posteo.de [10.0.0.1]) by mail02.posteo.de (Postfix) with ESMTPS id 1; Sat, 21 Nov 2026 06:58:41 +0000
Authentication-Results: posteo.de; dmarc=pass (p=none dis=none) header.from=example.com
Authentication-Results: posteo.de; spf=pass smtp.mailfrom=example.com
Authentication-Results: posteo.de; dkim=pass (2048-bit key) header.d=example.com header.i=@example.com header.b=AbCdEf
`, ""},
	{"ik.me", policy.BySet, []string{"mx.ik.me"},
		"Authentication-Results: mx.ik.me; dmarc=pass (p=none dis=none) header.from=example.com\nAuthentication-Results: mx.ik.me; dkim=pass (2048-bit key) header.d=example.com header.b=AbCdEf\n",
		"Authentication-Results: mx.ik.me; spf=pass smtp.mailfrom=me@example.com\n"},
	{"OpenDKIM and OpenDMARC", policy.BySet, []string{"mx.example.net"},
		"Authentication-Results: mx.example.net; dmarc=pass (p=none dis=none) header.from=example.com\n" + received +
			"Authentication-Results: mx.example.net; dkim=pass (2048-bit key; unprotected) header.d=example.com header.i=@example.com header.a=rsa-sha256 header.s=s1 header.b=AbCdEf\n", ""},
	{"Exim", policy.BySet, []string{"mx.example.net"}, received,
		"Authentication-Results: mx.example.net; iprev=pass (out.example.com) smtp.remote-ip=192.0.2.1; spf=pass smtp.mailfrom=example.com; dkim=pass header.d=example.com header.s=s1 header.a=rsa-sha256; dmarc=pass header.from=example.com\n"},
	{"Microsoft", policy.ByMicrosoft, nil, microsoftAboveMail, microsoftBelowMail},
}

func (s *shape) policy() *policy.Policy {
	p := testPolicy()
	p.AuthservIDs, p.Verdict = s.ids, s.verdict
	return p
}

// mail returns the message: what the receiver put on top, what the sender sent, what the
// receiver put below.
func (s *shape) mail() *envelope.Message { return s.around(sent) }

func (s *shape) around(sent string) *envelope.Message { return headed(s.above + sent + s.below) }

func headed(header string) *envelope.Message {
	m := &envelope.Message{Source: "imaps://me@imap.example.com/INBOX", Received: fetched, Fetched: fetched}
	for line := range strings.Lines(header) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		m.Headers = append(m.Headers, envelope.Field{Name: name, Value: strings.TrimPrefix(value, " ")})
	}
	return m
}

// own returns the receiver's Authentication-Results fields, as lines.
func (s *shape) own() string {
	var b strings.Builder
	for line := range strings.Lines(s.above + s.below) {
		if strings.HasPrefix(line, "Authentication-Results:") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func TestKindsVerifyGenuineMail(t *testing.T) {
	for _, s := range shapes {
		if id := Classify(s.mail(), s.policy()); !id.Verified || id.Reason != AuthenticatedOwner {
			t.Errorf("%s: %s: %s", s.name, id.Reason, id.Why)
		}
	}
}

// TestKindsBelieveNoSpoof: mail of a stranger that passes everything as the stranger's,
// with the owner's From and the very fields of genuine mail put into what is sent.
func TestKindsBelieveNoSpoof(t *testing.T) {
	n := 0
	for _, s := range shapes {
		for place, m := range s.spoofs() {
			n++
			id := Classify(m, s.policy())
			if id.Verified || id.Reason == "" {
				t.Errorf("%s: %s: verified", s.name, place)
			}
			p := s.policy()
			p.Evidence = policy.ByEither
			if NeedsDKIM(m, p) != (Classify(m, p).Reason == EvidenceMissing) {
				t.Errorf("%s: %s: NeedsDKIM and Classify disagree", s.name, place)
			}
		}
	}
	t.Logf("%d spoofs", n)
}

// spoofs returns forgeries. The receiver's own fields tell of the stranger there, so that
// it takes the forged ones as well to name the owner.
func (s *shape) spoofs() map[string]*envelope.Message {
	honest := *s
	honest.above, honest.below = strangers(s.above), strangers(s.below)
	bad := strings.Replace(sent, "bh=AbCd; b=AbCdEf", "bh=Evil; b=Evil", 1)
	stranger := "DKIM-Signature: v=1; a=rsa-sha256; d=evil.example; s=s1; h=from:to:subject:date:message-id; bh=AbCd; b=AbCdEf\n"
	forged := s.own()
	list := map[string]*envelope.Message{}
	add := func(name string, m *envelope.Message) { list[name] = m }
	for name, text := range map[string]string{"with the owner's signature": bad + stranger, "without": stranger + strings.SplitAfterN(sent, "\n", 2)[1]} {
		add("nothing injected, "+name, honest.around(text))
		add("on top of what is sent, "+name, honest.around(forged+text))
		add("at the end of what is sent, "+name, honest.around(text+forged))
		add("twice, "+name, honest.around(forged+text+forged))
		add("above all, "+name, headed(forged+honest.above+text+honest.below))
		add("below all, "+name, headed(honest.above+text+honest.below+forged))
		add("with an old delivery, "+name, honest.around(s.above+text+s.below))
		for old, renamed := range map[string]string{
			"Original": "Authentication-Results-Original:", "X": "X-Authentication-Results:", "ARC": "ARC-Authentication-Results: i=1;",
			"blank": "Authentication-Results :", "received": "X-Received-Authentication-Results:",
		} {
			add(old+" renamed, "+name, honest.around(strings.ReplaceAll(forged, "Authentication-Results:", renamed)+text))
		}
		lines := strings.SplitAfter(strings.TrimSuffix(forged, "\n"), "\n")
		for i, line := range lines {
			line = strings.TrimSuffix(line, "\n") + "\n"
			add(fmt.Sprint("only own field ", i, ", ", name), honest.around(line+text))
			add(fmt.Sprint("only own field ", i, " at the end, ", name), honest.around(text+line))
			add(fmt.Sprint("only own field ", i, " on top, ", name), headed(line+honest.above+text+honest.below))
		}
		for at := range len(honest.mail().Headers) {
			m := honest.around(text)
			m.Headers = slices.Insert(m.Headers, at, headed(forged).Headers...)
			add(fmt.Sprint("between, at ", at, ", ", name), m)
		}
		grouped := honest.around(forged + text)
		slices.SortStableFunc(grouped.Headers, func(a, b envelope.Field) int { return strings.Compare(a.Name, b.Name) })
		add("grouped by name, "+name, grouped)
	}
	genuine := s.mail()
	genuine.Headers = slices.Insert(genuine.Headers, 0, envelope.Field{Name: "Received",
		Value: "from [192.0.2.7] by " + strings.TrimPrefix(append(s.ids, "AM0PR01MB0002.eurprd01.prod.outlook.com")[0], "*.") + " with ESMTPSA id 1; Sat, 21 Nov 2026 06:58:43 +0000"})
	add("handed in by a co-user", genuine)
	return list
}

// strangers makes the receiver's word one about mail that only the stranger signed, and
// whose From is the owner's.
func strangers(header string) string {
	return strings.NewReplacer(
		"dkim=pass header.d=example.com", "dkim=pass header.d=evil.example",
		"header.i=@example.com", "header.i=@evil.example",
		"dkim=pass (2048-bit key) header.d=example.com", "dkim=pass (2048-bit key) header.d=evil.example",
		"dkim=pass (2048-bit rsa key sha256) header.d=example.com", "dkim=pass (2048-bit rsa key sha256) header.d=evil.example",
		"dkim=pass (2048-bit key; unprotected) header.d=example.com", "dkim=pass (2048-bit key; unprotected) header.d=evil.example",
		"dkim=pass (signature was verified) header.d=example.com", "dkim=pass (signature was verified) header.d=evil.example",
		"dmarc=pass", "dmarc=fail",
	).Replace(header)
}

func BenchmarkKinds(b *testing.B) {
	for _, s := range shapes {
		b.Run(s.name, func(b *testing.B) {
			m, p := s.mail(), s.policy()
			b.ReportAllocs()
			for b.Loop() {
				if id := Classify(m, p); !id.Verified {
					b.Fatal(id)
				}
			}
		})
	}
}
