package main

import (
	"pulse/lib/approval"
	"pulse/lib/cmdline"
	"pulse/lib/health"
	"pulse/lib/policy"
	"pulse/lib/spool"
)

// separation finds out who could say yes in a person's name.
func separation(f *health.Facts, s *spool.Spool, p *policy.Policy) error {
	groups, err := s.Groups()
	if err != nil {
		return err
	}
	if f.Modes, err = s.Modes(); err != nil {
		return err
	}
	accounts, err := cmdline.LocalAccounts()
	if err != nil {
		return err
	}
	if approvers := groups.Approvers; approvers.Name != "" {
		f.Approver = func(uid uint32) bool { return accounts.In(int(uid), approvers.ID) }
		if groups.Workers.Name != "" {
			f.Both = accounts.Both(groups.Workers.ID, approvers.ID, s.Owner())
		}
	}
	switch approval.Level(p.Approval.Require) {
	case approval.User:
		f.Level = func(worker int64) error {
			if worker < 0 {
				return cmdline.Separate(p, s, nil)
			}
			return cmdline.Separate(p, s, accounts.Rights(int(worker)))
		}
	case approval.Signature:
		f.Level = func(worker int64) error { return cmdline.Guard(p, int(worker), 0) }
	}
	return nil
}
