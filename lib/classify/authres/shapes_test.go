package authres

import (
	"strings"
	"testing"
)

const gmail = "mx.google.com;\r\n" +
	"       dkim=pass header.i=@example.com header.s=20230601 header.b=AbC/+d12;\r\n" +
	"       spf=pass (google.com: domain of me@example.com designates 192.0.2.1 as permitted sender) smtp.mailfrom=me@example.com;\r\n" +
	"       dmarc=pass (p=REJECT sp=REJECT dis=NONE) header.from=example.com;\r\n" +
	"       dara=pass header.i=@example.org"

// parseValue parses a value whatever id it bears.
func parseValue(value string) (Field, error) {
	return Read(value, func(string) bool { return true })
}

// dump writes a field on one line, as the tables below expect it.
func dump(f Field) string {
	var b strings.Builder
	b.WriteString(f.AuthservID)
	for _, r := range f.Results {
		b.WriteString(" | " + r.Method + "=" + r.Value)
		if r.Reason != "" {
			b.WriteString(" <" + r.Reason + ">")
		}
		for _, p := range r.Props {
			b.WriteString(" " + p.Type + "." + p.Name + "=" + p.Value)
		}
	}
	return b.String()
}

// shapes come from public documentation, bug reports and archived mail. The names and
// values are examples.
var shapes = []struct{ name, in, want string }{
	{"gmail", gmail,
		"mx.google.com | dkim=pass header.i=@example.com header.s=20230601 header.b=AbC/+d12 | spf=pass smtp.mailfrom=me@example.com | dmarc=pass header.from=example.com | dara=pass header.i=@example.org"},
	{"gmail arc and quoted b", "mx.google.com;\r\n dkim=pass header.i=@example.com header.s=s1 header.b=\"AbC/+d12\";\r\n arc=pass (i=1 spf=pass spfdomain=example.com dkim=pass dkdomain=example.com dmarc=pass fromdomain=example.com);\r\n dmarc=pass (p=NONE sp=NONE dis=NONE) header.from=example.com",
		"mx.google.com | dkim=pass header.i=@example.com header.s=s1 header.b=AbC/+d12 | arc=pass | dmarc=pass header.from=example.com"},
	{"gmail bounce address", `mx.google.com; spf=pass (google.com: domain of bounce+abc=def@x.example designates 2001:db8::1 as permitted sender) smtp.mailfrom="bounce+abc=def@x.example"`,
		"mx.google.com | spf=pass smtp.mailfrom=bounce+abc=def@x.example"},
	{"yahoo", "atlas-production.v2-mail-prod1-gq1.omega.yahoo.com;\r\n dkim=pass header.i=@example.com header.s=s2048 arc_overridden_status=NOT_OVERRIDDEN;\r\n spf=pass smtp.mailfrom=example.com;\r\n dmarc=pass(p=NONE,sp=QUARANTINE) header.from=example.com;",
		"atlas-production.v2-mail-prod1-gq1.omega.yahoo.com | dkim=pass header.i=@example.com header.s=s2048 .arc_overridden_status=NOT_OVERRIDDEN | spf=pass smtp.mailfrom=example.com | dmarc=pass header.from=example.com"},
	{"fastmail", "mx6.messagingengine.com;\r\n    arc=none (no signatures found);\r\n    bimi=skipped (DMARC Policy is not at enforcement);\r\n" +
		"    dkim=pass (2048-bit rsa key sha256) header.d=example.com\r\n      header.i=@example.com header.b=oF80QtY/ header.a=rsa-sha256\r\n      header.s=fm2 x-bits=2048;\r\n" +
		"    dmarc=pass policy.published-domain-policy=reject\r\n      policy.applied-disposition=none policy.policy-from=p\r\n      (p=reject,d=none,d.eval=none) header.from=example.com;\r\n" +
		"    iprev=pass smtp.remote-ip=192.0.2.1 (out1.example.com);\r\n    spf=pass smtp.mailfrom=me@example.com smtp.helo=out1.example.com;\r\n" +
		"    x-aligned-from=pass (Address match);\r\n    x-csa=none;\r\n    x-me-sender=none;\r\n    x-ptr=pass smtp.helo=out1.example.com policy.ptr=out1.example.com;\r\n" +
		"    x-return-mx=pass header.domain=example.com policy.is_org=yes\r\n      (MX Records found: mx.example.com);\r\n" +
		"    x-tls=pass smtp.version=TLSv1.3 smtp.cipher=TLS_AES_256_GCM_SHA384\r\n      smtp.bits=256/256;\r\n    x-vs=clean score=-100 state=0",
		"mx6.messagingengine.com | arc=none | bimi=skipped | dkim=pass header.d=example.com header.i=@example.com header.b=oF80QtY/ header.a=rsa-sha256 header.s=fm2 .x-bits=2048" +
			" | dmarc=pass policy.published-domain-policy=reject policy.applied-disposition=none policy.policy-from=p header.from=example.com" +
			" | iprev=pass smtp.remote-ip=192.0.2.1 | spf=pass smtp.mailfrom=me@example.com smtp.helo=out1.example.com | x-aligned-from=pass | x-csa=none | x-me-sender=none" +
			" | x-ptr=pass smtp.helo=out1.example.com policy.ptr=out1.example.com | x-return-mx=pass header.domain=example.com policy.is_org=yes" +
			" | x-tls=pass smtp.version=TLSv1.3 smtp.cipher=TLS_AES_256_GCM_SHA384 smtp.bits=256/256 | x-vs=clean .score=-100 .state=0"},
	{"fastmail of 2018", "mx6.messagingengine.com; x-return-mx=pass smtp.domain=example.com smtp.result=pass smtp_is_org_domain=yes; x-tls=pass version=TLSv1.2 cipher=ECDHE-RSA-AES128-GCM-SHA256 bits=128/128",
		"mx6.messagingengine.com | x-return-mx=pass smtp.domain=example.com smtp.result=pass .smtp_is_org_domain=yes | x-tls=pass .version=TLSv1.2 .cipher=ECDHE-RSA-AES128-GCM-SHA256 .bits=128/128"},
	{"zoho", "mx.zohomail.eu;\r\n\tdkim=pass;\r\n\tspf=pass (zohomail.eu: domain of example.com designates 192.0.2.1 as permitted sender)  smtp.mailfrom=me@example.com;\r\n\tarc=pass (i=1 dmarc=pass fromdomain=example.com);\r\n\tdmarc=pass(p=none dis=none)  header.from=example.com",
		"mx.zohomail.eu | dkim=pass | spf=pass smtp.mailfrom=me@example.com | arc=pass | dmarc=pass header.from=example.com"},
	{"zoho angle address", "mx.zohomail.com; dkim=pass  header.i=example.com; dmarc=pass header.from=<me@example.com>",
		"mx.zohomail.com | dkim=pass header.i=example.com | dmarc=pass header.from=<me@example.com>"},
	{"mail.ru", "mxs.mail.ru; spf=pass (mx123.i.mail.ru: domain of example.com designates 192.0.2.1 as permitted sender) smtp.mailfrom=me@example.com smtp.helo=out.example.com;\r\n\t dkim=pass header.d=example.com; dmarc=pass header.from=me@example.com",
		"mxs.mail.ru | spf=pass smtp.mailfrom=me@example.com smtp.helo=out.example.com | dkim=pass header.d=example.com | dmarc=pass header.from=me@example.com"},
	{"yandex", "mxfront12.mail.yandex.net; spf=pass (mxfront12.mail.yandex.net: domain of example.com designates 192.0.2.1 as permitted sender, rule=[ip4:192.0.2.0/24]) smtp.mail=me@example.com; dkim=pass header.i=@example.com",
		"mxfront12.mail.yandex.net | spf=pass smtp.mail=me@example.com | dkim=pass header.i=@example.com"},
	{"rspamd", `mx.example.net; dkim=pass header.d=example.com header.s=s1 header.b="oF80/tY+"; dmarc=pass (policy=reject) header.from=example.com; spf=pass (mx.example.net: domain of "me=x@example.com" designates 192.0.2.1 as permitted sender) smtp.mailfrom="me=x@example.com"`,
		"mx.example.net | dkim=pass header.d=example.com header.s=s1 header.b=oF80/tY+ | dmarc=pass header.from=example.com | spf=pass smtp.mailfrom=me=x@example.com"},
	{"rspamd failing", `mx.example.net; dkim=fail ("headers rsa verify failed") header.d=example.com header.s=s1 header.b=abc; dmarc=fail reason="No valid SPF, No valid DKIM" header.from=example.com (policy=none)`,
		"mx.example.net | dkim=fail header.d=example.com header.s=s1 header.b=abc | dmarc=fail <No valid SPF, No valid DKIM> header.from=example.com"},
	{"exim", "mail.example.net;\r\n\tiprev=pass (out.example.com) smtp.remote-ip=2001:db8::1;\r\n\tspf=pass smtp.mailfrom=example.com;\r\n\tdkim=pass header.d=example.com header.s=s1 header.a=rsa-sha256;\r\n\tdmarc=pass header.from=example.com;\r\n\tarc=pass (i=2) header.s=arc-1 arc.oldest-pass=0 smtp.remote-ip=2001:db8::1",
		"mail.example.net | iprev=pass smtp.remote-ip=2001:db8::1 | spf=pass smtp.mailfrom=example.com | dkim=pass header.d=example.com header.s=s1 header.a=rsa-sha256 | dmarc=pass header.from=example.com | arc=pass header.s=arc-1 arc.oldest-pass=0 smtp.remote-ip=2001:db8::1"},
	{"mox", " (mail.example.net) mail.example.net;\r\n\tiprev=pass (without dnssec) policy.iprev=192.0.2.1;\r\n\tdkim=pass (2048 bit rsa, without dnssec) header.d=example.com\r\n\theader.s=s1 header.a=rsa-sha256 header.b=n1/oTYvGpOPX;\r\n\tdmarc=pass (without dnssec) header.from=example.com;\r\n\ttls=pass smtp.cipher=\"\"",
		"mail.example.net | iprev=pass policy.iprev=192.0.2.1 | dkim=pass header.d=example.com header.s=s1 header.a=rsa-sha256 header.b=n1/oTYvGpOPX | dmarc=pass header.from=example.com | tls=pass smtp.cipher="},
	{"amavis", "mail.example.net (amavisd-new);\r\n\tdkim=pass (2048-bit key) reason=\"pass (just generated, assumed good)\"\r\n\theader.d=example.com; domainkeys=pass (1024-bit key)\r\n\theader.from=me@example.com header.d=example.com",
		"mail.example.net | dkim=pass <pass (just generated, assumed good)> header.d=example.com | domainkeys=pass header.from=me@example.com header.d=example.com"},
	{"opendkim", "mail.example.net;\r\n\tdkim=pass (1024-bit key; unprotected) header.d=example.com header.i=@example.com header.b=\"abc+/123\";\r\n\tdkim-atps=neutral",
		"mail.example.net | dkim=pass header.d=example.com header.i=@example.com header.b=abc+/123 | dkim-atps=neutral"},
	{"opendkim reason last", `smtp.example.net; dkim=fail (2048-bit key) header.d=example.com header.i=@example.com header.b=nnBiZ33m reason="signature verification failed"; arc=none smtp.client-ip=192.0.2.1`,
		"smtp.example.net | dkim=fail <signature verification failed> header.d=example.com header.i=@example.com header.b=nnBiZ33m | arc=none smtp.client-ip=192.0.2.1"},
	{"opendmarc", "OpenDMARC; dmarc=pass (p=none dis=none) header.from=example.com", "OpenDMARC | dmarc=pass header.from=example.com"},
	{"policyd-spf", "mail.example.net; spf=pass (sender SPF authorized) smtp.mailfrom=example.com (client-ip=192.0.2.1; helo=out.example.com; envelope-from=me@example.com; receiver=<UNKNOWN>)",
		"mail.example.net | spf=pass smtp.mailfrom=example.com"},
	{"proton", "mail.protonmail.ch; dkim=pass (Good\r\n    rsa-sha256 signature) header.d=example.com header.i=@example.com\r\n    header.a=rsa-sha256", "mail.protonmail.ch | dkim=pass header.d=example.com header.i=@example.com header.a=rsa-sha256"},
	{"icloud", "dkim-verifier.icloud.com;\r\n\tdkim=pass (2048-bit key) header.d=example.com header.i=@example.com header.b=dF8kTQ3x", "dkim-verifier.icloud.com | dkim=pass header.d=example.com header.i=@example.com header.b=dF8kTQ3x"},
	{"icloud bimi", "bimi.icloud.com; bimi=pass policy.authority-uri=\r\n https://vmc.example/vmc.pem", "bimi.icloud.com | bimi=pass policy.authority-uri=https://vmc.example/vmc.pem"},
	{"mailgun", "mxa.mailgun.org; dkim=pass header.i=@example.com; spf=pass smtp.mailfrom=me@example.com; dmarc=pass (p=none) header.from=example.com", "mxa.mailgun.org | dkim=pass header.i=@example.com | spf=pass smtp.mailfrom=me@example.com | dmarc=pass header.from=example.com"},
	{"amazon ses", "amazonses.com;\r\n spf=pass (spfCheck: domain of example.com designates 192.0.2.1 as permitted sender) client-ip=192.0.2.1; envelope-from=me@example.com; helo=out.example.com;\r\n dkim=pass header.i=@example.com;\r\n dmarc=pass header.from=example.com;",
		"amazonses.com | spf=pass .client-ip=192.0.2.1 | envelope-from=me@example.com | helo=out.example.com | dkim=pass header.i=@example.com | dmarc=pass header.from=example.com"},
	{"mimecast", "relay.mimecast.com;\r\n\tdkim=pass header.d=example.com header.s=s1 header.b=x1y2z3;\r\n\tdmarc=pass (policy=none) header.from=example.com;\r\n\tspf=pass (relay.mimecast.com: domain of me@example.com designates 192.0.2.1 as permitted sender) smtp.mailfrom=me@example.com",
		"relay.mimecast.com | dkim=pass header.d=example.com header.s=s1 header.b=x1y2z3 | dmarc=pass header.from=example.com | spf=pass smtp.mailfrom=me@example.com"},
	{"cisco", "esa1.example.net; spf=Pass smtp.mailfrom=me@example.com; spf=None smtp.helo=postmaster@out.example.com; dkim=pass (signature verified) header.i=@example.com; dmarc=pass (p=none dis=none) d=example.com",
		"esa1.example.net | spf=pass smtp.mailfrom=me@example.com | spf=none smtp.helo=postmaster@out.example.com | dkim=pass header.i=@example.com | dmarc=pass .d=example.com"},
	{"microsoft arc style", "mx.microsoft.com 1; spf=pass smtp.mailfrom=example.com; dmarc=pass action=none header.from=example.com; dkim=pass header.d=example.com; arc=none",
		"mx.microsoft.com | spf=pass smtp.mailfrom=example.com | dmarc=pass .action=none header.from=example.com | dkim=pass header.d=example.com | arc=none"},
	{"gmx", "gmx.net; dkim=pass header.i=@example.com", "gmx.net | dkim=pass header.i=@example.com"},
	{"null sender", "mail.example.net; spf=none smtp.mailfrom=<>", "mail.example.net | spf=none smtp.mailfrom=<>"},

	{"rfc 8601 b.2", "example.org 1; none", "example.org"},
	{"rfc 8601 b.4", "example.com;\r\n auth=pass (cram-md5) smtp.auth=sender@example.net;\r\n spf=pass smtp.mailfrom=example.net", "example.com | auth=pass smtp.auth=sender@example.net | spf=pass smtp.mailfrom=example.net"},
	{"rfc 8601 b.6", "example.com; dkim=pass reason=\"good signature\"\r\n header.i=@mail-router.example.net;\r\n dkim=fail reason=\"bad signature\"\r\n header.i=@newyork.example.com",
		"example.com | dkim=pass <good signature> header.i=@mail-router.example.net | dkim=fail <bad signature> header.i=@newyork.example.com"},
	{"rfc 8601 b.7", "foo.example.net (foobar) 1 (baz);\r\n    dkim (Because I like it) / 1 (One yay) = (wait for it) fail\r\n      policy (A dot can go here) . (like that) expired\r\n    (this surprised me) = (as I wasn't expecting it) 1362471462",
		"foo.example.net | dkim=fail policy.expired=1362471462"},
	{"none, comments, final semicolon", " (a) example.org (b) ; (c) NONE (d) ; (e) ", "example.org"},
	{"a method named none", "example.org; none=pass", "example.org | none=pass"},
	{"method version", "a.example; dkim/1=pass header.d=x.example", "a.example | dkim=pass header.d=x.example"},
	{"blanks around everything", " a.example ;\tdkim / 1 = pass  header . d = x.example ; ", "a.example | dkim=pass header.d=x.example"},
	{"no blanks at all", "a.example;dkim=pass(c)header.d=x.example header.s=s;spf=none", "a.example | dkim=pass header.d=x.example header.s=s | spf=none"},
	{"case of keywords", "A.Example; DKIM=Pass Header.D=X.example", "A.Example | dkim=pass header.d=X.example"},
	{"reason with results in it", `a.example; dkim=fail reason="a; dmarc=pass" header.d=x.example`, "a.example | dkim=fail <a; dmarc=pass> header.d=x.example"},
	{"quoted value with pairs and a fold", "a.example; dkim=fail header.x=\"a\\\"b\\\\c\r\n d\"", `a.example | dkim=fail header.x=a"b\c d`},
	{"oldest pass", "a.example; arc=pass header.oldest-pass=0", "a.example | arc=pass header.oldest-pass=0"},
	{"quoted id keeps its quotes", `"a.example"; none`, `"a.example"`},
	{"quoted local part is one value", `a.example; spf=fail smtp.mailfrom="a b; dkim=pass"@evil.example; dkim=none`, `a.example | spf=fail smtp.mailfrom="a b; dkim=pass"@evil.example | dkim=none`},
	{"quotes never vanish from an address", `a.example; dkim=pass header.i="me@example.com"@evil.example`, `a.example | dkim=pass header.i="me@example.com"@evil.example`},
	{"nested comments", "a.example (one (two (three)) \\) four); dkim=none", "a.example | dkim=none"},
	{"UTF-8", "пример.example (Ж\u00a0\ufffd\U0001f600); dkim=pass header.i=@bücher.example reason=\"naïve\"", "пример.example | dkim=pass <naïve> header.i=@bücher.example"},
}

func TestShapes(t *testing.T) {
	for _, tt := range shapes {
		t.Run(tt.name, func(t *testing.T) {
			f, err := parseValue(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if got := dump(f); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestProp(t *testing.T) {
	f, err := parseValue("a.example; dkim=pass header.d=x.example d=y.example header.s=a header.s=a; dmarc=fail; dkim=fail")
	if err != nil {
		t.Fatal(err)
	}
	dkim := f.method("dkim")
	if len(dkim) != 2 || dkim[0].Value != "pass" || dkim[1].Value != "fail" || len(f.method("spf")) != 0 {
		t.Fatalf("Method: got %v", dkim)
	}
	for _, tt := range []struct {
		ptype, name, want string
		n                 int
	}{
		{"header", "d", "x.example", 1},
		{"", "d", "y.example", 1},
		{"header", "s", "", 2},
		{"header", "i", "", 0},
		{"smtp", "d", "", 0},
	} {
		if got, n := dkim[0].Prop(tt.ptype, tt.name); got != tt.want || n != tt.n {
			t.Errorf("Prop(%q, %q) = %q, %d; want %q, %d", tt.ptype, tt.name, got, n, tt.want, tt.n)
		}
	}
}

func BenchmarkParseGmail(b *testing.B) {
	b.SetBytes(int64(len(gmail)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseValue(gmail); err != nil {
			b.Fatal(err)
		}
	}
}

// method returns the results of a method (lower case), in the order of the field.
func (f Field) method(name string) []Result {
	var found []Result
	for i := range f.Results {
		if f.Results[i].Method == name {
			found = append(found, f.Results[i])
		}
	}
	return found
}
