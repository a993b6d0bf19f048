package desk

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"

	"pulse/lib/approval"
	"pulse/lib/cmdline"
	"pulse/lib/fault"
	"pulse/lib/policy"
	"pulse/lib/runner"
	"pulse/lib/safefile"
	"pulse/lib/spool"
)

// LevelOf is what a command can prove, without a key, of the person who runs it: that
// he is an approver of the queue and not its owner. Root could be anybody, and so could
// the owner of a file where the kernel does not vouch for that.
func LevelOf(s *spool.Spool) approval.Level {
	if me := os.Geteuid(); s.Shared() && me != 0 && me != s.Owner() && s.Ground() == nil {
		return approval.User
	}
	return approval.Terminal
}

// enough fails if the policy requires users, and this is none.
func enough(p *policy.Policy, s *spool.Spool, a Answer) error {
	if a == No || approval.Level(p.Approval.Require) != approval.User || LevelOf(s) == approval.User {
		return nil
	}
	if !s.Shared() {
		return fault.Refusedf("pulse-queue init --approver-group GROUP, of a new queue",
			"%s: approval.require is user, and the queue has no approver group", p.Name)
	}
	if err := s.Ground(); err != nil {
		return fault.Refusedf(fault.HintOf(err), "%s: approval.require is user, and the owner of a file proves nothing here: %w", p.Name, err)
	}
	return fault.Refusedf("sudo -u APPROVER pulse-approve",
		"%s: approval.require is user, and %s is not an approver of the queue but its owner, or root", p.Name, cmdline.User())
}

// Separate returns nil if a worker of these rights can't say yes in a person's name,
// under a policy that requires users: it can't write the queue, or the policy, nor
// take part in either. It holds for such a policy; any other is an error.
func Separate(p *policy.Policy, s *spool.Spool, worker *Rights) error {
	g, err := s.Groups()
	switch {
	case approval.Level(p.Approval.Require) != approval.User:
		return fault.Usagef("man 5 pulse-policy", "%s: approval.require is %s", p.Name, p.Approval.Require)
	case err != nil:
		return err
	case !s.Shared():
		return fault.Usagef("pulse-queue init --approver-group GROUP, of a new queue",
			"%s: approval.require is user, and the queue has no approver group", p.Name)
	case s.Ground() != nil:
		return fault.Usagef(fault.HintOf(s.Ground()), "approval.require is user, and the owner of a file proves nothing here: %w", s.Ground())
	case p.Approval.ApproverGroup != "" && !isGroup(p.Approval.ApproverGroup, g.Approvers.ID):
		return fault.Usagef("getent group "+p.Approval.ApproverGroup+", and cat QUEUE/groups: who wrote that?",
			"approval.approver_group is %s, and the queue's approver group is %s (gid %d)", p.Approval.ApproverGroup, g.Approvers.Name, g.Approvers.ID)
	}
	if worker != nil {
		if err := Apart(s.Owner(), g.Approvers, worker); err != nil {
			return err
		}
	}
	if err := safefile.Guarded(p.Name, uint32(s.Owner())); err != nil {
		return fault.Usagef("ls -ld "+p.Name+", which root and the queue's owner alone may change, and every directory above", "policy: %w", err)
	}
	return nil
}

// Apart is the part of Separate that is about the worker, and looks nothing up.
func Apart(owner int, approvers spool.Group, worker *Rights) error {
	switch {
	case worker.UID == 0 || worker.UID == owner:
		return fault.Usagef("as root: pulse-queue run --as USER -- CMD",
			"approval.require is user, and the worker would be uid %d, which owns the queue or is root", worker.UID)
	case slices.Contains(worker.Groups, approvers.ID):
		return fault.Usagef("gpasswd -d USER "+approvers.Name+", or pulse-queue run --as another USER",
			"approval.require is user, and the worker, uid %d, would be in the approver group %s", worker.UID, approvers.Name)
	}
	return nil
}

// isGroup reports whether a group of this name has this id, as the system knows it.
func isGroup(name string, gid int) bool {
	g, err := user.LookupGroup(name)
	return err == nil && g.Gid == strconv.Itoa(gid)
}

// Rights are what the kernel looks at when a worker opens a file.
type Rights struct {
	UID    int
	Groups []int
}

// RightsOf returns those of a worker, which is this process's own account where it is
// not started under another one.
func RightsOf(w *runner.Worker) (r *Rights, err error) {
	if c := w.Credential; c != nil {
		r = &Rights{int(c.Uid), []int{int(c.Gid)}}
		for _, g := range c.Groups {
			r.Groups = append(r.Groups, int(g))
		}
		return r, nil
	}
	r = &Rights{UID: os.Geteuid()}
	r.Groups, err = os.Getgroups()
	r.Groups = append(r.Groups, os.Getegid())
	return r, err
}

// RightsOfUID returns those that an account has when it logs in.
func RightsOfUID(uid int) (*Rights, error) {
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return nil, err
	}
	ids, err := u.GroupIds()
	if err != nil {
		return nil, err
	}
	r := &Rights{UID: uid}
	for _, id := range append(ids, u.Gid) {
		gid, err := strconv.Atoi(id)
		if err != nil {
			return nil, err
		}
		r.Groups = append(r.Groups, gid)
	}
	return r, nil
}

// VouchFor returns what says whose yes counts for a run of these workers, or nil for a
// policy that does not require users: a member of the approver group, as of now, who
// is neither the queue's owner nor root nor the worker.
func VouchFor(p *policy.Policy, s *spool.Spool, worker *Rights) (func(uid int) error, error) {
	return vouchFor(p, s, worker, RightsOfUID)
}

// VouchAhead is VouchFor for a command that gives up the right to look accounts up: it
// goes by the accounts and groups that the machine's files have now.
func VouchAhead(p *policy.Policy, s *spool.Spool, worker *Rights) (func(uid int) error, error) {
	accounts, err := LocalAccounts()
	if err != nil {
		return nil, err
	}
	return vouchFor(p, s, worker, func(uid int) (*Rights, error) { return accounts.Rights(uid), nil })
}

func vouchFor(p *policy.Policy, s *spool.Spool, worker *Rights, rights func(uid int) (*Rights, error)) (func(uid int) error, error) {
	if approval.Level(p.Approval.Require) != approval.User {
		return nil, nil
	}
	if err := Separate(p, s, worker); err != nil {
		return nil, err
	}
	g, err := s.Groups()
	if err != nil {
		return nil, err
	}
	return func(uid int) error {
		if uid == 0 || uid == s.Owner() || worker != nil && uid == worker.UID {
			return fmt.Errorf("uid %d is no approver", uid)
		}
		r, err := rights(uid)
		if err != nil && !errors.As(err, new(user.UnknownUserIdError)) {
			return err
		}
		if err != nil || !slices.Contains(r.Groups, g.Approvers.ID) {
			return fmt.Errorf("uid %d is not in the group %s", uid, g.Approvers.Name)
		}
		return nil
	}, nil
}
