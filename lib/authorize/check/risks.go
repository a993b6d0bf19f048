// Package check says what is risky about a policy, and which bytes of whose mail go where under it. A
// policy that is valid may still let through more, or less, than its owner means.
//
// Caveat: what it says of files and programs is about those that are there now.
package check

import (
	"fmt"
	"maps"
	"slices"

	"pulse/lib/classify/receivers"
	"pulse/lib/shared/address"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/safefile"
	"pulse/lib/shared/sandbox"
	"pulse/lib/shared/terms"
)

// Risks lists what is risky about a valid policy. queue is the queue's directory, or empty, and ground
// says why the owner of a file there proves nothing.
func Risks(p *policy.Policy, queue string, ground error) []string {
	var list []string
	risk := func(when bool, format string, args ...any) {
		if when {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	senders(p, risk)
	matrixRisks(p, risk)
	rowRisks(p, risk)
	extractRisks(p, risk)
	risk(!p.Outbound.Restricted,
		"outbound.allow is absent: any target may be confirmed; list the targets, or [] for none")
	risk(p.Approval.Require == "terminal",
		"approval.require is terminal: a worker under the same uid could answer the prompt itself")
	risk(p.Approval.Require == "user" && p.Approval.ApproverGroup == "",
		"approval.approver_group is absent: the queue's owner can make it one of another group that he is in")
	risk(p.Approval.Require == "user" && ground != nil,
		"approval.require is user, and the owner of a file in the queue proves nothing: %v", ground)
	signedRisk(p, risk)
	approverRisks(p, risk)
	risk(p.Evidence != policy.ByAuthRes,
		"evidence is %s: %s; pulse-fetch --resolver can ask one on this machine that validates DNSSEC", p.Evidence, receivers.NameServers)
	for _, pl := range p.Platforms {
		risk(pl.Trust == terms.OwnerVerifiedEmail,
			"[[platform]] %s has trust owner_verified_email: whoever has its secret is the owner", pl.Source)
		for _, id := range slices.Concat(pl.OwnerIDs, pl.AllowedIDs) {
			risk(id[0] == '"' && !pl.Webhook(), "[[platform]] %s lists %s in quotes: it is not the sender with that number", pl.Source, id)
		}
		for _, c := range pl.Chats {
			risk(c.Enabled && c.OpenGroup,
				"[[platform.chat]] %s of %s has open_group: everybody who joins may ask", c.ID, pl.Source)
		}
	}
	flowRisks(p, risk)
	toolRisks(p, queue, risk)
	if lacks := sandbox.Lacks(p.Evidence != policy.ByAuthRes); lacks != "" {
		risk(true, "%s: what reads mail keeps all rights of its account (--sandbox, in pulse(7))", lacks)
	}
	return list
}

// signedRisk says where a yes that is signed elsewhere does not count beside those of
// approvers: others than root can change what it is checked with.
func signedRisk(p *policy.Policy, risk func(bool, string, ...any)) {
	if p.Approval.Require != "user" || p.Approval.AllowedSigners == "" {
		return
	}
	for _, f := range []struct{ what, path string }{
		{"the policy", p.Name}, {"approval.allowed_signers", p.Approval.AllowedSigners},
	} {
		err := safefile.Guarded(f.path)
		risk(err != nil, "approval.require is user, and a signature proves nothing here: %s: %v", f.what, err)
	}
}

func senders(p *policy.Policy, risk func(bool, string, ...any)) {
	risk(len(p.Owners) == 0, "owners is empty: nobody is the owner")
	receiverRisks(p, risk)
	risk(p.MaxAge == 0, "max_age is 0: a mail that somebody kept can be replayed at any time")
	for _, f := range p.AcceptUnsigned {
		risk(true, "accept_unsigned has %s: %s", f, unsignedRisk[f])
	}
	for _, e := range p.AllowedExternal {
		risk(e[0] == '@', "allowed_external has %s: everybody with an address there is trusted alike", e)
	}
	for _, e := range p.AcceptAutomatic {
		risk(true, "accept_automatic has %s: two programs that answer each other loop", e)
	}
}

// unsignedRisk says what anyone who gets a mail of the owner can do where no
// signature covers a field.
var unsignedRisk = map[string]string{
	"To":         "anyone who gets a mail of the owner can send it on to the agent as if it had been for it",
	"Cc":         "anyone who gets a mail of the owner can send it on to the agent as if it had been for it",
	"Date":       "anyone who keeps a mail of the owner can date it anew, and max_age and sessions let it pass",
	"Subject":    "anyone who gets a mail of the owner can send it on with another subject, and no rule goes by that",
	"Message-ID": "anyone who gets a mail of the owner can send it on with another one, and no rule goes by that",
}

func matrixRisks(p *policy.Policy, risk func(bool, string, ...any)) {
	for _, t := range []terms.Trust{terms.Unknown, terms.OwnerClaim} {
		for _, a := range terms.Actions {
			o := p.Matrix[t].Outcome(a)
			risk(o != terms.Reject, "matrix.%s: %s is %s for senders nobody has proven", t, a, o)
		}
	}
	for _, t := range []terms.Trust{terms.ExternalVerified, terms.OwnerVerifiedEmail} {
		onWord(p.Matrix[t], string(t), risk)
	}
	risk(p.DefaultAction != terms.ReadPublic, "default_action is %s: every mail asks for that", p.DefaultAction)
}

// onWord reports what a row allows on the word of a mail alone.
func onWord(row policy.Row, name string, risk func(bool, string, ...any)) {
	for _, a := range terms.Actions {
		risk((a.Outward() || a == terms.ReadPrivate) && row.Outcome(a) == terms.Allow,
			"matrix.%s: %s is allowed on the word of a mail alone", name, a)
	}
}

// rowRisks reports what is risky about the rows of single senders. A row lists nobody: it
// counts only for a sender that a list has.
func rowRisks(p *policy.Policy, risk func(bool, string, ...any)) {
	for i := range p.Senders {
		row := &p.Senders[i]
		onWord(row.Row, row.Name(), risk)
		risk(!listed(p, row.Sender),
			"matrix.%s: neither owners nor allowed_external has it, so the row is not used", row.Name())
		risk(len(row.Row) == 0,
			"matrix.%s names no action, so all that it asks for is rejected", row.Name())
	}
}

// listed reports whether there is a sender on a list for whom a row counts.
func listed(p *policy.Policy, sender string) bool {
	if sender[0] != '@' {
		return slices.ContainsFunc(p.Owners, func(o string) bool { return address.Equal(o, sender) }) ||
			address.Listed(p.AllowedExternal, sender)
	}
	return slices.ContainsFunc(slices.Concat(p.Owners, p.AllowedExternal), func(e string) bool {
		return address.Equal(e, sender) || address.Listed([]string{sender}, e)
	})
}

// extractRisks reports whose text reaches a worker that may do something for it, and whose
// does not although it is the owner's.
func extractRisks(p *policy.Policy, risk func(bool, string, ...any)) {
	for _, t := range []terms.Trust{terms.Unknown, terms.OwnerClaim, terms.ExternalVerified} {
		risk(!p.Extract.Requires(t) && allowed(p, t),
			"extract.require lacks %s: a worker that may do something for it reads its text, which may tell it to do something else", t)
	}
	for _, t := range []terms.Trust{terms.OwnerVerifiedEmail, terms.ApprovedSession} {
		risk(p.Extract.Requires(t), "extract.require has %s: no worker reads what the owner wrote", t)
	}
}

// allowed reports whether anything is allowed for senders of a trust level. Without a list
// there are no external ones.
func allowed(p *policy.Policy, t terms.Trust) bool {
	if t == terms.ExternalVerified {
		if len(p.AllowedExternal) == 0 && len(p.Platforms) == 0 {
			return false
		}
		for i := range p.Senders {
			if !address.Listed(p.Owners, p.Senders[i].Sender) && allows(p.Senders[i].Row) {
				return true
			}
		}
	}
	return allows(p.Matrix[t])
}

func allows(row policy.Row) bool {
	return slices.Contains(slices.Collect(maps.Values(row)), terms.Allow)
}
