package identity

import (
	"pulse/lib/classify/addrspec"
	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
)

// slot is a header field that may appear once in a message (RFC 5322 §3.6, RFC 2045 §3).
type slot int

// A signature that covers one instance of such a field says nothing about a second.
const (
	slotFrom slot = iota
	slotTo
	slotCc
	slotSubject
	slotDate
	slotMessageID
	slotContentType
	slotTransferEncoding
	slotDisposition
	slots
)

func (s slot) String() string {
	return [...]string{"From", "To", "Cc", "Subject", "Date", "Message-ID",
		"Content-Type", "Content-Transfer-Encoding", "Content-Disposition"}[s]
}

// folded holds the names of the slots in lower case, for comparison with h= of a
// signature.
var folded = [slots]string{"from", "to", "cc", "subject", "date", "message-id",
	"content-type", "content-transfer-encoding", "content-disposition"}

// header is what one pass over the fields found.
type header struct {
	value     [slots]string // of the last field of that name
	count     [slots]int
	odd       [slots]bool // a name has blanks or other stray bytes around it
	automatic bool
}

// longestName is the length of the longest name that collect knows.
const longestName = len("content-transfer-encoding")

// collect sorts the fields by their trimmed names. So "From " counts as a From,
// because some readers take it for one and some don't (RFC 5322 §4.5).
func collect(m *envelope.Message) (h header) {
	for i := range m.Headers {
		f := &m.Headers[i]
		name := trimName(f.Name)
		if !maybeKnown(name) {
			continue
		}
		low := lowered(name, new([longestName]byte))
		if s, ok := slotOf(low); ok {
			h.value[s] = f.Value
			h.count[s]++
			h.odd[s] = h.odd[s] || len(name) != len(f.Name)
			if s != slotContentType {
				continue
			}
		}
		h.automatic = h.automatic || automatic(low, f.Value)
	}
	return h
}

// known has, for the first byte of a name that collect knows, a bit for each length. Most
// names are none of these, and this tells without a look at the rest of them.
var known = func() (list [256]uint32) {
	for _, name := range [...]string{
		"from", "to", "cc", "subject", "date", "message-id", "auto-submitted", "x-autoreply",
		"x-autorespond", "precedence", "list-id", "content-type", "return-path",
		"content-transfer-encoding", "content-disposition",
	} {
		list[name[0]] |= 1 << len(name)
		list[name[0]-'a'+'A'] |= 1 << len(name)
	}
	return list
}()

// maybeKnown reports whether a name can be one that collect knows.
func maybeKnown(name string) bool { return name != "" && known[name[0]]>>len(name)&1 != 0 }

// lowered returns a name in lower case, in buf. It returns nothing for a name that is longer
// than all that are known.
func lowered(name string, buf *[longestName]byte) []byte {
	if len(name) > longestName {
		return nil
	}
	for i := range len(name) {
		buf[i] = lower(name[i])
	}
	return buf[:len(name)]
}

func slotOf(folded []byte) (slot, bool) {
	switch string(folded) {
	case "from":
		return slotFrom, true
	case "to":
		return slotTo, true
	case "cc":
		return slotCc, true
	case "subject":
		return slotSubject, true
	case "date":
		return slotDate, true
	case "message-id":
		return slotMessageID, true
	case "content-type":
		return slotContentType, true
	case "content-transfer-encoding":
		return slotTransferEncoding, true
	case "content-disposition":
		return slotDisposition, true
	}
	return 0, false
}

// trimName removes from both ends whatever can't be in a field name (RFC 5322
// §3.6.8), as authres does.
func trimName(s string) string {
	for s != "" && !graph(s[0]) {
		s = s[1:]
	}
	for s != "" && !graph(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

// called reports whether a name is want, whatever stands around it.
func called(name, want string) bool {
	return len(name) >= len(want) && calledSo(name, want)
}

func calledSo(name, want string) bool {
	n := len(name)
	return (n == len(want) || !graph(name[0]) || !graph(name[n-1])) && address.Equal(trimName(name), want)
}

func graph(c byte) bool { return c > ' ' && c < 0x7f }

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// sender returns the only mailbox of the only From field.
func (h *header) sender() (addrspec.Mailbox, finding) {
	switch {
	case h.count[slotFrom] == 0:
		return addrspec.Mailbox{}, finding{reason: noFrom}
	case h.count[slotFrom] > 1:
		return addrspec.Mailbox{}, finding{reason: severalFrom}
	}
	box, ok := addrspec.Parse(h.value[slotFrom])
	if !ok {
		return addrspec.Mailbox{}, finding{malformedFrom, addrspec.Suspect(h.value[slotFrom])}
	}
	return box, finding{}
}
