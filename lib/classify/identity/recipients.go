package identity

import (
	"slices"

	"pulse/lib/classify/addrspec"
	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
)

// Recipients returns every address of To and Cc, as it stands there. It returns nil if
// there is none, or if one of the fields appears twice or is not, as a whole, a list of
// plain mailboxes. An HTTP request has no recipients.
func Recipients(m *envelope.Message) []string {
	if isRequest(m) {
		return nil
	}
	h := collect(m)
	list, _ := h.recipients(nil)
	return list
}

// recipients reads To and Cc, and appends to a list that is empty. The finding says why there is nothing
// to return.
func (h *header) recipients(list []string) ([]string, finding) {
	for _, s := range [...]slot{slotTo, slotCc} {
		switch {
		case h.count[s] == 0:
			continue
		case h.count[s] > 1 || h.odd[s]:
			return nil, finding{notAddressed, "more than one " + s.String() + " field"}
		}
		var ok bool
		if list, ok = addrspec.AppendList(list, h.value[s]); !ok {
			return nil, finding{notAddressed, s.String() + " is not a list of plain addresses"}
		}
	}
	if len(list) == 0 {
		return nil, finding{notAddressed, "there is neither To nor Cc"}
	}
	return list, finding{}
}

// addressed demands that the message went to the policy's recipients alone. A message
// that also went to others is a conversation. One that was written to others and then
// forwarded whole is not a command to the agent.
func (e *evidence) addressed() finding {
	var memory [8]string
	list, f := e.header.recipients(memory[:0])
	for _, to := range list {
		ours := func(r string) bool { return address.Equal(r, to) }
		if !slices.ContainsFunc(e.p.Recipients, ours) {
			return finding{notAddressed, "it goes to " + to}
		}
	}
	return f
}
