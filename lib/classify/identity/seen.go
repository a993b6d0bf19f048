package identity

import (
	"pulse/lib/classify/addrspec"
	"pulse/lib/shared/address"
	"pulse/lib/shared/audience"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/terms"
)

// Seen returns who has seen what an ask says: of a proven mail, its sender and the addresses of
// To and Cc, each field only if the signature covers it, stands once and is a list of plain
// addresses. Anyone who sends a mail on can write a field that is not signed. Nobody keeps to
// themselves what an account of this machine submitted. Of anything else nobody is known.
//
// Those who answered in the thread are not in it: an answer proves only that its sender knew a
// Message-ID.
func (id *Identity) Seen(m *envelope.Message) audience.Audience {
	if m == nil && id.Via == ViaSubmit && id.Trust == terms.System {
		return audience.Anyone
	}
	if _, _, err := address.Split(id.Sender); err != nil || m == nil || id.Via != ViaMessage || !id.Verified || isRequest(m) {
		return audience.Audience{}
	}
	list := []string{id.Sender}
	h := collect(m)
	for _, s := range [...]slot{slotTo, slotCc} {
		if h.count[s] != 1 || h.odd[s] || id.Unsigned.has(s) {
			continue
		}
		if boxes, ok := addrspec.AppendList(nil, h.value[s]); ok {
			list = append(list, boxes...)
		}
	}
	return audience.Of(list...)
}
