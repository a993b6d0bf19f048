package identity

import (
	"slices"
	"strings"

	"pulse/lib/address"
	"pulse/lib/authres"
	"pulse/lib/envelope"
	"pulse/lib/taglist"
)

// mark is a DKIM-Signature field (RFC 6376 §3.5). Nothing is verified here: it is
// what the receiver's verdict must point to.
type mark struct {
	tags  taglist.List // nil: it can't be read
	agent string       // domain of i=
	names []string     // h= in lower case
}

const markName = "dkim-signature"

// isMark reports whether a field is a DKIM-Signature. Blanks around the name do not
// matter: a verifier may overlook them, and so they are none in the hash (§3.4.2).
func isMark(f *envelope.Field) bool { return address.Equal(trimName(f.Name), markName) }

func readMark(value string) (m mark) {
	m.tags, _ = taglist.Parse(value)
	d := m.get("d")
	m.agent = d
	if _, domain, ok := strings.Cut(m.get("i"), "@"); ok {
		m.agent = domain
	}
	m.names = taglist.Elements(address.Fold(m.get("h")))
	return m
}

// get returns the value of a tag, or nothing.
func (m *mark) get(tag string) string { return m.tags.Or(tag, "") }

// wellFormed reports whether a verifier could have found the signature good: it has
// the tags that must be there, in order, and signs From.
func (m *mark) wellFormed() bool {
	return m.get("v") == "1" && address.Domain(m.get("d")) && address.Domain(m.get("s")) &&
		base64Text(m.get("b")) && base64Text(m.get("bh")) && within(m.agent, m.get("d")) && slices.Contains(m.names, "from")
}

// base64Text reports whether a value is base64 (RFC 6376 §2.10), folded or not. Many
// decoders overlook other bytes, and b= is not signed: one byte put in there, and the
// field would no longer begin as header.b says, but another one that somebody added.
func base64Text(v string) bool {
	v = solid(v)
	text := strings.TrimRight(v, "=")
	return text != "" && len(v)-len(text) <= 2 && strings.IndexFunc(text, func(r rune) bool {
		return !('a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9' || r == '+' || r == '/')
	}) < 0
}

// partial reports whether it leaves a part of the body unsigned, now or once
// somebody has written on: it does with l=, however long.
func (m *mark) partial() bool {
	_, ok := m.tags.Get("l")
	return ok
}

// unsigned returns which fields of the header it does not cover. As each of them
// stands there once, to be named once is to be signed whole.
func (m *mark) unsigned(h *header) Fields { return h.unsigned(m.names) }

// stamp returns what tells the signature from that of another message with the same
// fields: the hash of the body, and when it was made. Both are signed, as every tag
// but b= is (RFC 6376 §3.7), and equal in two signatures by one server.
func (m *mark) stamp() string { return "bh=" + solid(m.get("bh")) + "; t=" + solid(m.get("t")) }

// solid removes all blanks.
func solid(s string) string {
	if !strings.ContainsAny(s, taglist.Blanks) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(taglist.Blanks, r) {
			return -1
		}
		return r
	}, s)
}

// pointer is what a dkim result says of the signature it is about: domain, domain of
// i=, selector, and how b= begins (RFC 8601 §2.7.1, RFC 6008).
type pointer struct{ d, agent, s, b string }

func pointerOf(r *authres.Result) (p pointer) {
	p.d, _ = r.Prop("header", "d")
	i, _ := r.Prop("header", "i")
	_, p.agent, _ = strings.Cut(i, "@")
	p.s, _ = r.Prop("header", "s")
	p.b, _ = r.Prop("header", "b")
	return p
}

// bare reports whether no domain is named.
func (p *pointer) bare() bool { return p.d == "" && p.agent == "" }

// names reports whether the result is about a signature of this signer.
func (p *pointer) names(m *mark) bool {
	if p.d != "" {
		return address.Equal(m.get("d"), p.d)
	}
	return p.bare() || address.Equal(m.agent, p.agent)
}

// fits reports whether the result can be about this very signature of that signer.
func (p *pointer) fits(m *mark) bool {
	return (p.s == "" || address.Equal(m.get("s"), p.s)) && (p.b == "" || strings.HasPrefix(solid(m.get("b")), solid(p.b)))
}
