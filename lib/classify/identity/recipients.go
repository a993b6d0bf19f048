package identity

import (
	"slices"

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
	list, _ := h.recipients()
	return list
}

// recipients reads To and Cc; the finding says why there is nothing to return.
func (h *header) recipients() ([]string, finding) {
	var list []string
	for _, s := range [...]slot{slotTo, slotCc} {
		switch {
		case h.count[s] == 0:
			continue
		case h.count[s] > 1 || h.odd[s]:
			return nil, finding{notAddressed, "more than one " + s.String() + " field"}
		}
		var ok bool
		if list, ok = appendMailboxes(list, h.value[s]); !ok {
			return nil, finding{notAddressed, s.String() + " is not a list of plain addresses"}
		}
	}
	if len(list) == 0 {
		return nil, finding{notAddressed, "there is neither To nor Cc"}
	}
	return list, finding{}
}

// appendMailboxes reads a list of mailboxes (RFC 5322 §3.4 mailbox-list, no groups
// and no empty elements).
func appendMailboxes(list []string, v string) ([]string, bool) {
	for {
		end, ok := element(v)
		if !ok {
			return nil, false
		}
		box, ok := parseMailbox(v[:end])
		if !ok {
			return nil, false
		}
		list = append(list, box.address)
		if end == len(v) {
			return list, true
		}
		v = v[end+1:]
	}
}

// element returns where the first element of a list ends: at a comma outside
// quotes and comments, or at the end.
func element(v string) (end int, ok bool) {
	for i := 0; i < len(v); {
		n := 1
		switch v[i] {
		case ',':
			return i, true
		case '"':
			n = enclosed(v[i:], '"')
		case '(':
			n = enclosed(v[i:], ')')
		}
		if n == 0 {
			return 0, false
		}
		i += n
	}
	return len(v), true
}

// addressed demands that the message went to the policy's recipients alone. A message
// that also went to others is a conversation. One that was written to others and then
// forwarded whole is not a command to the agent.
func (e *evidence) addressed() finding {
	list, f := e.header.recipients()
	for _, to := range list {
		ours := func(r string) bool { return address.Equal(r, to) }
		if !slices.ContainsFunc(e.p.Recipients, ours) {
			return finding{notAddressed, "it goes to " + to}
		}
	}
	return f
}
