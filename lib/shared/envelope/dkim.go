package envelope

import (
	"pulse/lib/shared/record"
)

// DKIM is `message.dkim`: what pulse-fetch --dkim found out about the signatures of a
// message (RFC 6376) and the DMARC record that applies to its sender's domain (RFC 9989).
type DKIM struct {
	From       string      // domain of From that signatures were compared with; empty: no signature was looked at
	Reason     DKIMReason  // why nobody looked, where that says nothing of the message; else empty
	Why        string      // why no signature was looked at, for people; else empty
	Signatures []Signature // in the order of the header, as many as were looked at
	Omitted    int         // how many more there are
	DMARC      DMARC       // zero unless a signature passed
}

// DKIMReason is why a message was not checked although it could have been. A word that is
// not known says so as well.
type DKIMReason string

// DKIMNotListed is about a sender on no list of the policy that pulse-fetch had: no proof
// would change what such a sender may ask for.
const DKIMNotListed DKIMReason = "not_listed"

// Verdict is what became of a signature, in the words of RFC 8601 §2.7.1.
type Verdict string

// The verdicts. Only DKIMPass proves anything.
const (
	DKIMPass      Verdict = "pass"      // good, and From, Subject and Date are signed
	DKIMFail      Verdict = "fail"      // header or body is not what was signed
	DKIMPolicy    Verdict = "policy"    // not accepted here, whether good or not
	DKIMNeutral   Verdict = "neutral"   // can't be read, or is not by the sender's domain
	DKIMTempError Verdict = "temperror" // DNS gave no answer, or the message's budget was spent
	DKIMPermError Verdict = "permerror" // there is no key, or none that can be used
)

// Signature is one DKIM-Signature field as far as it was understood.
type Signature struct {
	Domain    string // d=
	User      string // local part of i=, or empty
	Selector  string // s=
	Algorithm string // a=
	Result    Verdict
	Why       string   // what is wrong with the signature, for people
	Headers   []string // h= in lower case

	// Organizational is the Organizational Domain of d= (RFC 9989 §4.10.2), if relaxed
	// alignment hangs on it: the signature passed and is by a domain other than From's.
	Organizational string
}

// DMARCResult says whether a DMARC record was found.
type DMARCResult string

// The results of the search.
const (
	DMARCFound     DMARCResult = "found"
	DMARCNone      DMARCResult = "none"
	DMARCTempError DMARCResult = "temperror" // DNS gave no answer
	DMARCPermError DMARCResult = "permerror" // the record can't be read, or there are several
)

// DMARC is the record that applies to the domain of From.
type DMARC struct {
	Result DMARCResult
	Domain string // where the record was found: that domain or one above
	Policy string // none, quarantine or reject, as it applies to the domain of From
	Strict bool   // adkim=s: only that very domain may sign for it

	// Organizational is the Organizational Domain of From, if that of a signature is known.
	Organizational string
}

func (d *DKIM) bytes() []byte {
	var o record.Object
	o.StrIf("from", d.From)
	o.StrIf("reason", string(d.Reason))
	o.StrIf("why", d.Why)
	o.Raw("signatures", d.appendSignatures(nil))
	if d.Omitted > 0 {
		o.Int("omitted", int64(d.Omitted))
	}
	if d.DMARC != (DMARC{}) {
		o.Raw("dmarc", d.DMARC.bytes())
	}
	return o.Bytes()
}

func (d *DKIM) appendSignatures(dst []byte) []byte {
	return record.List(dst, d.Signatures, func(s *Signature, dst []byte) []byte { return append(dst, s.bytes()...) })
}

func (s *Signature) bytes() []byte {
	var o record.Object
	o.Str("result", string(s.Result))
	o.StrIf("why", s.Why)
	o.StrIf("domain", s.Domain)
	o.StrIf("user", s.User)
	o.StrIf("selector", s.Selector)
	o.StrIf("algorithm", s.Algorithm)
	o.Strs("headers", s.Headers)
	o.StrIf("organizational_domain", s.Organizational)
	return o.Bytes()
}

func (d *DMARC) bytes() []byte {
	var o record.Object
	o.Str("result", string(d.Result))
	o.StrIf("domain", d.Domain)
	o.StrIf("policy", d.Policy)
	o.Bool("strict", d.Strict)
	o.StrIf("organizational_domain", d.Organizational)
	return o.Bytes()
}

// decode keeps unknown verdicts, because only pass proves anything.
func (d *DKIM) decode(v record.Value) error {
	return v.Each(record.To(
		"from", &d.From, "reason", (*string)(&d.Reason), "why", &d.Why, "omitted", &d.Omitted,
		"dmarc", d.DMARC.decode, "signatures", func(v record.Value) error {
			return v.Elements(func(_ int, v record.Value) error {
				var s Signature
				err := s.decode(v)
				d.Signatures = append(d.Signatures, s)
				return err
			})
		},
	))
}

func (s *Signature) decode(v record.Value) error {
	return v.Each(record.To(
		"result", (*string)(&s.Result), "why", &s.Why, "domain", &s.Domain, "user", &s.User,
		"selector", &s.Selector, "algorithm", &s.Algorithm, "headers", &s.Headers,
		"organizational_domain", &s.Organizational,
	))
}

func (d *DMARC) decode(v record.Value) error {
	return v.Each(record.To(
		"result", (*string)(&d.Result), "domain", &d.Domain, "policy", &d.Policy, "strict", &d.Strict,
		"organizational_domain", &d.Organizational,
	))
}
