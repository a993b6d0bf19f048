package dkimcheck

import (
	"crypto"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pulse/lib/classify/identity"
	"pulse/lib/classify/taglist"
	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
)

// signature is one DKIM-Signature field.
type signature struct {
	envelope.Signature              // Result is empty until the signature is refused or passes
	tags               taglist.List // nil: it can't be read
	field              string       // all of it, with the CRLF at its end
	agent              string       // domain of i=
	relaxedHeader      bool         // c=
	relaxedBody        bool
	key                crypto.PublicKey // once it is found and accepted
}

// say sets the verdict and its reason, unless there is a verdict already or why is empty.
func (s *signature) say(v envelope.Verdict, why string) {
	if s.Result == "" && why != "" {
		s.Result, s.Why = v, why
	}
}

// read fills in what the field says, as far as it can be understood.
func (s *signature) read(field string) {
	if len(field) > maxSignature {
		s.say(envelope.DKIMNeutral, fmt.Sprintf("it is longer than %d bytes", maxSignature))
		return
	}
	s.field = field
	_, value, _ := strings.Cut(strings.TrimSuffix(field, "\r\n"), ":")
	t, err := taglist.Parse(value)
	if err != nil {
		s.say(envelope.DKIMNeutral, err.Error())
		return
	}
	s.tags = t
	for _, part := range []func() string{s.readVersion, s.readSigner, s.readUser, s.readNames, s.readModes} {
		s.say(envelope.DKIMNeutral, part())
	}
}

// readVersion looks for the tags that must be there (RFC 6376 §3.5).
func (s *signature) readVersion() string {
	for _, name := range []string{"v", "a", "b", "bh", "d", "h", "s"} {
		if _, ok := s.tags.Get(name); !ok {
			return name + "= is missing"
		}
	}
	if v, _ := s.tags.Get("v"); v != "1" {
		return "its version is not 1"
	}
	return s.twoReadings()
}

// twoReadings finds text that another verifier would take for a b= and leave out of the
// hash, although it is another tag or a part of one. go-msgauth looks for "b", blanks and
// "=" anywhere.
func (s *signature) twoReadings() string {
	for _, t := range s.tags {
		if t.Name == "b" {
			continue
		}
		if strings.Contains(solid(t.Name+"="+t.Value), "b=") {
			return t.Name + "= holds what reads like b="
		}
	}
	return ""
}

func (s *signature) readSigner() string {
	d, selector := s.tags.Or("d", ""), s.tags.Or("s", "")
	if !address.Domain(d) || strings.IndexByte(d, '.') < 0 {
		return "d= is not a domain"
	}
	s.Domain = d
	if !address.Domain(selector) || len(s.keyName(selector)) > 253 {
		return "s= is not a selector"
	}
	s.Selector = selector
	return ""
}

// keyName returns the name in DNS at which the key lies (RFC 6376 §3.6.2.1).
func (s *signature) keyName(selector string) string { return selector + "._domainkey." + s.Domain }

// readUser reads i=, which must lie within d= (RFC 6376 §3.5), in whatever case: both are
// domain names (RFC 4343). An = would begin an escape of dkim-quoted-printable, which no
// signer needs.
func (s *signature) readUser() string {
	i := s.tags.Or("i", "@"+s.Domain)
	user, domain, ok := strings.Cut(i, "@")
	switch {
	case s.Domain == "":
		return "" // readSigner has given the reason
	case !ok || strings.Contains(i, "=") || !address.Domain(domain):
		return "i= is not user@domain"
	case !within(domain, s.Domain):
		return "i= lies outside d="
	}
	if _, _, err := address.Split(i); user != "" && err != nil {
		return "i= is not user@domain"
	}
	s.User, s.agent = user, domain
	return ""
}

func within(domain, parent string) bool {
	n := len(domain) - len(parent)
	return n == 0 && address.Equal(domain, parent) || n > 0 && address.Equal(domain[n-1:], "."+parent)
}

// readNames reads h=.
func (s *signature) readNames() string {
	names := taglist.Elements(address.Fold(s.tags.Or("h", "")))
	if len(names) > maxNames {
		return fmt.Sprintf("h= has more than %d names", maxNames)
	}
	for _, name := range names {
		if name == "" || strings.ContainsAny(name, taglist.Blanks) {
			return "h= is not a list of field names"
		}
	}
	s.Headers = names
	return ""
}

// readModes reads a=, c= and q=. A signature with an unknown c= can't be verified. Of the
// methods in q= the unknown ones are ignored (RFC 6376 §3.5); the one that is defined must
// be among them.
func (s *signature) readModes() string {
	a := s.tags.Or("a", "")
	if len(a) < 32 && !strings.ContainsAny(a, taglist.Blanks) {
		s.Algorithm = a
	}
	header, body, _ := strings.Cut(s.tags.Or("c", "simple/simple"), "/")
	switch {
	case header != "simple" && header != "relaxed" || body != "" && body != "simple" && body != "relaxed":
		return "c= is not known"
	case strings.HasSuffix(s.tags.Or("c", ""), "/"):
		return "c= is not known"
	case !slices.Contains(taglist.Elements(s.tags.Or("q", "dns/txt")), "dns/txt"):
		return "q= is not known"
	}
	s.relaxedHeader, s.relaxedBody = header == "relaxed", body == "relaxed"
	return ""
}

// judge refuses a signature for what can be seen before its key is looked up.
func (k *check) judge(s *signature) {
	if s.Result != "" {
		return
	}
	if !identity.Near(s.Domain, k.from) {
		s.say(envelope.DKIMNeutral, "it is not by the domain of From, nor by one near it; it was not checked")
		return
	}
	if _, ok := s.tags.Get("l"); ok {
		s.say(envelope.DKIMPolicy, "it covers a part of the body only (l=)")
	}
	if s.Algorithm != "rsa-sha256" && s.Algorithm != "ed25519-sha256" {
		s.say(envelope.DKIMPolicy, "its algorithm is not accepted")
	}
	if name := identity.Uncovered(k.m, s.Headers); name != "" {
		s.say(envelope.DKIMPolicy, name+" is not signed")
	}
	s.say(envelope.DKIMPolicy, s.outOfTime(k.m.Fetched))
}

// skew is how far the signer's clock may be ahead of this machine's.
const skew = 5 * time.Minute

// outOfTime compares t= and x= with the time at which the message was fetched. RFC 6376
// §3.5 asks for the time at which it was received. The later time leaves less time for
// replays.
func (s *signature) outOfTime(at time.Time) string {
	signed, okT := s.time("t", at)
	expires, okX := s.time("x", at.Add(time.Second))
	switch {
	case !okT:
		return "t= is not a time"
	case !okX:
		return "x= is not a time"
	case signed.After(at.Add(skew)):
		return "it was signed in the future (t=)"
	case !expires.After(at):
		return "it has expired (x=)"
	case s.has("t") && s.has("x") && !expires.After(signed):
		return "it expired before it was signed (x=, t=)"
	}
	return ""
}

func (s *signature) has(name string) bool {
	_, ok := s.tags.Get(name)
	return ok
}

// time reads seconds since 1970, at most 12 digits (RFC 6376 §3.5).
func (s *signature) time(name string, absent time.Time) (time.Time, bool) {
	v, ok := s.tags.Get(name)
	if !ok {
		return absent, true
	}
	n, err := strconv.ParseUint(v, 10, 64)
	return time.Unix(int64(n), 0), err == nil && len(v) <= 12
}
