package identity

import (
	"slices"
	"strings"

	"pulse/lib/classify/authres"
	"pulse/lib/classify/taglist"
	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
)

// dkimField is a DKIM-Signature field (RFC 6376 §3.5), which the receiver's verdict must
// point to. Nothing is verified here.
type dkimField struct {
	odd   bool         // odd bytes stand around its name: some verifiers overlook it
	tags  taglist.List // nil: it can't be read
	agent string       // domain of i=
	names []string     // h= in lower case
}

const dkimFieldName = "dkim-signature"

// isDKIMField reports whether a field is a DKIM-Signature. Blanks around the name do not
// matter, because a verifier may overlook them: the hash ignores them too (§3.4.2).
func isDKIMField(f *envelope.Field) bool { return address.Equal(trimName(f.Name), dkimFieldName) }

func readDKIMField(f *envelope.Field) (m dkimField) {
	m.odd = len(f.Name) != len(dkimFieldName)
	m.tags, _ = taglist.Parse(f.Value)
	d := m.get("d")
	m.agent = d
	if _, domain, ok := strings.Cut(m.get("i"), "@"); ok {
		m.agent = domain
	}
	m.names = taglist.Elements(address.Fold(m.get("h")))
	return m
}

// get returns the value of a tag, or nothing.
func (m *dkimField) get(tag string) string { return m.tags.Or(tag, "") }

// wellFormed reports whether a verifier could have found the signature good: every
// required tag is there and well formed, and From is signed.
func (m *dkimField) wellFormed() bool {
	return m.get("v") == "1" && address.Domain(m.get("d")) && address.Domain(m.get("s")) &&
		base64Text(m.get("b")) && base64Text(m.get("bh")) && within(m.agent, m.get("d")) && slices.Contains(m.names, "from")
}

// base64Text reports whether a value is base64 (RFC 6376 §2.10), folded or not. Many
// decoders overlook other bytes, and b= is not signed. With one such byte put into the
// genuine field, header.b would no longer match it, but a field that an attacker added.
func base64Text(v string) bool {
	v = solid(v)
	text := strings.TrimRight(v, "=")
	for i := range len(text) {
		if !inBase64[text[i]] {
			return false
		}
	}
	return text != "" && len(v)-len(text) <= 2
}

// inBase64 has the bytes of base64, without the = at its end.
var inBase64 = func() (list [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		list[c] = true
	}
	return list
}()

// partial reports whether the signature leaves a part of the body unsigned. With l=,
// however large, it does, because anyone can append to the body.
func (m *dkimField) partial() bool {
	_, ok := m.tags.Get("l")
	return ok
}

// unsigned returns the fields of the header that the signature does not cover.
func (m *dkimField) unsigned(h *header) Fields { return h.unsigned(m.names) }

// stamp returns what tells the signature from that of another message with the same
// fields: the hash of the body, and when the signature was made. Both are signed, like
// every tag except b= (RFC 6376 §3.7), and are equal in two signatures by one server.
func (m *dkimField) stamp() string { return "bh=" + solid(m.get("bh")) + "; t=" + solid(m.get("t")) }

// solid removes all blanks.
func solid(s string) string {
	if !slices.ContainsFunc([]byte(taglist.Blanks), func(c byte) bool { return strings.IndexByte(s, c) >= 0 }) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(taglist.Blanks, r) {
			return -1
		}
		return r
	}, s)
}

// pointer holds what a dkim result says of the signature it is about: domain, domain
// of i=, selector, and the first characters of b= (RFC 8601 §2.7.1, RFC 6008).
type pointer struct{ d, agent, s, b string }

func pointerOf(r *authres.Result) (p pointer) {
	p.d, _ = r.Prop("header", "d")
	i, _ := r.Prop("header", "i")
	_, p.agent, _ = strings.Cut(i, "@")
	p.s, _ = r.Prop("header", "s")
	p.b, _ = r.Prop("header", "b")
	return p
}

// bare reports whether the result names no domain.
func (p *pointer) bare() bool { return p.d == "" && p.agent == "" }

// names reports whether the result is about a signature of this signer.
func (p *pointer) names(m *dkimField) bool {
	if p.d != "" {
		return address.Equal(m.get("d"), p.d)
	}
	return p.bare() || address.Equal(m.agent, p.agent)
}

// fits reports whether the result can be about this very signature of that signer.
func (p *pointer) fits(m *dkimField) bool {
	return (p.s == "" || address.Equal(m.get("s"), p.s)) && (p.b == "" || strings.HasPrefix(solid(m.get("b")), solid(p.b)))
}
