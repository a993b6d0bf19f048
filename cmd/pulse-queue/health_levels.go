package main

import (
	"pulse/lib/approve/desk"
	"pulse/lib/queue/door"
	"pulse/lib/queue/health"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/policy"
)

// separation finds out which accounts could say yes in a person's name.
func separation(f *health.Facts, s door.Store, p *policy.Policy) error {
	accounts, err := desk.LocalAccounts()
	if err != nil {
		return err
	}
	q := s.Keeper().Dir
	if q == nil {
		f.Level = level(p, accounts, desk.SeparateLogin(p, nil), desk.ApartLogin)
		return nil
	}
	groups, err := q.Groups()
	if err != nil {
		return err
	}
	if f.Modes, err = q.Modes(); err != nil {
		return err
	}
	if approvers := groups.Approvers; approvers.Name != "" {
		f.Approver = func(uid uint32) bool { return accounts.In(int(uid), approvers.ID) }
		if groups.Workers.Name != "" {
			f.Both = accounts.Both(groups.Workers.ID, approvers.ID, q.Owner())
		}
	}
	f.Level = level(p, accounts, desk.Separate(p, q, nil), func(worker *desk.Rights) error {
		return desk.Apart(q.Owner(), groups.Approvers, worker)
	})
	return nil
}

// level finds out whether the level that a policy requires proves anything here. It returns
// a function that says so for the account of a worker: that account is known once the log
// was read, when nothing can be looked up any more. separate says why level user proves nothing
// whatever the worker; apart, which is called then, why it does not beside this one.
func level(p *policy.Policy, accounts *desk.Accounts, separate error, apart func(*desk.Rights) error) func(worker int64) error {
	const nobody = -1
	switch approval.Level(p.Approval.Require) {
	case approval.User:
		signed := desk.GuardUser(p)
		return func(worker int64) error {
			if separate != nil {
				return separate
			}
			if worker >= 0 {
				if err := apart(accounts.Rights(int(worker))); err != nil {
					return err
				}
			}
			return signed
		}
	case approval.Signature:
		root, whoever := desk.Guard(p, 0, 0), desk.Guard(p, nobody, 0)
		return func(worker int64) error {
			if worker == 0 {
				return root
			}
			return whoever
		}
	}
	return nil
}
