package identity_test

import (
	"slices"
	"strings"
)

// exchangeFields are what Exchange writes and takes from incoming mail, as an attacker
// would want them.
var exchangeFields = []string{
	"X-MS-Exchange-Organization-AuthAs: Internal",
	"X-MS-Exchange-Organization-AuthAs: Anonymous",
	"X-MS-Exchange-Organization-AuthSource: AM0EPF00001234.eurprd05.prod.outlook.com",
	"X-MS-Exchange-Organization-AuthMechanism: 04",
	"X-MS-Exchange-Organization-MessageDirectionality: Originating",
	"X-MS-Exchange-Organization-MessageDirectionality: Incoming",
	"X-MS-Exchange-CrossTenant-AuthAs: Internal",
	"X-MS-Exchange-CrossTenant-AuthSource: AM0EPF00001234.eurprd05.prod.outlook.com",
	"X-MS-Exchange-CrossTenant-FromEntityHeader: Hosted",
	"X-MS-Exchange-CrossTenant-FromEntityHeader: Internet",
	"X-MS-Exchange-CrossTenant-Id: 84df9e7f-1111-4222-8333-aaaabbbbcccc",
	"X-IncomingTopHeaderMarker: OriginalChecksum:00;UpperCasedChecksum:00;SizeAsReceived:1;Count:1",
	"X-IncomingHeaderCount: 3",
}

// exchange runs what is aimed at Microsoft 365 and Outlook.com alone.
func (a *attacker) exchange() {
	arc := field{raw: a.owner.fill("ARC-Authentication-Results: i=1; mx.microsoft.com 1; spf=pass\n smtp.mailfrom={domain}; dmarc=pass action=none\n header.from={domain}; dkim=pass header.d={domain}; arc=none\n")}
	for _, w := range []world{unsigned, forged, shared, sharedForged} {
		mail := a.deliver(w)
		for _, where := range []place{sent, end} {
			for _, text := range exchangeFields {
				f := field{raw: text + "\n"}
				a.spoof(w, inject(mail, where, f), "%s %s", text, where)
				a.spoof(w, inject(inject(mail, where, f), sent, a.boundary()...), "%s %s, and a verdict", text, where)
				a.spoof(w, a.inside(inject(inject(mail, where, f), sent, a.boundary()...)), "inside the tenant: %s %s, and a verdict", text, where)
			}
			a.spoof(w, inject(mail, where, arc), "ARC by microsoft.com %s", where)
			a.spoof(w, inject(without(mail, ownResults), where, arc), "no verdict, and ARC by microsoft.com %s", where)
			a.spoof(w, inject(mail, where, a.boundary()...), "all of the boundary %s", where)
			a.spoof(w, inject(without(mail, ownResults), where, a.boundary()...), "no verdict, and all of the boundary %s", where)
		}
		a.spoof(w, edit(mail, "authentication-results", "dmarc=fail", "dmarc=bestguesspass"), "bestguesspass")
		a.spoof(w, edit(mail, "authentication-results", "compauth=fail reason=000", "compauth=pass reason=109"), "compauth=pass")
	}
	a.deformed()
}

// boundary is what an attacker copies from the owner's mail: the verdict, Received-SPF
// and the boundary Received.
func (a *attacker) boundary() (list []field) {
	mail := a.deliver(truth)
	i := slices.IndexFunc(mail, field.results)
	for _, f := range mail[i : i+3] {
		list = append(list, field{raw: f.raw})
	}
	return list
}

// inside is the same mail from a colleague: Exchange writes no verdict, and Internal.
func (a *attacker) inside(mail []field) []field {
	mail = without(mail, func(f field) bool {
		return f.own && (f.results() || f.name() == "received-spf" || strings.Contains(f.raw, ".mail.protection.outlook.com") ||
			strings.HasPrefix(f.name(), "x-ms-exchange-crosstenant"))
	})
	for i, f := range mail {
		if f.own && f.name() == "x-ms-exchange-organization-authas" {
			mail[i].raw = "X-MS-Exchange-Organization-AuthAs: Internal\n"
		}
	}
	return mail
}

// deformed: the owner's mail with one thing wrong that only another way into the
// mailbox, or a forger, leaves behind. The verdict is an attacker's then.
func (a *attacker) deformed() {
	mail := a.deliver(truth)
	a.seen[string(truth)+"\n"+string(raw(mail))] = true // where there is nothing to change
	host := "AM0EPF00009999"
	for _, d := range [][3]string{
		{"x-ms-exchange-organization-authas", "Anonymous", "Internal"},
		{"x-ms-exchange-organization-authas", "Anonymous", "Partner"},
		{"x-ms-exchange-organization-authas", "AuthAs:", "AuthAs :"},
		{"x-ms-exchange-organization-authas", "X-MS", "X-X-MS"},
		{"x-ms-exchange-organization-authsource", ": ", ": " + host + ".eurprd05.prod.outlook.com\nX-Rest: "},
		{"x-ms-exchange-organization-authsource", "X-MS", "X-X-MS"},
		{"x-ms-exchange-organization-messagedirectionality", "Incoming", "Originating"},
		{"x-ms-exchange-organization-messagedirectionality", "X-MS", "X-X-MS"},
		{"x-ms-exchange-crosstenant-fromentityheader", "Internet", "Hosted"},
		{"x-ms-exchange-crosstenant-fromentityheader", "Internet", "HybridOnPrem"},
		{"received-spf", "protection.outlook.com: domain", "mallory.example: domain"},
		{"received-spf", "Received-SPF", "X-Received-SPF"},
		{"authentication-results", "Authentication-Results:", "Authentication-Results :"},
		{"authentication-results", "Authentication-Results: ", "Authentication-Results: mx.microsoft.com 1; "},
		{"authentication-results", "Authentication-Results: ", "Authentication-Results: mx.google.com; "},
		{"authentication-results", "(signature was verified)", `(signature "was verified)`},
		{"authentication-results", "(signature was verified)", "(signature (was) verified)"},
		{"authentication-results", "(signature was verified)", `(signature was \) verified)`},
		{"authentication-results", "dkim=pass", "dkim=fail"},
		{"authentication-results", "dkim=pass", "dkim=pass\xc2\xa0"},
		{"authentication-results", "dmarc=pass", "dmarc=none"},
		{"authentication-results", "dmarc=pass", "dmarc=fail action=none header.from=mallory.example;dmarc=pass"},
		{"authentication-results", "header.from=", "header.from=mallory."},
		{"authentication-results", "header.d=", "header.d=mallory."},
		{"authentication-results", "spf=", "spf =x;spf="},
	} {
		a.spoof(truth, edit(mail, d[0], d[1], d[2]), "%s: %s for %s", d[0], d[2], d[1])
	}
	for _, d := range [][2]string{
		{".mail.protection.outlook.com", ".mail.protection.outlook.com.mallory.example"},
		{".mail.protection.outlook.com", ".mail.mallory.example"},
		{"Microsoft SMTP Server", "Postfix"}, {"Microsoft SMTP Server", "Other SMTP Server"},
		{"via Frontend\n Transport", "via Mailbox\n Transport"},
		{"Received: ", "X-Received: "},
	} {
		a.spoof(truth, a.editBoundary(mail, d[0], d[1]), "boundary Received: %s for %s", d[1], d[0])
	}
	for _, by := range []string{"ex01.corp.example.net", "mail.mallory.example", "outlook.com.mallory.example", "notoutlook.com"} {
		f := field{"Received: from mx.example.net (192.0.2.9) by " + by + " with Microsoft SMTP Server id 15.2.1544.4; Sat, 21 Nov 2026 06:58:44 +0000\n", true}
		a.spoof(truth, inject(mail, top, f), "read at %s, where all of this came in", by)
	}
	for _, text := range []string{"X-Note: x\n", "From : x@mallory.example\n", "Return-Path: <x@mallory.example>\n", "DKIM-Signature: v=1; d=mallory.example\n"} {
		a.spoof(truth, inject(mail, top, field{text, true}), "%q above the verdict", text)
	}
	for _, text := range exchangeFields[:10] {
		name, _, _ := strings.Cut(text, ":")
		if slices.ContainsFunc(mail, func(f field) bool { return f.own && strings.HasPrefix(f.raw, name+":") }) && !strings.Contains(name, "CrossTenant-Auth") && !strings.Contains(name, "-Id") {
			a.spoof(truth, inject(mail, sent, field{raw: text + "\n"}), "%s twice", name)
			a.spoof(truth, inject(mail, end, field{raw: strings.Replace(text, ":", " :", 1) + "\n"}), "%s twice, once with a blank", name)
		}
	}
}

// edit changes the receiver's fields of a name.
func edit(fields []field, name, old, with string) []field {
	out := slices.Clone(fields)
	for i, f := range out {
		if f.own && f.name() == name {
			out[i].raw = strings.Replace(f.raw, old, with, 1)
		}
	}
	return out
}

func (a *attacker) editBoundary(fields []field, old, with string) []field {
	out := slices.Clone(fields)
	for i, f := range out {
		if f.own && f.name() == "received" && strings.Contains(f.raw, ".mail.protection.outlook.com") {
			out[i].raw = strings.Replace(f.raw, old, with, 1)
		}
	}
	return out
}
