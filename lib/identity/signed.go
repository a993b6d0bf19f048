package identity

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"strings"

	"pulse/lib/address"
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

// Uncovered returns which of From, To, Cc, Subject, Date and Message-ID stands in
// the message and not among the names, which are in lower case; empty if none. As
// each stands there once, to be named once is to be signed whole.
func Uncovered(m *envelope.Message, names []string) string {
	h := collect(m)
	return h.uncovered(names)
}

func (h *header) uncovered(names []string) string {
	for s := range slots {
		if h.count[s] > 0 && !slices.Contains(names, address.Fold(s.String())) {
			return s.String()
		}
	}
	return ""
}

// signed returns a digest of From, To, Cc, Subject, Date and Message-ID, those
// that are there, after relaxed canonicalization (RFC 6376 §3.4.2). Signatures
// have no part in it, nor has any other field: so it stays the same when somebody
// sends the message on with something added, dropped or respaced that he may
// change without breaking the signature.
func (h *header) signed() string {
	sum := sha256.New()
	for s := range slots {
		if h.count[s] == 1 {
			io.WriteString(sum, address.Fold(s.String())+":"+relaxed(h.value[s])+"\r\n")
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
