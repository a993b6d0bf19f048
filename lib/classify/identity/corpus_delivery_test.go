package identity_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/record"
)

// field is one header field, folding included.
type field struct {
	raw string // "Name: value\n"
	own bool   // the receiver wrote it
}

func (f field) name() string {
	name, _, _ := strings.Cut(f.raw, ":")
	return address.Fold(strings.TrimSpace(name))
}

func (f field) results() bool   { return f.name() == "authentication-results" }
func (f field) signature() bool { return f.name() == "dkim-signature" }

// parseFields reads a header up to the empty line.
func parseFields(text string) (list []field) {
	for line := range strings.Lines(text) {
		switch {
		case line == "\n":
			return list
		case line[0] == ' ' || line[0] == '\t':
			list[len(list)-1].raw += line
		default:
			list = append(list, field{raw: line})
		}
	}
	return list
}

func raw(fields []field) []byte {
	var b []byte
	for _, f := range fields {
		b = append(b, f.raw...)
	}
	return append(b, '\n')
}

func parseDKIM(t testing.TB, text string) *envelope.DKIM {
	t.Helper()
	rec, err := record.Parse([]byte(`{"message":{"dkim":`+text+`}}`), envelope.Member)
	if err != nil {
		t.Fatal(err)
	}
	var m envelope.Message
	if err := m.Read(rec); err != nil {
		t.Fatal(err)
	}
	return m.DKIM
}

// world says what mail it is that the receiver is given, and so what it finds out. In
// each of them From is the owner's address.
type world string

const (
	truth         world = "genuine"        // the owner's mail, with the owner's good signature
	unsigned      world = "unsigned"       // no signature, SPF and DMARC fail
	forged        world = "forged"         // the owner's signature over another text
	foreign       world = "foreign"        // a good signature of the attacker's domain
	shared        world = "shared"         // unsigned, and DMARC passes by the SPF of a shared host
	sharedForged  world = "shared-forged"  // the same with the owner's broken signature
	sharedForeign world = "shared-foreign" // the same with the attacker's good one
	noRecord      world = "no-record"      // the owner's domain has no DMARC record
)

var lies = []world{unsigned, forged, foreign, shared, sharedForged, sharedForeign, noRecord}

// owner holds what the victim's genuine mail shows.
type owner struct{ address, domain, selector, b string }

var (
	fromRE = regexp.MustCompile(`[^\s<]+@[^\s>]+`)
	tagRE  = func(tag string) *regexp.Regexp { return regexp.MustCompile(`([:;]\s*` + tag + `=)[^;]*`) }
	dRE    = tagRE("d")
	sRE    = tagRE("s")
	bRE    = regexp.MustCompile(`(;\s*b=)([^;]*)`)
)

func (sh *shape) owner(t *testing.T) (o owner) {
	t.Helper()
	for _, f := range sh.fields {
		if f.name() == "from" {
			found := fromRE.FindAllString(f.raw, -1)
			o.address = address.Fold(found[len(found)-1])
		}
	}
	_, o.domain, _ = strings.Cut(o.address, "@")
	for _, f := range sh.fields {
		if f.signature() && o.signed(f) {
			o.selector = f.tag(sRE)
			o.b = strings.Join(strings.Fields(bRE.FindStringSubmatch(f.raw)[2]), "")[:8]
		}
	}
	if o.domain == "" || o.selector == "" {
		t.Fatalf("%s: %+v", sh.name, o)
	}
	return o
}

// tag returns the value of a tag of a signature.
func (f field) tag(re *regexp.Regexp) string {
	_, value, _ := strings.Cut(re.FindString(f.raw), "=")
	return value
}

func (o *owner) signed(f field) bool { return f.tag(dRE) == o.domain }

// fill puts the owner into a text of says/.
func (o *owner) fill(text string) string {
	b := o.b
	if strings.Contains(b, "/") && !strings.Contains(text, `"{b}"`) {
		b = `"` + b + `"`
	}
	return strings.NewReplacer("{address}", o.address, "{domain}", o.domain, "{s}", o.selector, "{b}", b).Replace(text)
}

// deliver returns the mail of a world as the receiver delivers it: the fields of the
// shape, the signatures that this mail has, and the verdict that the receiver writes.
func (c *corpus) deliver(sh *shape, o owner, w world) []field {
	var out []field
	left := parseFields(o.fill(c.says[w]))
	last := lastResults(sh.fields)
	for i, f := range sh.fields {
		switch {
		case f.own && f.results():
			n := min(1, len(left))
			if i == last {
				n = len(left)
			}
			for _, f := range left[:n] {
				out = append(out, field{f.raw, true})
			}
			left = left[n:]
		case f.signature():
			out = append(out, o.signatureIn(w, f)...)
		default:
			out = append(out, f)
		}
	}
	return out
}

func lastResults(fields []field) int {
	for i := len(fields) - 1; i >= 0; i-- {
		if fields[i].own && fields[i].results() {
			return i
		}
	}
	return -1
}

// signatureIn returns what is in the place of a signature of the genuine mail.
func (o *owner) signatureIn(w world, f field) []field {
	switch {
	case !o.signed(f) || f.tag(sRE) != o.selector:
		return nil
	case w == foreign || w == sharedForeign:
		f.raw = dRE.ReplaceAllString(f.raw, "${1}mallory.example")
		f.raw = sRE.ReplaceAllString(f.raw, "${1}m1")
		f.raw = bRE.ReplaceAllString(f.raw, "${1}Mal0ryQQ${2}")
		f.raw = strings.ReplaceAll(f.raw, "@"+o.domain, "@mallory.example")
	case w == unsigned || w == shared || w == noRecord:
		return nil
	}
	return []field{f}
}

// ownCheck returns message.dkim as pulse-fetch finds it in a world.
func (o *owner) ownCheck(w world) *envelope.DKIM {
	d := &envelope.DKIM{From: o.domain}
	s := envelope.Signature{Domain: o.domain, Selector: o.selector, Algorithm: "rsa-sha256", Headers: strings.Split("from:to:subject:date:message-id", ":")}
	switch w {
	case truth:
		s.Result = envelope.DKIMPass
	case forged, sharedForged:
		s.Result, s.Why = envelope.DKIMFail, "body hash did not verify"
	case foreign, sharedForeign:
		s.Domain, s.Selector, s.Result = "mallory.example", "m1", envelope.DKIMNeutral
	default:
		return d
	}
	d.Signatures = append(d.Signatures, s)
	if w == truth {
		d.DMARC = envelope.DMARC{Result: envelope.DMARCFound, Domain: o.domain, Policy: "reject"}
	}
	return d
}

// place is where an injected field stands when the mail has been delivered.
type place string

const (
	top     place = "on top"               // above all that the receiver wrote
	between place = "between"              // among the receiver's verdicts
	sent    place = "on top of what it is" // directly below what the receiver wrote on top
	middle  place = "below From"
	end     place = "at the end"
)

var places = []place{top, between, sent, middle, end}

// at returns the index of a place.
func (p place) at(fields []field) int {
	first := func(is func(field) bool) int { return slices.IndexFunc(fields, is) }
	switch p {
	case between:
		return first(field.results) + 1
	case sent:
		return first(func(f field) bool { return !f.own })
	case middle:
		return first(func(f field) bool { return f.name() == "from" }) + 1
	case end:
		return len(fields)
	}
	return 0
}

// inject returns the mail with fields added at a place.
func inject(fields []field, p place, injected ...field) []field {
	return slices.Insert(slices.Clone(fields), p.at(fields), injected...)
}
