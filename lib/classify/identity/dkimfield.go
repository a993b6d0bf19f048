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
	odd    bool   // odd bytes stand around its name: some verifiers overlook it
	read   bool   // else it can't be read, and what follows is empty
	agent  string // domain of i=
	signed Fields // that h= names, From included
	part   bool   // l= leaves a part of the body unsigned

	v, d, s, h, b, bh, t string // the tags of these names
}

const dkimFieldName = "dkim-signature"

// isDKIMField reports whether a field is a DKIM-Signature. Blanks around the name do not
// matter, because a verifier may overlook them: the hash ignores them too (§3.4.2).
func isDKIMField(f *envelope.Field) bool { return called(f.Name, dkimFieldName) }

// readField reads a field into m, which must be zero.
func (m *dkimField) readField(f *envelope.Field) {
	m.odd = len(f.Name) != len(dkimFieldName)
	var memory [usualTags]taglist.Tag
	tags, err := taglist.Append(memory[:0], f.Value)
	if m.read = err == nil; !m.read {
		return
	}
	agent := ""
	for i := range tags {
		t := &tags[i]
		switch t.Name {
		case "v":
			m.v = t.Value
		case "d":
			m.d = t.Value
		case "s":
			m.s = t.Value
		case "h":
			m.h = t.Value
		case "b":
			m.b = t.Value
		case "bh":
			m.bh = t.Value
		case "t":
			m.t = t.Value
		case "i":
			agent = t.Value
		case "l":
			m.part = true
		}
	}
	m.agent = m.d
	if _, domain, ok := strings.Cut(agent, "@"); ok {
		m.agent = domain
	}
	m.signed = slotsIn(m.h)
}

// usualTags is how many tags a signature has at most, as a rule.
const usualTags = 16

// slotsIn returns the fields that h= names (RFC 6376 §3.5).
func slotsIn(h string) (f Fields) {
	for more := true; more; {
		var name string
		name, h, more = strings.Cut(h, ":")
		if name = taglist.Trim(name); !maybeKnown(name) {
			continue
		}
		if s, ok := slotOf(lowered(name, new([longestName]byte))); ok {
			f.add(s)
		}
	}
	return f
}

// wellFormed reports whether a verifier could have found the signature good: every
// required tag is there and well formed, and From is signed.
func (m *dkimField) wellFormed() bool {
	return m.v == "1" && address.Domain(m.d) && address.Domain(m.s) &&
		base64Text(m.b) && base64Text(m.bh) && within(m.agent, m.d) && m.signed.has(slotFrom)
}

// base64Text reports whether a value is base64 (RFC 6376 §2.10), folded or not. Many
// decoders overlook other bytes, and b= is not signed. With one such byte put into the
// genuine field, header.b would no longer match it, but a field that an attacker added.
func base64Text(v string) bool {
	text, ends := 0, 0 // bytes of base64, and of the = at its end
	for i := 0; i < len(v); i++ {
		for ends == 0 && i < len(v)-8 && allBase64(v[i:i+8]) {
			text, i = text+8, i+8
		}
		switch c := v[i]; {
		case inBase64[c] != 0 && ends == 0:
			text++
		case c == '=':
			ends++
		case strings.IndexByte(taglist.Blanks, c) < 0:
			return false
		}
	}
	return text > 0 && ends <= 2
}

// inBase64 has the bytes of base64, without the = at its end.
var inBase64 = func() (list [256]byte) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		list[c] = 1
	}
	return list
}()

// allBase64 reports whether eight bytes are all in base64.
func allBase64(s string) bool {
	_ = s[7]
	return inBase64[s[0]]&inBase64[s[1]]&inBase64[s[2]]&inBase64[s[3]]&
		inBase64[s[4]]&inBase64[s[5]]&inBase64[s[6]]&inBase64[s[7]] != 0
}

// partial reports whether the signature leaves a part of the body unsigned. With l=,
// however large, it does, because anyone can append to the body.
func (m *dkimField) partial() bool { return m.part }

// unsigned returns the fields of the header that the signature does not cover.
func (m *dkimField) unsigned(h *header) Fields { return h.without(m.signed) }

// stamp returns what tells the signature from that of another message with the same
// fields: the hash of the body, and when the signature was made. Both are signed, like
// every tag except b= (RFC 6376 §3.7), and are equal in two signatures by one server.
func (m *dkimField) stamp() string { return "bh=" + solid(m.bh) + "; t=" + solid(m.t) }

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
		return address.Equal(m.d, p.d)
	}
	return p.bare() || address.Equal(m.agent, p.agent)
}

// fits reports whether the result can be about this very signature of that signer.
func (p *pointer) fits(m *dkimField) bool {
	return (p.s == "" || address.Equal(m.s, p.s)) && (p.b == "" || solidPrefix(m.b, solid(p.b)))
}

// solidPrefix reports whether v without its blanks begins with prefix. It looks at no more
// of v than that takes.
func solidPrefix(v, prefix string) bool {
	for ; v != "" && prefix != ""; v = v[1:] {
		if strings.IndexByte(taglist.Blanks, v[0]) >= 0 {
			continue
		}
		if v[0] != prefix[0] {
			return false
		}
		prefix = prefix[1:]
	}
	return prefix == ""
}
