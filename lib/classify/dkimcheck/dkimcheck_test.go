package dkimcheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pulse/lib/classify/identity"
	"pulse/lib/fetch/bodyhash"
	"pulse/lib/fetch/message"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
)

// TestGood: every legitimate signature passes.
func TestGood(t *testing.T) {
	with := func(change func(*stamp)) stamp {
		s := signer()
		change(&s)
		return s
	}
	ed := with(func(s *stamp) { s.key, s.sel = edKey(), "e1" })
	stamps := map[string]stamp{
		"relaxed":        signer(),
		"ed25519":        ed,
		"simple":         with(func(s *stamp) { s.canon = "simple/simple" }),
		"simple/relaxed": with(func(s *stamp) { s.canon = "simple/relaxed" }),
		"relaxed/simple": with(func(s *stamp) { s.canon = "relaxed/simple" }),
		"oversigned": with(func(s *stamp) {
			s.names = "From:From:To:To:Cc:Cc:Subject:Subject:Date:Message-ID:Reply-To:Content-Type"
		}),
		"q=":                  with(func(s *stamp) { s.more = "q=dns/txt; " }),
		"q= list":             with(func(s *stamp) { s.more = "q=dns/txt:foo; " }),
		"q= folded":           with(func(s *stamp) { s.more = "q=foo\r\n : dns/txt ; " }),
		"i= upper case":       with(func(s *stamp) { s.more = "i=me@EXAMPLE.com; " }),
		"i= upper case below": with(func(s *stamp) { s.more = "i=@mail.Example.COM; " }),
		"many lines":          with(func(s *stamp) { s.more = strings.Repeat("\r\n ", 1001) + "zz=; " }),
		"t= and x=":           with(func(s *stamp) { s.more = fmt.Sprintf("t=%d; x=%d; ", now.Unix()-60, now.Unix()+600) }),
		"t= just ahead":       with(func(s *stamp) { s.more = fmt.Sprintf("t=%d; ", now.Unix()+60) }),
		"i=":                  with(func(s *stamp) { s.more = "i=me@example.com; " }),
		"i= subdomain":        with(func(s *stamp) { s.more = "i=@mail.example.com; " }),
		"unknown tag":         with(func(s *stamp) { s.more = "zz=whatever; " }),
	}
	for name, s := range stamps {
		t.Run(name, func(t *testing.T) {
			d := verify(t, world(), s.sign(mail))
			if len(d.Signatures) != 1 || d.Signatures[0].Result != envelope.DKIMPass {
				t.Fatalf("%+v", d)
			}
			if d.From != "example.com" || d.DMARC.Result != envelope.DMARCFound || d.DMARC.Policy != "reject" {
				t.Errorf("%+v", d)
			}
			if id := classify(t, s.sign(mail), d, "dkim"); !id.Verified || id.Signed == "" {
				t.Errorf("%+v", id)
			}
		})
	}
}

func classify(t *testing.T, text string, d *envelope.DKIM, evidence string) identity.Identity {
	t.Helper()
	p, err := policy.Parse("p", []byte("owners = [\"me@example.com\"]\nevidence = \""+evidence+"\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	m, _ := fetched(text)
	m.DKIM = d
	return identity.Classify(m, p)
}

// attack is a message and its DNS, and what becomes of its only signature.
type attack struct {
	stamp  func(*stamp)
	zone   func(*zone)
	mail   func(string) string // before it is signed
	after  func(string) string // once it is signed
	result envelope.Verdict
	why    string
}

func replace(old, new string) func(string) string {
	return func(s string) string {
		if !strings.Contains(s, old) {
			panic(old)
		}
		return strings.Replace(s, old, new, 1)
	}
}

func prefix(p string) func(string) string { return func(s string) string { return p + s } }

func more(format string, args ...any) func(*stamp) {
	return func(s *stamp) { s.more = fmt.Sprintf(format, args...) }
}

func key(record string, more ...string) func(*zone) {
	return func(z *zone) { z.set("s1._domainkey.example.com", append([]string{record}, more...)...) }
}

// attacks all have a signature whose hash and key are genuine, unless the case is
// about those.
func attacks() map[string]attack {
	pub := pkix(rsaKey())
	const fail, pol, neutral, perm = envelope.DKIMFail, envelope.DKIMPolicy, envelope.DKIMNeutral, envelope.DKIMPermError
	return map[string]attack{
		"body changed":          {after: replace("news.", "mail."), result: fail, why: "body hash"},
		"body longer":           {after: func(s string) string { return s + "more\r\n" }, result: fail, why: "body hash"},
		"Subject changed":       {after: replace("News", "Send"), result: fail, why: "signature did not verify"},
		"From changed":          {after: replace("Me <", "You <"), result: fail, why: "signature did not verify"},
		"tag changed":           {stamp: more("zz=1; "), after: replace("zz=1", "zz=2"), result: fail, why: "signature did not verify"},
		"l=":                    {stamp: more("l=10; "), result: pol, why: "l="},
		"l=0":                   {stamp: more("l=0; "), result: pol, why: "l="},
		"rsa-sha1":              {stamp: func(s *stamp) { s.algo = "rsa-sha1" }, result: pol, why: "algorithm"},
		"no algorithm":          {stamp: func(s *stamp) { s.algo = "none" }, result: pol, why: "algorithm"},
		"expired":               {stamp: more("x=%d; ", now.Unix()-1), result: pol, why: "expired"},
		"expires now":           {stamp: more("x=%d; ", now.Unix()), result: pol, why: "expired"},
		"future":                {stamp: more("t=%d; ", now.Unix()+301), result: pol, why: "future"},
		"expired before signed": {stamp: more("t=%d; x=%d; ", now.Unix()+100, now.Unix()+50), result: pol, why: "before it was signed"},
		"t= signed number":      {stamp: more("t=+1; "), result: pol, why: "t="},
		"x= of 13 digits":       {stamp: more("x=1000000000000; "), result: pol, why: "x="},
		"x= empty":              {stamp: more("x=; "), result: pol, why: "x="},
		"Subject unsigned":      {stamp: names("From:To:Date:Message-ID"), result: pol, why: "Subject is not signed"},
		"From unsigned":         {stamp: names("To:Subject:Date:Message-ID"), result: pol, why: "From is not signed"},
		"Cc added, oversigned":  {after: prefix("Cc: all@example.org\r\n"), result: fail, why: "signature did not verify"},
		"h= with a hole":        {stamp: names(allNames + "::x"), result: neutral, why: "h="},
		"h= too long":           {stamp: names(allNames + strings.Repeat(":x", 100)), result: neutral, why: "more than 100"},
		"wrong i=":              {stamp: more("i=me@example.org; "), result: neutral, why: "outside d="},
		"i= ends alike":         {stamp: more("i=me@badexample.com; "), result: neutral, why: "outside d="},
		"i= without @":          {stamp: more("i=sub.example.com; "), result: neutral, why: "i= is not"},
		"i= with two @":         {stamp: more("i=me@example.org@example.com; "), result: neutral, why: "i= is not"},
		"i= quoted":             {stamp: more("i=\"a b\"@example.com; "), result: neutral, why: "i= is not"},
		"i= escaped":            {stamp: more("i=m=65@example.com; "), result: neutral, why: "i= is not"},
		"51 tags":               {stamp: more("%s", manyTags()), result: neutral, why: "more than 50"},
		"i= with b=":            {stamp: more("i=b=x@example.com; "), result: neutral, why: "reads like b="},
		"tag ends in b":         {stamp: more("xb=1; "), result: neutral, why: "reads like b="},
		"duplicate tag":         {stamp: more("d=example.com; "), result: neutral, why: "twice"},
		"v=2":                   {after: replace("v=1;", "v=2;"), result: neutral, why: "version"},
		"no bh=":                {after: replace("bh=", "bx="), result: neutral, why: "bh= is missing"},
		"c= unknown":            {stamp: func(s *stamp) { s.canon = "relaxed/nowsp" }, result: neutral, why: "c="},
		"c= with nothing":       {stamp: func(s *stamp) { s.canon = "relaxed/" }, result: neutral, why: "c="},
		"q= unknown":            {stamp: more("q=dns/null; "), result: neutral, why: "q="},
		"q= of unknown ones":    {stamp: more("q=dns/null:x-http/txt; "), result: neutral, why: "q="},
		"bh= no base64":         {after: replace("bh=", "bh=*"), result: neutral, why: "bh="},
		"b= no base64":          {after: replace("\tb=", "\tb=*"), result: neutral, why: "b="},
		"key ed25519, short":    {stamp: func(s *stamp) { s.key = edKey() }, zone: key("v=DKIM1; k=ed25519; p=AAAA"), result: perm, why: "can't be read"},
		"no-break space in d=":  {after: replace("d=example.com", "d=example\u00a0.com"), result: neutral, why: "byte"},
		"blank in d=":           {after: replace("d=example.com", "d=exam ple.com"), result: neutral, why: "d= is not"},
		"d= of one label":       {stamp: func(s *stamp) { s.domain = "com" }, result: neutral, why: "d= is not"},
		"unaligned":             {stamp: func(s *stamp) { s.domain = "evil.example" }, result: neutral, why: "not by the domain of From"},
		"of one suffix":         {stamp: func(s *stamp) { s.domain = "other.com" }, result: neutral, why: "not by the domain of From"},
		"selector":              {stamp: func(s *stamp) { s.sel = "a b" }, result: neutral, why: "s= is not"},
		"huge":                  {stamp: more("zz=%s; ", strings.Repeat("x", maxSignature)), result: neutral, why: "longer than"},
		"no key":                {stamp: func(s *stamp) { s.sel = "s2" }, result: perm, why: "there is no key"},
		"revoked":               {zone: key("v=DKIM1; p="), result: perm, why: "revoked"},
		"p= missing":            {zone: key("v=DKIM1; k=rsa"), result: perm, why: "revoked"},
		"two keys":              {zone: key("v=DKIM1; p="+pub, "v=DKIM1; p="+pub), result: perm, why: "more than one"},
		"key for another algo":  {zone: key("v=DKIM1; k=ed25519; p=" + pub), result: perm, why: "another algorithm"},
		"key for sha1":          {zone: key("v=DKIM1; h=sha1; p=" + pub), result: perm, why: "another hash"},
		"key for chat":          {zone: key("v=DKIM1; s=chat; p=" + pub), result: perm, why: "not for mail"},
		"key on trial":          {zone: key("v=DKIM1; t=y; p=" + pub), result: pol, why: "t=y"},
		"key on trial and s":    {zone: key("v=DKIM1; t=s : y; p=" + pub), result: pol, why: "t=y"},
		"key version":           {zone: key("v=DKIM2; p=" + pub), result: perm, why: "version"},
		"key doubled tag":       {zone: key("p=; p=" + pub), result: perm, why: "can't be read"},
		"key garbage":           {zone: key("v=DKIM1; p=AAAA"), result: perm, why: "can't be read"},
		"key no base64":         {zone: key("v=DKIM1; p=*"), result: perm, why: "can't be read"},
		"key too large":         {zone: key("v=DKIM1; n=" + strings.Repeat("x", maxRecord) + "; p=" + pub), result: perm, why: "too large"},
		"another key":           {zone: key("v=DKIM1; p=" + pkix(newRSA(1024))), result: fail, why: "signature did not verify"},
		"subdomain forbidden":   {stamp: more("i=@a.example.com; "), zone: key("v=DKIM1; t=s; p=" + pub), result: pol, why: "t=s"},
		"key unreachable":       {zone: func(z *zone) { z.silent["s1._domainkey.example.com"] = true }, result: envelope.DKIMTempError, why: "no answer"},
	}
}

func manyTags() string {
	var s strings.Builder
	for i := range 44 { // besides v a c d s h bh
		fmt.Fprintf(&s, "z%d=; ", i)
	}
	return s.String()
}

func names(h string) func(*stamp) { return func(s *stamp) { s.names = h } }

func TestAttacks(t *testing.T) {
	for name, a := range attacks() {
		t.Run(name, func(t *testing.T) {
			z, text := a.build()
			d := verify(t, z, text)
			if len(d.Signatures) != 1 {
				t.Fatalf("%+v", d)
			}
			s := d.Signatures[0]
			if s.Result != a.result || !strings.Contains(s.Why, a.why) {
				t.Errorf("%s: %s, want %s: %s", s.Result, s.Why, a.result, a.why)
			}
			if id := classify(t, text, d, "dkim"); id.Verified || id.Signed != "" {
				t.Errorf("verified: %+v", id)
			}
			if d.DMARC != (envelope.DMARC{}) {
				t.Errorf("DMARC was looked up for nothing: %+v", d.DMARC)
			}
		})
	}
}

// TestUnsigned: a signature need not cover To, Cc and Message-ID, and identity.unsigned
// says which it does not cover. Rewriting one of those does not change the mail's name.
func TestUnsigned(t *testing.T) {
	rewrite := func(text string) string {
		return strings.Replace(text, "Message-ID: <", "Message-ID: <x", 1)
	}
	for what, c := range map[string]struct {
		attack
		want string
	}{
		"To":             {attack{stamp: names("From:Subject:Date:Message-ID")}, "To"},
		"Message-ID":     {attack{stamp: names("From:To:Subject:Date")}, "Message-ID"},
		"Cc, added":      {attack{stamp: names("From:To:Subject:Date:Message-ID"), after: prefix("Cc: all@example.org\r\n")}, "Cc"},
		"all that can":   {attack{stamp: names("From:Subject:Date")}, "To Message-ID"},
		"nothing at all": {attack{}, ""},
	} {
		z, text := c.build()
		id := classify(t, text, verify(t, z, text), "dkim")
		if got := strings.Join(id.Unsigned.Names(), " "); !id.Verified || got != c.want || id.Signed == "" {
			t.Errorf("%s: %q is unsigned, %s", what, got, id.Why)
		}
		if !strings.Contains(c.want, "Message-ID") {
			continue
		}
		again := rewrite(text)
		if other := classify(t, again, verify(t, z, again), "dkim"); other.Signed != id.Signed || again == text {
			t.Errorf("%s: another name, %s", what, other.Signed)
		}
	}
}

// TestSigners: what the large signers sign proves the sender without recipients in the
// policy, and identity.unsigned says what they leave out.
func TestSigners(t *testing.T) {
	for name, c := range map[string]struct {
		names    string
		unsigned string
		refused  string
	}{
		"Gmail":               {names: "to:subject:message-id:date:from:mime-version:from:to:cc:subject:date:message-id:reply-to"},
		"Yahoo":               {names: "Date:From:To:Subject:References:From:Subject:Reply-To", unsigned: "Cc Message-ID"},
		"Yahoo, without To":   {names: "Date:From:Subject:References:From:Subject", unsigned: "To Cc Message-ID"},
		"AOL":                 {names: "Date:From:To:Cc:Subject:References:From:Subject:Reply-To", unsigned: "Message-ID"},
		"iCloud":              {names: "From:Content-Type:Mime-Version:Subject:Date:To:Cc:Message-Id"},
		"iCloud, without To":  {names: "from:content-type:mime-version:subject:message-id:date", unsigned: "To Cc"},
		"iCloud, older":       {names: "From:Content-Type:Mime-Version:Subject:Date:To", unsigned: "Cc Message-ID"},
		"Microsoft 365":       {names: "From:Date:Subject:Message-ID:Content-Type:MIME-Version:X-MS-Exchange-SenderADCheck", unsigned: "To Cc"},
		"GMX":                 {names: "X-UI-Sender-Class:From:To:Cc:Subject:Date", unsigned: "Message-ID"},
		"GitHub":              {names: "Date:From:To:Subject:From", unsigned: "Cc Message-ID"},
		"SendGrid":            {names: "content-transfer-encoding:content-type:from:mime-version:subject:to:cc", refused: "Date is not signed"},
		"SendGrid, with Date": {names: "content-type:date:from:mime-version:subject:reply-to:to:cc", unsigned: "Message-ID"},
	} {
		s := signer()
		s.names = c.names
		text := s.sign("Cc: you@example.com\r\n" + mail)
		d := verify(t, world(), text)
		id := classify(t, text, d, "dkim")
		if got := strings.Join(id.Unsigned.Names(), " "); id.Verified != (c.refused == "") || got != c.unsigned || !strings.Contains(d.Signatures[0].Why, c.refused) {
			t.Errorf("%s: %q is unsigned, %s", name, got, id.Why)
		}
	}
}

func (a attack) build() (*zone, string) {
	s, z, text := signer(), world(), mail
	if a.stamp != nil {
		a.stamp(&s)
	}
	if a.zone != nil {
		a.zone(z)
	}
	if a.mail != nil {
		text = a.mail(text)
	}
	text = s.sign(text)
	if a.after != nil {
		text = a.after(text)
	}
	return z, text
}

// TestShortKeys: the signatures are good, and go-msgauth alone would accept a key of
// 1017 bits, which it rounds up to 128 bytes.
func TestShortKeys(t *testing.T) {
	t.Setenv("GODEBUG", "rsa1024min=0")
	for bits, want := range map[int]envelope.Verdict{
		512: envelope.DKIMPolicy, 1017: envelope.DKIMPolicy, 1023: envelope.DKIMPolicy, 1024: envelope.DKIMPass,
	} {
		s, z := signer(), world()
		short := newRSA(bits)
		s.key = short
		key("v=DKIM1; p=" + pkix(short))(z)
		if got := verify(t, z, s.sign(mail)).Signatures[0]; got.Result != want {
			t.Errorf("%d bits: %s: %s", bits, got.Result, got.Why)
		}
	}
}

// TestDNSNotAsked: if the message itself is at fault, DNS is not asked.
func TestDNSNotAsked(t *testing.T) {
	good := signer().sign(mail)
	for name, text := range map[string]string{
		"doubled From":         "From: you@example.com\r\n" + good,
		"doubled Subject":      "Subject: pay\r\n" + good,
		"Subject with a blank": "Subject : pay\r\n" + good,
		"doubled Content-Type": "Content-Type: text/html\r\n" + good,
		"two senders":          strings.Replace(good, "From: Me <me@example.com>", "From: me@example.com, you@example.com", 1),
		"no From":              strings.Replace(good, "From: Me", "Form: Me", 1),
		"control":              "X: \x00\r\n" + good,
		"Kelvin":               strings.Replace(good, "DKIM-", "D\u212aIM-", 1),
		"garbage line":         "no colon\r\n" + good,
	} {
		z := world()
		d := verify(t, z, text)
		if d.Why == "" || len(d.Signatures) > 0 || len(z.asked) > 0 {
			t.Errorf("%s: %+v, asked %v", name, d, z.asked)
		}
		if id := classify(t, text, d, "dkim"); id.Verified {
			t.Errorf("%s: verified", name)
		}
	}
}

func TestNotWhole(t *testing.T) {
	m, raw := fetched(signer().sign(mail))
	raw.Partial = true
	c := Checker{Resolver: world()}
	if d, err := c.Check(context.Background(), m, raw); err != nil || d.Why == "" {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestFiftySignatures: the first ten are looked at, and forty are counted.
func TestFiftySignatures(t *testing.T) {
	s := signer()
	good := s.sign(mail)
	s.sel = "s9"
	bad := strings.TrimSuffix(s.sign(mail), mail)
	for n, want := range map[int]bool{9: true, 10: false, 49: false} {
		z := world()
		text := strings.Repeat(bad, n) + good
		d := verify(t, z, text)
		if len(d.Signatures) != min(n+1, maxSignatures) || d.Omitted != max(0, n+1-maxSignatures) {
			t.Errorf("%d: %d looked at, %d omitted", n, len(d.Signatures), d.Omitted)
		}
		if id := classify(t, text, d, "dkim"); id.Verified != want {
			t.Errorf("%d: verified is %v", n, id.Verified)
		}
		if len(z.asked) > 3 { // s9, s1 and DMARC
			t.Errorf("%d: asked %v", n, z.asked)
		}
	}
}

// TestVoidedBesideGood: a signature that was refused stays refused, even if go-msgauth
// finds its key, because a good signature shares it, and calls the refused one good.
func TestVoidedBesideGood(t *testing.T) {
	void := signer()
	void.names = "From"
	d := verify(t, world(), void.sign(signer().sign(mail)))
	if d.Signatures[0].Result != envelope.DKIMPolicy || d.Signatures[1].Result != envelope.DKIMPass {
		t.Errorf("%+v", d.Signatures)
	}
}

// TestKeyFolded: p= may hold blanks and tabs.
func TestKeyFolded(t *testing.T) {
	pub := pkix(rsaKey())
	for _, p := range []string{pub[:30] + "\t" + pub[30:], pub[:30] + " \t " + pub[30:], pub[:3] + "\r\n\t" + pub[3:90] + " " + pub[90:]} {
		z := world()
		key("v=DKIM1; p=" + p)(z)
		if s := verify(t, z, signer().sign(mail)).Signatures[0]; s.Result != envelope.DKIMPass {
			t.Errorf("%q: %s: %s", p[:40], s.Result, s.Why)
		}
	}
}

// TestTemporary: silence is an error only if its answer could change anything, and only if
// nothing answers at all. If one domain's name servers are silent, the signature says so.
func TestTemporary(t *testing.T) {
	const key, sub, dmarc = "s1._domainkey.example.com", "s1._domainkey.a.example.com", "_dmarc.example.com"
	child := signer()
	child.domain = "a.example.com"
	ed := signer()
	ed.key, ed.sel = edKey(), "e1"
	for name, c := range map[string]struct {
		text   string
		silent []string
		err    bool
	}{
		"key":                      {signer().sign(mail), []string{key}, true},
		"DMARC":                    {signer().sign(mail), []string{dmarc}, true},
		"DMARC of a forgery":       {strings.Replace(signer().sign(mail), "news", "mail", 1), []string{dmarc}, false},
		"a child, the domain good": {child.sign(signer().sign(mail)), []string{sub}, false},
		"the domain, a child good": {child.sign(signer().sign(mail)), []string{key}, true},
		"one of two":               {ed.sign(signer().sign(mail)), []string{key}, false},
		"another domain":           {stamp{rsaKey(), "evil.example", "s1", allNames, "relaxed/relaxed", "", ""}.sign(mail), []string{"s1._domainkey.evil.example"}, false},
		"a revoked one besides":    {ed.sign(signer().sign(mail)), []string{"e1._domainkey.example.com"}, false},
	} {
		z := world()
		z.set(sub, z.txt[key]...)
		for _, s := range c.silent {
			z.silent[s] = true
		}
		m, raw := fetched(c.text)
		checker := Checker{Resolver: z}
		aside, err := checker.Check(context.Background(), m, raw)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		asked := slices.Clone(z.asked)
		if z.silent[""] = true; slices.Contains(asked, "") != c.err {
			t.Errorf("%s: asked %q", name, asked)
		}
		checker = Checker{Resolver: z}
		d, err := checker.Check(context.Background(), m, raw)
		if fmt.Sprint(aside) != fmt.Sprint(d) {
			t.Errorf("%s: %+v, and %+v if nothing answers", name, aside, d)
		}
		if errors.Is(err, ErrTemporary) != c.err || err != nil && fault.KindOf(err) != fault.Temporary {
			t.Errorf("%s: %v, %+v", name, err, d)
		}
		if c.err {
			if id := classify(t, c.text, d, "dkim"); id.Verified && name != "the domain, a child good" {
				t.Errorf("%s: verified", name)
			}
			if strings.Contains(err.Error(), "192.0.2.53") {
				t.Errorf("%s: the message names a server: %v", name, err)
			}
		}
	}
}

// slow answers when its context ends.
type slow struct{ asked int }

func (s *slow) LookupTXT(ctx context.Context, _ string) ([]string, error) {
	s.asked++
	<-ctx.Done()
	return nil, ctx.Err()
}

// slowly returns a message with five signatures, each with a key of its own.
func slowly() (*envelope.Message, message.Raw) {
	text := mail
	for i := range 5 {
		s := signer()
		s.sel = fmt.Sprint("s", i)
		text = s.sign(text)
	}
	return fetched(text)
}

func TestTimeIsBounded(t *testing.T) {
	m, raw := slowly()
	for _, c := range []struct {
		Checker
		want time.Duration // and for the question whether anything answers
	}{
		{Checker{}, 10*time.Second + 5*time.Second},
		{Checker{Lookup: time.Second}, 5*time.Second + time.Second},
		{Checker{Total: time.Second}, time.Second + 5*time.Second},
		{Checker{Aside: 20 * time.Second}, 4*time.Second + 5*time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			c.Resolver = &slow{}
			if _, err := c.Check(context.Background(), m, raw); !errors.Is(err, ErrTemporary) || time.Since(begin) != c.want {
				t.Errorf("%+v: %v after %v", c, err, time.Since(begin))
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		for _, end := range []time.Duration{0, 3 * time.Second, 12 * time.Second} {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(end, cancel)
			begin := time.Now()
			c := Checker{Resolver: &slow{}}
			if _, err := c.Check(ctx, m, raw); !errors.Is(err, context.Canceled) || errors.Is(err, ErrTemporary) || time.Since(begin) > end {
				t.Errorf("the caller's end: %v after %v", err, time.Since(begin))
			}
		}
	})
}

// zoneSlow answers at the root alone.
type zoneSlow struct{ slow }

func (z *zoneSlow) LookupTXT(ctx context.Context, name string) ([]string, error) {
	if name == "" {
		return nil, nil
	}
	return z.slow.LookupTXT(ctx, name)
}

// TestAside: messages of a silent zone step aside, and any number of them leaves half of the
// time of a run to the others.
func TestAside(t *testing.T) {
	m, raw := slowly()
	good, goodRaw := fetched(signer().sign(mail))
	synctest.Test(t, func(t *testing.T) {
		c := Checker{Aside: time.Minute}
		begin := time.Now()
		for range 200 {
			c.Resolver = &zoneSlow{}
			d, err := c.Check(context.Background(), m, raw)
			if err != nil || d.Signatures[4].Result != envelope.DKIMTempError {
				t.Fatalf("%+v, %v", d, err)
			}
		}
		if used := time.Since(begin); used > time.Minute {
			t.Errorf("they took %v", used)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := Checker{Aside: time.Minute, Resolver: world()}
		for range 200 {
			if d, err := c.Check(context.Background(), good, goodRaw); err != nil || d.Signatures[0].Result != envelope.DKIMPass {
				t.Fatalf("%+v, %v", d, err)
			}
		}
		if c.used != 0 {
			t.Errorf("those that are checked count: %v", c.used)
		}
	})
}

// TestLookupsAreBounded: a message names no more than so many questions.
func TestLookupsAreBounded(t *testing.T) {
	child := signer()
	text := mail
	for i := range maxSignatures {
		child.domain = fmt.Sprintf("a.b.c.d.e.f.g%d.example.com", i)
		text = child.sign(text)
	}
	z := world()
	for i := range maxSignatures {
		z.set(fmt.Sprintf("s1._domainkey.a.b.c.d.e.f.g%d.example.com", i), z.txt["s1._domainkey.example.com"]...)
	}
	d := verify(t, z, text)
	if len(z.asked) != maxLookups+1 || z.asked[maxLookups] != "" {
		t.Errorf("asked %d", len(z.asked))
	}
	if last := d.Signatures[maxSignatures-1]; last.Result != envelope.DKIMTempError {
		t.Errorf("%+v", last)
	}
}

// counted is a context that counts how often it is looked at, and ends after most looks.
type counted struct {
	context.Context
	looks, most int
}

func (c *counted) Err() error {
	if c.looks++; c.most > 0 && c.looks > c.most {
		return context.Canceled
	}
	return nil
}

// TestWork: the body is hashed once for each canonicalization, however many signatures there
// are, and the end of the context ends it.
func TestWork(t *testing.T) {
	const size = 100 * bodyhash.Step
	for name, body := range map[string]string{
		"blank lines": strings.Repeat("\r\n", size/2-1) + "x\n", "blanks": strings.Repeat(" ", size), "text": strings.Repeat("a b\r\n", size/5),
	} {
		whole := counted{Context: context.Background()}
		if _, err := bodyhash.Of(&whole, []byte(body), true); err != nil || whole.looks > 2*size/bodyhash.Step+2 || whole.looks < size/bodyhash.Step {
			t.Errorf("%s: %d looks, %v", name, whole.looks, err)
		}
		for most := 1; most < whole.looks; most += 7 {
			part := counted{Context: context.Background(), most: most}
			if _, err := bodyhash.Of(&part, []byte(body), true); err == nil || part.looks > most+2*bodyhash.Step {
				t.Errorf("%s: %d looks after %d, %v", name, part.looks, most, err)
			}
		}
	}
	s := signer()
	text := s.sign(mail)
	s.canon = "simple/simple"
	text = s.sign(text)
	m, raw := fetched(strings.Repeat(strings.TrimSuffix(text, mail), 5) + mail)
	k := check{m: m, body: []byte("x")}
	ctx := counted{Context: context.Background()}
	for _, f := range m.Headers[:maxSignatures] {
		s := &signature{}
		s.read(f.Name + ": " + f.Value + "\r\n")
		k.checkBody(&ctx, s)
		if s.Why != badBody {
			t.Fatalf("%+v", s)
		}
	}
	one := counted{Context: context.Background()}
	bodyhash.Of(&one, k.body, false)
	if ctx.looks != 2*one.looks {
		t.Errorf("%d looks for ten signatures, %d for one", ctx.looks, one.looks)
	}
	_ = raw
}

// TestReplay: a change to a signed message that does not break its signature does not
// change the digest of the signed fields.
func TestReplay(t *testing.T) {
	ed := signer()
	ed.key, ed.sel = edKey(), "e1"
	two := ed.sign(signer().sign(mail))
	want := signed(t, two)
	one := signer().sign(mail)
	sig := strings.Index(one, "\tb=") + 3
	for name, text := range map[string]string{
		"as it was":           two,
		"unsigned field":      "X-New: 1\r\nReply-To: x@evil.example\r\n" + two,
		"other Content-Type":  strings.Replace(two, "text/plain", "text/html", 1),
		"signature dropped":   one,
		"b= respaced":         one[:sig] + "\r\n  " + one[sig:sig+20] + "\r\n\t" + one[sig+20:],
		"Subject respaced":    strings.Replace(two, "News,\r\n\tfolded", " News, \t folded ", 1),
		"names in upper case": strings.Replace(strings.Replace(two, "Subject:", "SUBJECT:", 1), "From:", "FROM:", 1),
		"fields reordered":    strings.Replace("Date: Tue, 21 Nov 2090 06:58:00 +0000\r\n"+two, "06:58:00 +0000\r\nMessage-ID", "\x00", 1),
		"bytes LF":            strings.ReplaceAll(two, "\r\n", "\n"),
	} {
		if i := strings.Index(text, "\x00"); i >= 0 {
			text = text[:strings.LastIndex(text[:i], "Date:")] + "Message-ID" + text[i+1:]
		}
		if got := signed(t, text); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	other := signer().sign(strings.Replace(mail, "<1@", "<2@", 1))
	if signed(t, other) == want {
		t.Error("another message has the same digest")
	}
}

// signed returns identity.signed of a message, which must be verified.
func signed(t *testing.T, text string) string {
	t.Helper()
	id := classify(t, text, verify(t, world(), text), "dkim")
	if !id.Verified || id.Signed == "" {
		t.Fatalf("not verified: %s", id.Why)
	}
	return id.Signed
}

// TestRecord: the result of any message can be written to a record and read back equal.
func TestRecord(t *testing.T) {
	for name, a := range attacks() {
		z, text := a.build()
		m, raw := fetched(text)
		c := Checker{Resolver: z}
		m.DKIM, _ = c.Check(context.Background(), m, raw)
		again := roundTrip(t, m)
		if fmt.Sprintf("%+v", *again) != fmt.Sprintf("%+v", *m.DKIM) {
			t.Errorf("%s: %+v, want %+v", name, *again, *m.DKIM)
		}
	}
}

// BenchmarkWorstCase: ten signatures that all must be computed over the largest body.
func BenchmarkWorstCase(b *testing.B) {
	text := mail + strings.Repeat("a b\r\n", message.MaxMessage/5-4000)
	s := signer()
	for range maxSignatures {
		text = s.sign(text)
	}
	z := world()
	for b.Loop() {
		d := verify(b, z, text)
		if d.Signatures[9].Result != envelope.DKIMPass {
			b.Fatalf("%+v", d)
		}
	}
}
