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
	case r.Example != "":
		return r.Example, false
	case len(r.IDs) > 0:
		return r.IDs[0], true
	case len(r.Unsafe) > 0 && !strings.Contains(r.Unsafe[0], "*"):
		return r.Unsafe[0], true
	}
	return "mx.example.com", false
}

// AlignmentRisks say what can go wrong if signatures of other domains than the sender's will do.
var AlignmentRisks = map[policy.Alignment]string{
	policy.Relaxed: "a parent or child of the sender's domain may sign for it",
	policy.Any:     "a signature of any domain will do beside dmarc=pass, so whoever shares a mail server with the sender can write in that name",
}

// NameServers is what can go wrong if pulse's own check proves a sender.
const NameServers = "what name servers answer proves a sender"

// kindRisks say what can go wrong with a server that is not known.
var kindRisks = map[policy.Verdict]string{
	policy.ByFirst: "if it leaves one mail without its field, of a login or a local program, a forged one stands first",
	policy.BySet:   "if it leaves one mail without its fields, of a login or a local program, forged ones stand alone",
}

// Risk says what can go wrong if fields of the ids are read as the verdict says.
func Risk(v policy.Verdict, ids []string) string {
	if v == policy.ByMicrosoft {
		r, _ := ByName("microsoft")
		return r.Risk
	}
	if len(ids) > 0 {
		if r, unsafe, ok := ByID(ids[0]); ok && (unsafe || r.Verdict == v) {
			return r.Risk
		}
	}
	return kindRisks[v]
}
