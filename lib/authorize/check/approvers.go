package check

import (
	"os"
	"os/user"
	"slices"
	"strings"

	"pulse/lib/shared/address"
	"pulse/lib/shared/policy"
)

// approverRisks says which rows of [[approval.row]] nobody can satisfy, because of who is named there.
// Logins of a queue on a server are not known here.
func approverRisks(p *policy.Policy, risk func(when bool, format string, args ...any)) {
	known := knownTo(&p.Approval)
	for i := range p.Approval.Rows {
		row := &p.Approval.Rows[i]
		var left []string
		for _, name := range row.Approvers {
			if known(name) {
				left = append(left, name)
				continue
			}
			risk(true, "approval.row.approvers: nobody is called %s: no key of approval.allowed_signers%s", name, account(&p.Approval))
		}
		risk(row.Approvers != nil && len(left) < row.Count,
			"[[approval.row]] can't be satisfied: %d of its approvers are known, and count is %d", len(left), row.Count)
		for _, owner := range p.Owners {
			others := slices.DeleteFunc(slices.Clone(left), func(name string) bool { return address.Names(name, owner) })
			risk(row.NotAuthor && len(others) < min(row.Count, len(left)),
				"[[approval.row]] can't be satisfied for what %s asks: not_author leaves %d approvers, and count is %d", owner, len(others), row.Count)
		}
		risk(row.NotAuthor && row.Approvers == nil,
			"approval.row.not_author without approvers: an author whose account has another name than the address is not recognised")
	}
	risk(len(p.Approval.Rows) > 0 && p.Approval.Require == "terminal",
		"approval.require is terminal: nothing proves who said yes for [[approval.row]]")
}

// knownTo returns what tells whether a yes can bear a name.
func knownTo(a *policy.Approval) func(name string) bool {
	var signers []byte
	var err error
	if a.AllowedSigners != "" {
		signers, err = os.ReadFile(a.AllowedSigners)
	}
	return func(name string) bool {
		if err != nil || signs(string(signers), name) { // run says what is wrong with the file
			return true
		}
		if a.Require == "signature" {
			return false
		}
		_, err := user.Lookup(name)
		return err == nil
	}
}

// signs reports whether a file of allowed signers has a name for a key.
func signs(text, name string) bool {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 0 && slices.Contains(strings.Split(strings.Trim(f[0], `"`), ","), name) {
			return true
		}
	}
	return false
}

// account says what else a name could be.
func account(a *policy.Approval) string {
	if a.Require == "signature" {
		return ", and approval.require is signature"
	}
	return ", and no account of this machine; a queue on a server may have such a login"
}
