package identity

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"strings"

	"pulse/lib/envelope"
)

// Author returns the domain of From, or why there is no doubtless one: the
// message has a defect, From is not one plain mailbox, or a field that may stand
// there once does so twice. What can't be verified for this reason is not worth a
// look at its signatures.
func Author(m *envelope.Message) (domain, why string) {
	e := evidence{m: m, header: collect(m)}
	e.from, e.flaw = e.header.sender()
	f := first(&e, (*evidence).intact, (*evidence).author, (*evidence).single)
	if f.reason != "" {
		return "", f.reason.sentence(f.detail)
	}
	return e.from.domain, ""
}

// Near reports whether a signature of the domain signer could count for a sender
// at from: it is the same, its parent or its child (dkim_alignment "relaxed").
func Near(signer, from string) bool { return nearby(signer, from) }

// Uncovered returns which of From, Subject and Date stands in the message and not
// among the names, which are in lower case; empty if none. Without these our own
// check takes no signature for one; the others may be unsigned, and are told so.
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

// unsigned returns which fields other than From stand in the message and not among
// the names, which are in lower case. As each of them stands there once, to be named
// once is to be signed whole.
func (h *header) unsigned(names []string) (f Fields) {
	for s := slotTo; s < slots; s++ {
		if h.count[s] > 0 && !slices.Contains(names, folded[s]) {
			f.add(s)
		}
	}
	return f
}

// named reports whether the Message-ID can name the task: it is signed, and no blank
// in it may be changed on the way.
func (h *header) named(p *proof) bool {
	id := strings.Trim(h.value[slotMessageID], " \t\r\n")
	return h.count[slotMessageID] == 1 && !p.unsigned.has(slotMessageID) && id != "" && !strings.ContainsAny(id, " \t\r\n")
}

// signed returns a digest of From, To, Cc, Subject, Date and Message-ID, those that
// are there and signed, after relaxed canonicalization (RFC 6376 §3.4.2). No other
// field has a part in it: so it stays the same when somebody sends the message on
// with something added, dropped, respaced or rewritten that may be changed without
// breaking the signature. Where no Message-ID is signed, what tells the signature
// from another takes its place, or two mails of one second would be one.
func (h *header) signed(p *proof) string {
	sum := sha256.New()
	for s := range slots {
		if h.count[s] == 1 && !p.unsigned.has(s) {
			io.WriteString(sum, folded[s]+":"+relaxed(h.value[s])+"\r\n")
		}
	}
	if !h.named(p) {
		for _, stamp := range p.stamps() {
			io.WriteString(sum, markName+":"+stamp+"\r\n")
		}
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// relaxed unfolds a value and makes every run of blanks one space; those at the
// ends go. The result holds no CRLF.
func relaxed(value string) string {
	return strings.Join(strings.FieldsFunc(value, func(r rune) bool {
		return r == ' ' || r == '\t' || r == '\r' || r == '\n'
	}), " ")
}
