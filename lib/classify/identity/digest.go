package identity

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
)

// Author returns the domain of From, or why it is in doubt: the message has a defect,
// From is not one plain mailbox, or a field that may appear once appears twice. The
// signatures of such a message need not be checked, because it can't be verified.
func Author(m *envelope.Message) (domain, why string) {
	e := evidence{m: m, header: collect(m)}
	e.from, e.flaw = e.header.sender()
	f := first(&e, nil, checks[:3])
	if f.reason != "" {
		return "", f.reason.sentence(f.detail)
	}
	return e.from.Domain, ""
}

// Near reports whether a signature by the domain signer could count for a sender at from
// in pulse's own check: their last two labels are the same. No Organizational Domain is
// shorter, because a top-level domain is none.
func Near(signer, from string) bool {
	return address.Equal(lastTwo(signer), lastTwo(from)) && strings.IndexByte(signer, '.') > 0
}

// lastTwo returns the last two labels of a domain.
func lastTwo(domain string) string {
	if i := strings.LastIndexByte(domain, '.'); i >= 0 {
		return domain[strings.LastIndexByte(domain[:i], '.')+1:]
	}
	return domain
}

// Uncovered returns the first of From, Subject and Date that stands in the message and
// not among the names, which are in lower case; empty if there is none. pulse's own
// check accepts no signature that leaves one of these out. Other fields may be unsigned,
// and are reported in identity.unsigned.
func Uncovered(m *envelope.Message, names []string) string {
	h := collect(m)
	return h.uncovered(names)
}

func (h *header) uncovered(names []string) string {
	for _, s := range [...]slot{slotFrom, slotSubject, slotDate} {
		if h.count[s] > 0 && !slices.Contains(names, folded[s]) {
			return s.String()
		}
	}
	return ""
}

// unsigned returns the fields other than From that stand in the message and not among
// the names, which are in lower case. Each field stands there once, so one mention in
// h= covers it.
func (h *header) unsigned(names []string) Fields {
	var signed Fields
	for s := range slots {
		if slices.Contains(names, folded[s]) {
			signed.add(s)
		}
	}
	return h.without(signed)
}

// without is unsigned for a set. A field about the body need not be there: one that is not
// signed may have been removed.
func (h *header) without(signed Fields) (f Fields) {
	for s := slotTo; s < slots; s++ {
		if (h.count[s] > 0 || mimeFields.has(s)) && !signed.has(s) {
			f.add(s)
		}
	}
	return f
}

// named reports whether the task can be named after the Message-ID: it is signed, and
// holds no blank, which could be changed on the way.
func (h *header) named(p *proof) bool {
	id := strings.Trim(h.value[slotMessageID], " \t\r\n")
	return h.count[slotMessageID] == 1 && !p.unsigned.has(slotMessageID) && id != "" && !strings.ContainsAny(id, " \t\r\n")
}

// signed returns a digest of From, To, Cc, Subject, Date and Message-ID, as far as they
// are there and signed, after relaxed canonicalization (RFC 6376 §3.4.2). No other field
// goes into it. So it stays the same if the message is sent on with a change that does
// not break the signature, whether added, dropped, respaced or rewritten. Where no
// Message-ID is signed, the stamps of the signature take its place, or two mails of one
// second would be one.
func (h *header) signed(p *proof) string {
	var memory [usualSigned]byte
	text := memory[:0]
	for s := range slotContentType {
		if h.count[s] == 1 && !p.unsigned.has(s) {
			text = append(append(text, folded[s]...), ':')
			text = append(appendRelaxed(text, h.value[s]), "\r\n"...)
		}
	}
	if !h.named(p) {
		for _, stamp := range p.stamps() {
			text = append(text, dkimFieldName+":"+stamp+"\r\n"...)
		}
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// usualSigned is how many bytes the signed fields have at most, as a rule.
const usualSigned = 1024

// relaxed unfolds a value, makes every run of blanks one space, and removes the blanks
// at the ends. The result holds no CRLF.
func relaxed(value string) string { return string(appendRelaxed(nil, value)) }

// appendRelaxed appends what relaxed returns.
func appendRelaxed(dst []byte, value string) []byte {
	begin := len(dst)
	for word := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == ' ' || r == '\t' || r == '\r' || r == '\n' }) {
		if len(dst) > begin {
			dst = append(dst, ' ')
		}
		dst = append(dst, word...)
	}
	return dst
}
