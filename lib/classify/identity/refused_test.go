package identity

import (
	"strings"
	"testing"

	"pulse/lib/shared/policy"
)

// shapeOf returns the shape of a receiver.
func shapeOf(t testing.TB, name string) shape {
	for _, s := range shapes {
		if s.name == name {
			return s
		}
	}
	t.Fatal("no shape ", name)
	return shape{}
}

// edit is a change to genuine mail after which it must not be believed.
type edit struct {
	why, old, new string
	want          Reason
}

func (s *shape) try(t *testing.T, edits []edit) {
	t.Helper()
	whole := s.above + sent + s.below
	for _, e := range edits {
		text := strings.Replace(whole, e.old, e.new, 1)
		if text == whole {
			t.Errorf("%s: %s: nothing is changed", s.name, e.why)
		}
		if id := Classify(headed(text), s.policy()); id.Verified || id.Reason != e.want {
			t.Errorf("%s: %s: %s, want %s (%s)", s.name, e.why, id.Reason, e.want, id.Why)
		}
	}
}

// What must not be accepted at Microsoft 365, each for itself.
func TestMicrosoftRefuses(t *testing.T) {
	s := shapeOf(t, "Microsoft")
	const verdict = "Authentication-Results: spf=pass (sender IP is 192.0.2.1) smtp.mailfrom=example.com; dkim=pass (signature was verified) header.d=example.com;dmarc=pass action=none header.from=example.com;compauth=pass reason=100\n"
	const spf = "Received-SPF: Pass (protection.outlook.com: domain"
	const source = "X-MS-Exchange-Organization-AuthSource: DB5EUR02FT001.eop-EUR02.prod.protection.outlook.com\n"
	const as = "X-MS-Exchange-Organization-AuthAs: Anonymous\n"
	const entity = "X-MS-Exchange-CrossTenant-FromEntityHeader: Internet\n"
	s.try(t, []edit{
		{"compauth alone", "dmarc=pass action", "dmarc=fail action", DMARCFail},
		{"compauth without a record", "dmarc=pass action", "dmarc=none action", dmarcNone},
		{"a guess", "dmarc=pass action", "dmarc=bestguesspass action", dmarcNone},
		{"SPF alone", "dkim=pass (signature was verified) header.d=example.com", "dkim=none (message not signed) header.d=none", dkimFail},
		{"a signature of another domain", "header.d=example.com", "header.d=example.onmicrosoft.com", dkimNotAligned},
		{"no signature in the message", "DKIM-Signature: ", "X-DKIM-Signature: ", signatureMissing},
		{"the renamed field of the sender", verdict, strings.Replace(verdict, "Results", "Results-Original", 1), noAuthRes},
		{"an ARC field says so", verdict, "", noAuthRes},
		{"another domain", "header.from=example.com", "header.from=example.org", dmarcOtherDomain},
		{"no domain", "header.from=example.com", "header.from=", authResMalformed},
		{"an empty value", "smtp.mailfrom=example.com", "smtp.mailfrom=", authResMalformed},
		{"two dmarc results", "dmarc=pass action=none header.from=example.com;", "dmarc=pass action=none header.from=example.com;dmarc=pass action=none header.from=example.com;", authResMalformed},
		{"with a name", "\nAuthentication-Results: ", "\nAuthentication-Results: mx.microsoft.com; ", authservIDMismatch},
		{"an encoded word", verdict, "Authentication-Results: =?utf-8?q?spf=3Dpass_=28sender_IP_is_192=2E0=2E2=2E1=29_smtp=2Emailfrom=3Dexample=2Ecom?=\n", authResMalformed},
		{"the dialect until 2019", "smtp.mailfrom=example.com; dkim", "smtp.mailfrom=example.com; example.net; dkim", authResMalformed},
		{"a quote in a comment", "(sender IP is 192.0.2.1)", `(sender IP "is" 192.0.2.1)`, authResMalformed},
		{"a comment in a comment", "(sender IP is 192.0.2.1)", "(sender (IP) is 192.0.2.1)", authResMalformed},
		{"a result in a comment", "(sender IP is 192.0.2.1)", "(sender IP; dmarc=pass is 192.0.2.1)", authResMalformed},
		{"a comment after a property", "header.d=example.com;", "header.d=example.com (.evil.example);", authResMalformed},
		{"another property", "header.d=example.com;", "header.i=@example.com header.d=example.com;", authResMalformed},
		{"another method", "compauth=pass", "x-compauth=pass", authResMalformed},
		{"not ASCII", "smtp.mailfrom=example.com", "smtp.mailfrom=\u00e9xample.com", authResMalformed},
		{"a blank after the name", "\nAuthentication-Results: ", "\nAuthentication-Results : ", microsoftForm},
		{"two fields", "From: Me", verdict + "From: Me", microsoftForm},
		{"a second one with a name", "From: Me", "Authentication-Results: mx.example.org; none\nFrom: Me", microsoftForm},
		{"a field of another kind above", "ARC-Seal: ", "X-Seal: ", microsoftForm},
		{"a Received of another host above", "by AM0PR01MB0001.eurprd01.prod.outlook.com", "by mx.example.net", microsoftForm},
		{"a Received that looks like it", "by AM0PR01MB0001.eurprd01.prod.outlook.com", "by prod.xoutlook.com", microsoftForm},
		{"a Received with two hosts", "by AM0PR01MB0001.eurprd01.prod.outlook.com", "by evil.example by AM0PR01MB0001.eurprd01.prod.outlook.com", microsoftForm},
		{"no Received-SPF", "Received-SPF: ", "X-Received-SPF: ", microsoftForm},
		{"a Received-SPF of another", spf, "Received-SPF: Pass (mx.example.net: domain", microsoftForm},
		{"something between", spf, "X-Foo: bar\n" + spf, microsoftForm},
		{"a Received with two hosts, the other way round", "by AM0PR01MB0001.eurprd01.prod.outlook.com", "by AM0PR01MB0001.eurprd01.prod.outlook.com by evil.example", microsoftForm},
		{"boundary by another host", "DB5EUR02FT001.mail.protection.outlook.com", "DB5EUR02FT001.mail.protection.outlook.com.evil.example", microsoftForm},
		{"boundary with two labels", "DB5EUR02FT001.mail.protection.outlook.com", "a.DB5EUR02FT001.mail.protection.outlook.com", microsoftForm},
		{"boundary by no transport", " via Frontend Transport", "", microsoftForm},
		{"boundary by no Microsoft", "with Microsoft SMTP Server (version=TLS1_2, cipher=TLS) id 15.20.1 via", "with ESMTPS id 1 via", microsoftForm},
		{"internal", as, strings.Replace(as, "Anonymous", "Internal", 1), microsoftForm},
		{"no AuthAs", as, "", microsoftForm},
		{"two of AuthAs", as, as + as, microsoftForm},
		{"AuthAs with a blank", "AuthAs: A", "AuthAs : A", microsoftForm},
		{"no AuthSource", source, "", microsoftForm},
		{"AuthSource of another", "AuthSource: DB5EUR02FT001", "AuthSource: DB5EUR02FT002", microsoftForm},
		{"AuthSource of a customer's own server", source, "X-MS-Exchange-Organization-AuthSource: exchange.example.net\n", microsoftForm},
		{"two of AuthSource", source, source + source, microsoftForm},
		{"from within", "Directionality: Incoming", "Directionality: Originating", microsoftForm},
		{"hybrid", entity, strings.Replace(entity, "Internet", "HybridOnPrem", 1), microsoftForm},
		{"two of FromEntityHeader", entity, entity + entity, microsoftForm},
	})
	m := s.mail() // a mail program that writes all of it anew
	for i := range m.Headers {
		m.Headers[i].Name = strings.ToLower(m.Headers[i].Name)
	}
	m.Headers = append(m.Headers[:5], m.Headers[6:]...)
	if id := Classify(m, s.policy()); id.Reason != noAuthRes {
		t.Error(id.Reason)
	}
}

// Some mail of Microsoft lacks what is not part of the proof.
func TestMicrosoftVariants(t *testing.T) {
	s := shapeOf(t, "Microsoft")
	for _, e := range []edit{
		{"no FromEntityHeader", "X-MS-Exchange-CrossTenant-FromEntityHeader: Internet\n", "", ""},
		{"no compauth", "compauth=pass reason=100", "", ""},
		{"HELO", "smtp.mailfrom=", "smtp.helo=", ""},
		{"two signatures", "dkim=pass (signature was verified) header.d=example.com;", "dkim=fail (no key for signature) header.d=example.org;dkim=pass (signature was verified) header.d=example.com;", ""},
		{"Outlook.com's own field", "From: Me", "X-IncomingTopHeaderMarker: OriginalChecksum:1\nFrom: Me", ""},
	} {
		if id := Classify(headed(strings.Replace(s.above+sent+s.below, e.old, e.new, 1)), s.policy()); !id.Verified {
			t.Errorf("%s: %s", e.why, id.Why)
		}
	}
}

// Within one tenant nothing is said of the sender.
func TestMicrosoftInternal(t *testing.T) {
	s := shapeOf(t, "Microsoft")
	inside := headed(`Received: from AM0PR01MB0001.eurprd01.prod.outlook.com (2603:10a6::1) by AM0PR01MB0002.eurprd01.prod.outlook.com with HTTPS; Sat, 21 Nov 2026 06:58:42 +0000
` + strings.SplitAfterN(sent, "\n", 2)[1] + `X-MS-Exchange-Organization-AuthAs: Internal
X-MS-Exchange-Organization-AuthMechanism: 04
X-MS-Exchange-Organization-AuthSource: AM0PR01MB0002.eurprd01.prod.outlook.com
X-MS-Exchange-Organization-MessageDirectionality: Originating
`)
	p := s.policy()
	if id := Classify(inside, p); id.Reason != microsoftInternal {
		t.Error(id.Reason, id.Why)
	}
	p.Evidence = policy.ByEither
	if id := Classify(inside, p); id.Reason != EvidenceMissing {
		t.Error(id.Reason, id.Why)
	}
	inside.DKIM = unsignedCheck()
	if id := Classify(inside, p); id.Reason != microsoftInternal {
		t.Error(id.Reason, id.Why)
	}
}

// An empty id, or one that does not fit, switches rule M on nowhere.
func TestMicrosoftOnlyIfChosen(t *testing.T) {
	s := shapeOf(t, "Microsoft")
	for _, ids := range [][]string{nil, {}, {""}, {"spf"}, {"spf=pass"}, {"*.outlook.com"}, {"mx.example.net"}} {
		for _, v := range []policy.Verdict{policy.ByFirst, policy.BySet, policy.ByNone} {
			p := s.policy()
			p.AuthservIDs, p.Verdict = ids, v
			if id := Classify(s.mail(), p); id.Verified {
				t.Errorf("%s %q: verified", v, ids)
			}
		}
	}
}

// What must not be accepted elsewhere.
func TestSetRefuses(t *testing.T) {
	for name, edits := range map[string][]edit{
		"Yahoo": {
			{"the word of 2020", "dmarc=pass(p", "dmarc=success(p", DMARCFail},
			{"a host outside", "atlas106.free.mail.bf1.yahoo.com; dkim", "mta.yahoo.com; dkim", authservIDMismatch},
			{"the old shape", "atlas106.free.mail.bf1.yahoo.com; dkim=pass", "mta1001.mail.bf1.yahoo.com  from=example.com; domainkeys=neutral (no sig); from=example.com; dkim=pass", authResMalformed},
			{"unknown", "dmarc=pass(p=NONE)", "dmarc=unknown", dmarcNone},
			{"a second field of another host", "From: Me", "Authentication-Results: atlas9.free.mail.ne1.yahoo.com; none\nFrom: Me", severalAuthRes},
			{"a second field of the same host", "From: Me", "Authentication-Results: atlas106.free.mail.bf1.yahoo.com; none\nFrom: Me", severalAuthRes},
			{"a second field that can't be read", "From: Me", "Authentication-Results: atlas9.free.mail.ne1.yahoo.com; dkim\nFrom: Me", authResMalformed},
			{"a field of another server on top", "Return-Path: ", "Authentication-Results: mx.evil.example; none\nReturn-Path: ", authservIDMismatch},
			{"an odd name", "From: Me", "Authentication-Results : atlas9.free.mail.ne1.yahoo.com; none\nFrom: Me", authResName},
		},
		"Exim": {
			{"its own field too long", "; spf=pass", strings.Repeat("; x=y", 1<<14) + "; spf=pass", authResBounds},
			{"its own field too long, and one of the sender", "Authentication-Results: mx.example.net; iprev=pass",
				"Authentication-Results: mx.example.net; dkim=pass header.d=example.com; dmarc=pass header.from=example.com\nAuthentication-Results: mx.example.net" + strings.Repeat("; x=y", 1<<14) + "; iprev=pass", authResBounds},
			{"a field of the sender, where its own is silent about dkim", "dkim=pass header.d=example.com header.s=s1 header.a=rsa-sha256; dmarc=pass header.from=example.com\n",
				"dmarc=pass header.from=example.com\nAuthentication-Results: mx.example.net; dkim=pass header.d=example.com\n", severalAuthRes},
		},
		"Fastmail": {
			{"two hosts", "phl-mx-01.messagingengine.com; bimi", "phl-mx-02.messagingengine.com; bimi", severalAuthRes},
			{"two fields", "; dmarc=pass", "\nAuthentication-Results: phl-mx-01.messagingengine.com; dmarc=pass", severalAuthRes},
			{"a login at its own host, below hosts without a public name",
				"Received: from out.example.com", "Received: from x by mailmx.phl.internal (Postfix) with ESMTP id 2\nReceived: from y by phl-mx-02.messagingengine.com (Postfix) with ESMTPSA id 1\nReceived: from out.example.com", submittedWithLogin},
			{"the ARC field", "Authentication-Results: phl-mx-01.messagingengine.com; dkim", "ARC-Authentication-Results: i=1; phl-mx-01.messagingengine.com; dkim", noDMARC},
			{"the renamed field", "Authentication-Results: phl-mx-01.messagingengine.com; dkim", "X-Received-Authentication-Results: phl-mx-01.messagingengine.com; dkim", noDMARC},
		},
		"iCloud": {
			{"dmarc under another name", "Authentication-Results: dmarc.icloud.com;", "Authentication-Results: spf.icloud.com;", severalAuthRes},
			{"dmarc under two names", "; spf=pass (spf", "; dmarc=pass header.from=example.com; spf=pass (spf", severalAuthRes},
			{"dkim under another name", "Authentication-Results: dkim-verifier.icloud.com;", "Authentication-Results: dmarc.icloud.com;", severalAuthRes},
			{"without its first field", "Authentication-Results: bimi.icloud.com; bimi=none\nAuthentication-Results: arc.icloud.com; arc=none\n", "", severalAuthRes},
			{"more results than signatures", "From: Me", "Authentication-Results: dkim-verifier.icloud.com; dkim=pass header.d=example.com\nFrom: Me", severalAuthRes},
			{"a second word on the signature", "From: Me", "DKIM-Signature: v=1; d=evil.example; s=s; h=from; bh=x; b=x\nAuthentication-Results: dkim-verifier.icloud.com; dkim=fail header.d=example.com\nFrom: Me", severalAuthRes},
			{"two dmarc fields", "From: Me", "Authentication-Results: dmarc.icloud.com; dmarc=pass header.from=example.com\nFrom: Me", severalDMARC},
			{"Hide My Email", "DKIM-Signature: ", "X-DKIM-Signature: ", signatureMissing},
		},
		"Proton": {
			{"a former name first", "Authentication-Results: mail.protonmail.ch; dmarc", "Authentication-Results: mailin034.protonmail.ch; dmarc", authservIDMismatch},
			{"dmarc under a former name", "From: Me", "Authentication-Results: mail.protonmail.ch; dmarc=pass header.from=example.com\nFrom: Me", severalDMARC},
			{"a second dkim", "From: Me", "Authentication-Results: mail.protonmail.ch; dkim=pass header.d=example.com\nFrom: Me", severalAuthRes},
		},
		"Zoho": {
			{"a second signature, by another", "From: Me", "DKIM-Signature: v=1; d=evil.example; s=s; h=from; bh=x; b=x\nFrom: Me", dkimUnbound},
			{"only one by another", "d=example.com", "d=evil.example", dkimUnbound},
			{"no signature", "DKIM-Signature: ", "X-DKIM-Signature: ", dkimUnbound},
			{"a signature that can't be read", "From: Me", "DKIM-Signature: v\nFrom: Me", dkimUnbound},
			{"a field beside it", "From: Me", "Authentication-Results: mx.zohomail.eu; none\nFrom: Me", severalAuthRes},
			{"an empty field", "; dkim=pass; spf=pass (zohomail.eu: domain of example.com designates 192.0.2.1 as permitted sender) smtp.mailfrom=me@example.com; dmarc=pass(p=none dis=none) header.from=example.com", ";", authResMalformed},
			{"no semicolon", "dkim=pass; spf", "dkim=pass spf", dkimUnbound},
		},
		"mail.ru": {
			{"the domain", "header.from=me@example.com", "header.from=example.com", dmarcOtherDomain},
			{"somebody else there", "header.from=me@example.com", "header.from=you@example.com", dmarcOtherDomain},
			{"two fields", "From: Me", "Authentication-Results: mxs.mail.ru; none\nFrom: Me", severalAuthRes},
			{"another host", "mxs.mail.ru", "f1.i.mail.ru", authservIDMismatch},
		},
		"Posteo": {
			{"dkim twice", "From: Me", "Authentication-Results: posteo.de; dkim=pass header.d=example.com\nFrom: Me", severalAuthRes},
			{"dmarc by SPF", "dkim=pass", "dkim=none", dkimFail},
		},
		"OpenDKIM and OpenDMARC": {
			{"a login in its own run", "with ESMTPS id 1", "with ESMTPSA id 1", submittedWithLogin},
			{"no signature", "DKIM-Signature: ", "X-DKIM-Signature: ", signatureMissing},
			{"a signature that verifiers may overlook", "DKIM-Signature: ", "DKIM-Signature : ", signatureMissing},
			{"the one it is about", "DKIM-Signature: v=1; a=rsa-sha256; d=example.com; s=s1", "DKIM-Signature: v=1; d=example.com; s=s2; h=from; bh=x; b=x\nDKIM-Signature : v=1; d=example.com; s=s1", signatureMissing},
			{"of another domain", "d=example.com; s=s1", "d=example.org; s=s1", signatureMissing},
			{"not well formed", "bh=AbCd; ", "", signatureMissing},
		},
		"two MX": {
			{"a field of the other", "From: Me", "Authentication-Results: mx1.example.net; none\nFrom: Me", severalAuthRes},
			{"a field of the same", "From: Me", "Authentication-Results: mx2.example.net; none\nFrom: Me", severalAuthRes},
			{"the other's, unreadable", "From: Me", "Authentication-Results: mx1.example.net; x\nFrom: Me", severalAuthRes},
			{"a stranger's on top", "Authentication-Results: mx2", "Authentication-Results: mx3.example.net; none\nAuthentication-Results: mx2", authservIDMismatch},
			{"a login at the other", "by mx.example.net with ESMTPS", "by mx1.example.net with ESMTPA", submittedWithLogin},
		},
		"a name for each host": {
			{"a second one", "From: Me", "Authentication-Results: a2.mx.example.net; none\nFrom: Me", severalAuthRes},
			{"the domain itself", "Authentication-Results: a1.mx", "Authentication-Results: mx", authservIDMismatch},
			{"a login at a host there", "From: Me", "Received: from x by b7.mx.example.net with ESMTPA id 1; Sat, 21 Nov 2026 06:54:00 +0000\nFrom: Me", submittedWithLogin},
		},
	} {
		s := shapeOf(t, name)
		s.try(t, edits)
	}
}

// Senders can write Proton's former names, and they stay: no pattern makes them count.
func TestProtonPattern(t *testing.T) {
	s := shapeOf(t, "Proton")
	p := s.policy()
	p.AuthservIDs = []string{"*.protonmail.ch"}
	if id := Classify(s.mail(), p); !id.Verified {
		t.Error(id.Why)
	}
	former := headed(strings.ReplaceAll(s.above, "mail.protonmail.ch;", "mailin034.protonmail.ch;") + sent)
	if id := Classify(former, p); id.Reason != authservIDMismatch {
		t.Error(id.Reason)
	}
}

// What mail.ru writes on mail of its own users stands at the end of what they send.
func TestMailRuPattern(t *testing.T) {
	s := shapeOf(t, "mail.ru")
	p := s.policy()
	p.AuthservIDs = []string{"*.mail.ru"}
	if id := Classify(s.mail(), p); !id.Verified {
		t.Error(id.Why)
	}
	s.below = strings.ReplaceAll(s.below, "mxs.mail.ru", "f1.i.mail.ru")
	if id := Classify(s.mail(), p); id.Reason != authservIDMismatch {
		t.Error(id.Reason)
	}
}

// Receivers that leave some mail without a field are believed under no kind that goes by
// a name, and mail.ru, whose field stands below the sender's, not by the topmost one.
func TestUnfit(t *testing.T) {
	for _, name := range []string{"gmx.net", "web.de", "mx1.yandex.net", "disroot.org", "riseup.net", "mailo.com", "buzon.uy", "mail.e.email", "mxs.mail.ru"} {
		for _, v := range []policy.Verdict{policy.ByFirst, policy.BySet} {
			p := testPolicy()
			p.AuthservIDs, p.Verdict = []string{name}, v
			m := headed("Authentication-Results: " + name + "; dkim=pass header.d=example.com; dmarc=pass header.from=example.com\n" + received + sent)
			if id := Classify(m, p); id.Reason != verdictUnfit && !(name == "mxs.mail.ru" && id.Reason == dmarcOtherDomain) {
				t.Errorf("%s, %s: %s", name, v, id.Reason)
			}
		}
	}
	p := testPolicy() // where fields are grouped by name, the topmost may be the sender's
	p.AuthservIDs = []string{"mail.protonmail.ch"}
	proton := headed("Authentication-Results: mail.protonmail.ch; dkim=pass header.d=example.com; dmarc=pass header.from=example.com\n" + received + sent)
	if id := Classify(proton, p); id.Reason != verdictUnfit {
		t.Errorf("Proton, first: %s", id.Reason)
	}
	if silent("mx.example.email") || silent("xgmx.net") {
		t.Error("another domain is taken for one of these")
	}
}

func TestNone(t *testing.T) {
	for _, s := range shapes {
		p := s.policy()
		p.AuthservIDs, p.Verdict = nil, policy.ByNone
		if id := Classify(s.mail(), p); id.Reason != verdictNone {
			t.Errorf("%s: %s", s.name, id.Reason)
		}
		p.Evidence = policy.ByBoth
		m := s.mail()
		m.DKIM = goodCheck()
		if id := Classify(m, p); id.Reason != verdictNone {
			t.Errorf("%s, both: %s", s.name, id.Reason)
		}
		for _, e := range []policy.Evidence{policy.ByDKIM, policy.ByEither} {
			p.Evidence = e
			if id := Classify(m, p); !id.Verified || !strings.Contains(id.Why, "a DKIM signature for example.com") {
				t.Errorf("%s, %s: %s", s.name, e, id.Why)
			}
		}
	}
}
