package dkimcheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/emersion/go-msgauth/dmarc"

	"pulse/lib/classify/identity"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
)

// TestResult: what one record says (RFC 9989 §4.7, 4.8, 4.10.1). A record that is about
// DMARC and does not apply is none; an empty result stands for one that is not about DMARC.
func TestResult(t *testing.T) {
	found := func(policy string, strict bool) envelope.DMARC {
		return envelope.DMARC{Result: envelope.DMARCFound, Domain: "example.com", Policy: policy, Strict: strict}
	}
	none := envelope.DMARC{Result: envelope.DMARCNone, Domain: "example.com"}
	twice := envelope.DMARC{Result: envelope.DMARCPermError, Domain: "example.com"}
	for record, want := range map[string]envelope.DMARC{
		"v=DMARC1; p=reject":      found("reject", false),
		"v=DMARC1;p=none":         found("none", false),
		"v = DMARC1 ; p = none ;": found("none", false),
		"v\t=\tDMARC1\t;p=none":   found("none", false),
		"v=DMARC1;; p=none;;":     found("none", false),
		"v=DMARC1; p=Reject":      found("reject", false),

		"v=DMARC1; p=none; adkim=s":                        found("none", true),
		"v=DMARC1; p=none; adkim = s ":                     found("none", true),
		"v=DMARC1; p=none; adkim=S":                        found("none", true),
		"v=DMARC1; p=none; adkim=r":                        found("none", false),
		"v=DMARC1; p=none; adkim=strict":                   found("none", false),
		"v=DMARC1; p=none; adkim=":                         found("none", false),
		"v=DMARC1; adkim=s; p=none":                        found("none", true),
		"v=DMARC1; p=none; aspf=s":                         found("none", false),
		"v=DMARC1; p=none; t=y; fo=9; aspf=x":              found("none", false),
		"v=DMARC1; p=none; pct=1000; rf=iodef; ri=x":       found("none", false),
		"v=DMARC1; p=none; new=1; x_y2=a b":                found("none", false),
		"v=DMARC1; p=none; rua=mailto:a@b.example, x":      found("none", false),
		"v=DMARC1; p=none; what is this; \u00fc=1; =; 1=2": found("none", false),
		"v=DMARC1; p=none; sp=reject; np=quarantine":       found("none", false),

		"v=DMARC1":               none,
		"v=DMARC1; ":             none,
		"v=DMARC1; adkim=s":      none,
		"v=DMARC1; p=":           none,
		"v=DMARC1; p=monitor":    none,
		"v=DMARC1; p=none sp=no": none,
		"v=DMARC1; P=none":       none,
		"v=DMARC1; p=none; sp=x": none,
		"v=DMARC1; p=none; np=":  none,
		"v=DMARC1; rua=":         none,
		"v=DMARC1; rua=a@b.c":    none,
		"v=DMARC1; rua=mailto:":  none,
		"v=DMARC1; rua=%zz:x":    none,

		"v=DMARC1; rua=mailto:a@b.example":                     found("none", false),
		"v=DMARC1; rua=mailto:a@b.example!10m":                 found("none", false),
		"v=DMARC1; rua=x , https://b.example/ ; adkim=s":       found("none", true),
		"v=DMARC1; p=monitor; rua=mailto:a@b.example":          found("none", false),
		"v=DMARC1; p=reject; sp=x; rua=mailto:a@b.example":     found("none", false),
		"v=DMARC1; p=reject; np=x; rua=mailto:a@b.example":     found("none", false),
		"v=DMARC1; p=reject; np=x; rua=mailto:a@b.example; a=": found("none", false),

		"v=DMARC1; p=none; p=none":           twice,
		"v=DMARC1; p=none; adkim=r; adkim=s": twice,
		"v=DMARC1; p=none; v=DMARC1":         twice,
		"v=DMARC1; p=none; new=1; new=2":     twice,

		"":                     {},
		"DMARC1":               {},
		" v=DMARC1; p=none":    {},
		"v=DMARC1 p=none":      {},
		"v=DMARC1, p=none":     {},
		"v=dmarc1; p=none":     {},
		"V=DMARC1; p=none":     {},
		"v=DMARC10; p=none":    {},
		"v=DMARC2; p=none":     {},
		"v=DMARC 1; p=none":    {},
		"v=\"DMARC1\"; p=none": {},
		"p=none; v=DMARC1":     {},
		";v=DMARC1; p=none":    {},
		"v;v=DMARC1; p=none":   {},
		"vv=DMARC1; p=none":    {},
		"v==DMARC1; p=none":    {},
		"v=spf1 -all":          {},
	} {
		if got := resultOf(record); got != want {
			t.Errorf("%q: %+v, want %+v", record, got, want)
		}
	}
}

// resultOf returns what a record says to example.com, and nothing if it is not about DMARC.
func resultOf(record string) envelope.DMARC {
	if !isPolicy(record) {
		return envelope.DMARC{}
	}
	tags, err := readPolicy(record)
	if err != nil {
		return (&recordError{"example.com", err}).dmarc()
	}
	r := policyRecord{"example.com", tags}
	return r.result("example.com")
}

// FuzzResult: no record makes a panic or a result without a word, and where go-msgauth can
// read one, which is written for RFC 7489, both say the same. It takes the last of two
// equal tags, skips what stands before v, and takes other blanks for blanks.
func FuzzResult(f *testing.F) {
	for _, s := range []string{"v=DMARC1; p=none", "v=DMARC1; p=reject; sp=none; adkim=s; pct=50; rua=mailto:a@b.example", "v=DMARC1;rua=a:b", "v=DMARC1; p=none; p=none", "v=DMARC1; p=x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, record string) {
		got := resultOf(record)
		switch got.Result {
		case "", envelope.DMARCNone, envelope.DMARCPermError:
			if got.Strict || got.Policy != "" {
				t.Fatalf("%q: %+v", record, got)
			}
		case envelope.DMARCFound:
			if !slices.Contains([]string{"none", "quarantine", "reject"}, got.Policy) {
				t.Fatalf("%q: %+v", record, got)
			}
		default:
			t.Fatalf("%q: %+v", record, got)
		}
		theirs, err := dmarc.Parse(record)
		if err != nil || got.Result == envelope.DMARCPermError || !strings.HasPrefix(record, "v") || strings.ContainsFunc(record, odd) {
			return
		}
		if first, _, _ := strings.Cut(record, ";"); !strings.Contains(first, "DMARC1") {
			return // go-msgauth looks for v anywhere
		}
		// go-msgauth looks at sp and not at np.
		if _, np := policyTags(record)["np"]; np {
			return
		}
		if got.Result != envelope.DMARCFound || got.Policy != string(theirs.Policy) || got.Strict != (theirs.DKIMAlignment == dmarc.AlignmentStrict) {
			t.Fatalf("%q: %+v, go-msgauth says %+v", record, got, theirs)
		}
	})
}

func odd(r rune) bool { return r < ' ' && r != '\t' || r > '~' }

func policyTags(record string) map[string]string {
	list, _ := readPolicy(record)
	tags := map[string]string{}
	for _, tag := range list {
		tags[tag.Name] = tag.Value
	}
	return tags
}

// signedBy returns a mail from an address, signed by some domains, and a zone that has
// their keys and the records.
func signedBy(from string, records map[string]string, domains ...string) (string, *zone) {
	text := strings.Replace(mail, "me@example.com", from, 1)
	z := &zone{txt: map[string][]string{}, silent: map[string]bool{}}
	for _, d := range domains {
		s := signer()
		s.domain = d
		text = s.sign(text)
		z.set("s1._domainkey."+d, world().txt["s1._domainkey.example.com"]...)
	}
	for domain, record := range records {
		z.set("_dmarc."+domain, strings.Split(record, "|")...)
	}
	return text, z
}

// verified reports whether the sender of a mail is proven under an alignment.
func verified(t *testing.T, text, from string, d *envelope.DKIM, alignment string) identity.Identity {
	t.Helper()
	p, err := policy.Parse("p", []byte(fmt.Sprintf("owners = [%q]\nevidence = \"dkim\"\ndkim_alignment = %q\n", from, alignment)))
	if err != nil {
		t.Fatal(err)
	}
	m, _ := fetched(text)
	m.DKIM = d
	return identity.Classify(m, p)
}

const (
	plain   = "v=DMARC1; p=none"
	strict  = "v=DMARC1; p=none; adkim=s"
	private = "v=DMARC1; p=none; psd=n"
	public  = "v=DMARC1; p=none; psd=y"
)

// TestAlignment: by which domains a signature counts (RFC 9989 §4.4.1, 4.10.2). The
// policy's strict takes only the very domain, whatever the records say.
func TestAlignment(t *testing.T) {
	type records = map[string]string
	for name, c := range map[string]struct {
		from, d string
		records records
		relaxed bool
		domain  string // of the record that applies
	}{
		"the domain":                         {"example.com", "example.com", records{"example.com": plain}, true, "example.com"},
		"the domain, in another case":        {"Example.COM", "example.com", records{"example.com": plain}, true, "example.com"},
		"the domain, adkim=s":                {"example.com", "example.com", records{"example.com": strict}, true, "example.com"},
		"the domain, psd=y":                  {"example.com", "example.com", records{"example.com": public}, true, "example.com"},
		"a parent":                           {"a.example.com", "example.com", records{"example.com": plain}, true, "example.com"},
		"a child":                            {"example.com", "a.example.com", records{"example.com": plain}, true, "example.com"},
		"a sibling":                          {"a.example.com", "b.example.com", records{"example.com": plain}, true, "example.com"},
		"a cousin":                           {"x.a.example.com", "y.b.example.com", records{"example.com": plain}, true, "example.com"},
		"adkim=s":                            {"a.example.com", "example.com", records{"example.com": strict}, false, "example.com"},
		"adkim=s of From's own record":       {"a.example.com", "example.com", records{"a.example.com": strict, "example.com": plain}, false, "a.example.com"},
		"adkim=s above From's own record":    {"a.example.com", "example.com", records{"a.example.com": plain, "example.com": strict}, true, "a.example.com"},
		"no record":                          {"a.example.com", "example.com", records{}, false, ""},
		"record of the signer's domain only": {"example.com", "a.example.com", records{"a.example.com": plain}, false, ""},
		"both have a record":                 {"a.example.com", "example.com", records{"a.example.com": plain, "example.com": plain}, true, "a.example.com"},

		"psd=n on the child, which writes":  {"a.example.com", "example.com", records{"a.example.com": private, "example.com": plain}, false, "a.example.com"},
		"psd=n on the child, which signs":   {"example.com", "a.example.com", records{"a.example.com": private, "example.com": plain}, false, "example.com"},
		"psd=n on the child, inside it":     {"x.a.example.com", "y.a.example.com", records{"a.example.com": private, "example.com": plain}, true, "a.example.com"},
		"psd=n on the child, out of it":     {"x.a.example.com", "b.example.com", records{"a.example.com": private, "example.com": plain}, false, "a.example.com"},
		"psd=y on the parent, child writes": {"a.co.example", "co.example", records{"co.example": public}, false, "co.example"},
		"psd=y on the parent, child signs":  {"co.example", "a.co.example", records{"co.example": public}, false, "co.example"},
		"psd=y on the parent, two tenants":  {"a.co.example", "b.co.example", records{"co.example": public}, false, "co.example"},
		"psd=y on the parent, one tenant":   {"x.a.co.example", "y.a.co.example", records{"co.example": public}, true, "co.example"},
		"psd=y, tenant with a record":       {"x.a.co.example", "a.co.example", records{"co.example": public, "a.co.example": plain}, true, "a.co.example"},
		"psd=u":                             {"a.example.com", "example.com", records{"example.com": "v=DMARC1; p=none; psd=u"}, true, "example.com"},
		"psd=x":                             {"a.example.com", "example.com", records{"example.com": "v=DMARC1; p=none; psd=x"}, true, "example.com"},

		"top level, psd=y":                   {"a.example.com", "example.com", records{"com": public}, true, "com"},
		"top level, silent about psd":        {"a.example.com", "example.com", records{"com": plain}, true, "com"},
		"top level, two registrants":         {"example.com", "other.com", records{"com": plain, "example.com": plain}, false, "example.com"},
		"top level, and the domain":          {"a.example.com", "example.com", records{"com": plain, "example.com": plain}, true, "example.com"},
		"three levels, the organization's":   {"a.b.example.com", "example.com", records{"b.example.com": strict, "example.com": plain}, true, "example.com"},
		"three levels, the organization's 2": {"a.b.example.com", "b.example.com", records{"b.example.com": plain, "example.com": strict}, false, "example.com"},
		"another organization":               {"example.com", "example.org", records{"example.com": plain, "example.org": plain}, false, "example.com"},
		"ends alike":                         {"example.com", "badexample.com", records{"example.com": plain, "com": plain}, false, "example.com"},

		"several records":                  {"example.com", "example.com", records{"example.com": plain + "|" + plain}, false, "example.com"},
		"several records, one of them SPF": {"example.com", "example.com", records{"example.com": plain + "|v=spf1 -all"}, true, "example.com"},
		"several records above":            {"a.example.com", "a.example.com", records{"example.com": plain + "|" + strict}, false, "example.com"},
		"several records at the signer's":  {"example.com", "a.example.com", records{"example.com": plain, "a.example.com": plain + "|" + plain}, false, "example.com"},
		"no policy and no reports":         {"a.example.com", "a.example.com", records{"a.example.com": "v=DMARC1", "example.com": plain}, false, "a.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			from := "me@" + c.from
			text, z := signedBy(from, c.records, c.d)
			d := verify(t, z, text)
			if d.DMARC.Domain != c.domain && d.Signatures[0].Result == envelope.DKIMPass {
				t.Errorf("%+v", d.DMARC)
			}
			same := strings.EqualFold(c.from, c.d) && c.relaxed
			for alignment, want := range map[string]bool{"relaxed": c.relaxed, "strict": same, "any": same} {
				if id := verified(t, text, from, d, alignment); id.Verified != want {
					t.Errorf("%s: %s: %+v", alignment, id.Why, d)
				}
			}
		})
	}
}

// TestInherited: the policy that is shown is the one for the domain of From.
func TestInherited(t *testing.T) {
	const record = "v=DMARC1; p=reject; sp=quarantine; np=none"
	for from, want := range map[string]string{"example.com": "reject", "a.example.com": "quarantine"} {
		text, z := signedBy("me@"+from, map[string]string{"example.com": record}, from)
		if d := verify(t, z, text); d.DMARC.Policy != want {
			t.Errorf("%s: %+v", from, d.DMARC)
		}
	}
}

// TestWalkEnds: a silent name server on the walk is an error, and proves nothing, unless
// its answer could make no difference.
func TestWalkEnds(t *testing.T) {
	for name, c := range map[string]struct {
		from    string
		records map[string]string
		silent  string
		domains []string
		err     bool
	}{
		"above From":              {"a.example.com", nil, "com", []string{"a.example.com"}, true},
		"above From's own record": {"a.example.com", map[string]string{"a.example.com": plain}, "example.com", []string{"a.example.com"}, false},
		"above, relaxed":          {"a.example.com", map[string]string{"a.example.com": plain}, "com", []string{"example.com"}, true},
		"above, both":             {"a.example.com", map[string]string{"a.example.com": plain}, "com", []string{"example.com", "a.example.com"}, false},
		"at the signer's":         {"example.com", map[string]string{"example.com": plain}, "a.example.com", []string{"a.example.com"}, true},
		"at the signer's, strict": {"example.com", map[string]string{"example.com": strict}, "a.example.com", []string{"a.example.com"}, false},
		"beyond psd=n":            {"a.example.com", map[string]string{"example.com": private}, "com", []string{"example.com"}, false},
	} {
		from := "me@" + c.from
		text, z := signedBy(from, c.records, c.domains...)
		z.silent["_dmarc."+c.silent], z.silent[""] = true, true
		m, raw := fetched(text)
		checker := Checker{Resolver: z}
		d, err := checker.Check(context.Background(), m, raw)
		if errors.Is(err, ErrTemporary) != c.err {
			t.Errorf("%s: %v, %+v", name, err, d)
		}
		id := verified(t, text, from, d, "relaxed")
		want := !c.err && !d.DMARC.Strict
		unchecked := id.Reason == identity.SignatureTempError || id.Reason == identity.DMARCRecordError
		if id.Verified != want || unchecked != c.err {
			t.Errorf("%s: %s, %+v", name, id.Reason, d)
		}
	}
}

// TestQueries: each name is asked for once a message, no walk takes more than eight
// questions, and a signature that is not good causes none.
func TestQueries(t *testing.T) {
	const long = "1.2.3.4.5.6.7.8.example.com"
	siblings := []string{"a.example.com", "b.example.com", "c.example.com"}
	for name, c := range map[string]struct {
		from    string
		records map[string]string
		domains []string
		want    []string // besides keys
	}{
		"own record":     {"example.com", map[string]string{"example.com": plain}, []string{"example.com"}, []string{"example.com"}},
		"no record":      {"example.com", nil, []string{"example.com"}, []string{"example.com", "com"}},
		"no walk":        {"example.com", map[string]string{"example.com": strict}, siblings, []string{"example.com"}},
		"psd=n ends":     {"a.example.com", map[string]string{"example.com": private}, []string{"example.com"}, []string{"a.example.com", "example.com"}},
		"far":            {"example.com", map[string]string{"example.com": plain}, []string{"example.org"}, nil},
		"three siblings": {"example.com", map[string]string{"example.com": plain}, siblings, []string{"example.com", "com", "c.example.com", "b.example.com", "a.example.com"}},
		"long":           {long, nil, []string{long}, append([]string{long}, upward("4.5.6.7.8.example.com")...)},
	} {
		text, z := signedBy("me@"+c.from, c.records, c.domains...)
		verify(t, z, text)
		var asked []string
		for _, q := range z.asked {
			if domain, ok := strings.CutPrefix(q, "_dmarc."); ok {
				asked = append(asked, domain)
			}
		}
		if !slices.Equal(asked, c.want) {
			t.Errorf("%s: asked for %q, want %q", name, asked, c.want)
		}
		text = strings.Replace(text, "news", "mail", 1)
		z.asked = nil
		if verify(t, z, text); slices.ContainsFunc(z.asked, func(q string) bool { return strings.HasPrefix(q, "_dmarc.") }) {
			t.Errorf("%s: asked for %q about a forgery", name, z.asked)
		}
	}
}

// TestMostQueries: the worst message causes a key for each signature, and a walk for each
// and for From.
func TestMostQueries(t *testing.T) {
	var domains []string
	for i := range maxSignatures + 5 {
		domains = append(domains, fmt.Sprintf("1.2.3.4.5.6.%d.example.com", i))
	}
	text, z := signedBy("me@1.2.3.4.5.6.from.example.com", map[string]string{"example.com": plain}, domains...)
	d := verify(t, z, text)
	if n, most := len(z.asked), maxSignatures+maxQueries*(maxSignatures+1); n > most || d.DMARC.Organizational != "example.com" {
		t.Errorf("%d questions, at most %d are expected: %+v", n, most, d)
	}
	if n := len(slices.Compact(slices.Sorted(slices.Values(z.asked)))); n != len(z.asked) {
		t.Errorf("%d questions about %d names", len(z.asked), n)
	}
}

func TestUpward(t *testing.T) {
	for domain, want := range map[string]string{
		"example.com":           "example.com com",
		"a.b.example.com":       "a.b.example.com b.example.com example.com com",
		"2.3.4.5.6.7.8":         "2.3.4.5.6.7.8 3.4.5.6.7.8 4.5.6.7.8 5.6.7.8 6.7.8 7.8 8",
		"1.2.3.4.5.6.7.8":       "1.2.3.4.5.6.7.8 2.3.4.5.6.7.8 3.4.5.6.7.8 4.5.6.7.8 5.6.7.8 6.7.8 7.8 8",
		"0.0.0.1.2.3.4.5.6.7.8": "0.0.0.1.2.3.4.5.6.7.8 2.3.4.5.6.7.8 3.4.5.6.7.8 4.5.6.7.8 5.6.7.8 6.7.8 7.8 8",
	} {
		if got := strings.Join(upward(domain), " "); got != want {
			t.Errorf("%s: %s", domain, got)
		}
	}
}

// TestEarlierRecord: a record of an earlier version, which names no Organizational Domain,
// still counts as it did: a parent or a child may sign, and nobody else.
func TestEarlierRecord(t *testing.T) {
	for domain, want := range map[string]bool{"example.com": true, "x.a.example.com": true, "b.example.com": false, "com": false} {
		text, _ := signedBy("me@a.example.com", nil, domain)
		d := &envelope.DKIM{From: "a.example.com",
			Signatures: []envelope.Signature{{Domain: domain, Result: envelope.DKIMPass, Headers: strings.Split(strings.ToLower(allNames), ":")}},
			DMARC:      envelope.DMARC{Result: envelope.DMARCFound, Domain: "example.com", Policy: "none"},
		}
		if id := verified(t, text, "me@a.example.com", d, "relaxed"); id.Verified != want {
			t.Errorf("%s: %s", domain, id.Why)
		}
	}
}
