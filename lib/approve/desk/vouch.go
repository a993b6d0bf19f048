package desk

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"

	"pulse/lib/queue/door"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/safefile"
)

// SeparateLogin is Separate for a queue on a server: a worker with these rights can neither
// use this account's login nor write the policy.
func SeparateLogin(p *policy.Policy, worker *Rights) error {
	if worker != nil {
		if err := ApartLogin(worker); err != nil {
			return err
		}
	}
	if err := safefile.Guarded(p.Name, uint32(os.Geteuid())); err != nil {
		return exposed("root and this account", "policy", p.Name, err)
	}
	return nil
}

// ApartLogin is the part of SeparateLogin about the worker. It looks nothing up.
func ApartLogin(worker *Rights) error {
	if worker.UID != 0 && worker.UID != os.Geteuid() {
		return nil
	}
	return fault.Usagef("as root: pulse-queue run --as USER -- CMD",
		"approval.require is user, and the worker would be uid %d, which is root or has this account's login", worker.UID)
}

// VouchFor returns a function that fails unless the yes of an account counts for a run of
// these workers: the account must be in the approver group now, and be neither the queue's
// owner nor root nor the worker. If the queue is on a server, that says whose yes counts.
// VouchFor returns nil for a policy that does not require users.
func VouchFor(p *policy.Policy, k door.Keeper, worker *Rights) (func(approval.Holder) error, error) {
	return vouchFor(p, k, worker, rightsOf)
}

// VouchAhead is VouchFor for a command that gives up the right to look accounts up later:
// it goes by the accounts and groups that the machine's files have now.
func VouchAhead(p *policy.Policy, k door.Keeper, worker *Rights) (func(approval.Holder) error, error) {
	accounts, err := LocalAccounts()
	if err != nil {
		return nil, err
	}
	return vouchFor(p, k, worker, func(uid int) (*Rights, error) { return accounts.Rights(uid), nil })
}

func vouchFor(p *policy.Policy, k door.Keeper, worker *Rights, rights func(uid int) (*Rights, error)) (func(approval.Holder) error, error) {
	if approval.Level(p.Approval.Require) != approval.User {
		return nil, nil
	}
	q := k.Dir
	if q == nil {
		return k.Server.Vouch, SeparateLogin(p, worker)
	}
	if err := Separate(p, q, worker); err != nil {
		return nil, err
	}
	g, err := q.Groups()
	if err != nil {
		return nil, err
	}
	return func(holder approval.Holder) error {
		uid, ok := holder.UID()
		if !ok || uid == q.Owner() || worker != nil && uid == worker.UID {
			return fmt.Errorf("%s is no approver", holder)
		}
		r, err := rights(uid)
		if err != nil && !errors.As(err, new(user.UnknownUserIdError)) {
			return err
		}
		if err != nil || !slices.Contains(r.Groups, g.Approvers.ID) {
			return fmt.Errorf("%s is not in the group %s", holder, g.Approvers.Name)
		}
		return nil
	}, nil
}
