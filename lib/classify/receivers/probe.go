package receivers

import (
	"strings"

	"pulse/lib/shared/address"
	"pulse/lib/shared/policy"
)

// Unsigned says what the signatures of Microsoft leave out.
const Unsigned = "To on 578 of 593 mails of Microsoft 365 and on 188 of 188 of Outlook.com, Cc on 303 of 303"

// unsignedTo are the domains of Outlook.com.
var unsignedTo = []string{"outlook.com", "hotmail.com", "live.com", "msn.com"}

// SignsNoTo reports whether mail from addresses of a domain is known to go out with To
// and Cc unsigned. Customers of Microsoft 365 with a domain of their own can't be told.
func SignsNoTo(domain string) bool {
	for _, d := range unsignedTo {
		if address.Equal(d, domain) {
			return true
		}
	}
	return false
}

// Probe returns the commands that try the receiver, from outside and from inside, as
// another of its users.
func (r *Receiver) Probe() (outside, inside string) {
	which := "--receiver " + r.Name
	if id, exact := r.Exact(); !exact && r.Verdict != policy.ByMicrosoft {
		which += " --pin " + id
	}
	return "scripts/probe-receiver mail " + which + " --to YOU --from YOU@ELSEWHERE",
		"scripts/probe-receiver submit " + which + " --to YOU --from OWNER --server smtp://HOST --sender OTHER --login OTHER --password-file FILE"
}

// Exact returns the one authserv-id that the receiver writes. If there is not one, it
// returns an example.
func (r *Receiver) Exact() (id string, exact bool) {
	switch {
	case len(r.IDs) == 0 && len(r.Unsafe) > 0:
		id = r.Unsafe[0]
	case len(r.IDs) == 0:
		return "mx.example.com", false
	default:
		id = r.IDs[0]
	}
	return strings.Replace(id, "*", "mx1", 1), !strings.Contains(id, "*")
}
