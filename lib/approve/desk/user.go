package desk

import (
	"os"
	"os/user"
	"slices"
	"strconv"

	"pulse/lib/queue/access"
	"pulse/lib/queue/door"
	"pulse/lib/queue/runner"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/safefile"
)

// levelOf returns what a command can prove, without a key, of the person who runs it:
// that they are an approver of the queue and not its owner. Root could be anyone, and so
// could the owner of a file where the kernel does not vouch for that.
func levelOf(k door.Keeper) approval.Level {
	q := k.Dir
	if q == nil {
		return k.Server.Level()
	}
	if me := os.Geteuid(); q.Shared() && me != 0 && me != q.Owner() && q.Ground() == nil {
		return approval.User
	}
	return approval.Terminal
}

// enough fails if the policy requires level user for an answer, and this person can't
// prove it.
func enough(p *policy.Policy, k door.Keeper, a Answer) error {
	if a == No || approval.Level(p.Approval.Require) != approval.User || levelOf(k) == approval.User {
		return nil
	}
	q := k.Dir
	if q == nil {
		return fault.Refusedf("log in as an approver, under an account that has no other role",
			"%s: approval.require is user, and this login is not an approver's alone", p.Name)
	}
	if !q.Shared() {
		return fault.Refusedf(noGroupHint, noGroup, p.Name)
	}
	if err := q.Ground(); err != nil {
		return fault.Refusedf(fault.HintOf(err), "%s: %s: %w", p.Name, noGround, err)
	}
	return fault.Refusedf("sudo -u APPROVER pulse-approve",
		"%s: approval.require is user, and %s is not an approver of the queue but its owner, or root",
		p.Name, cmdline.User())
}

// What enough and Separate both say of a queue where level user proves nothing.
const (
	noGroup     = "%s: approval.require is user, and the queue has no approver group"
	noGroupHint = "pulse-queue init --approver-group GROUP, of a new queue"
	noGround    = "approval.require is user, and the owner of a file proves nothing here"
)

// Separate returns nil if a worker with these rights can't say yes in a person's name:
// it can write neither the queue nor the policy, nor is it an approver. A nil worker is
// not looked at. A policy that does not require users is an error.
func Separate(p *policy.Policy, q *access.Dir, worker *Rights) error {
	g, err := q.Groups()
	switch {
	case approval.Level(p.Approval.Require) != approval.User:
		return fault.Usagef("man 5 pulse-policy", "%s: approval.require is %s", p.Name, p.Approval.Require)
	case err != nil:
		return err
	case !q.Shared():
		return fault.Usagef(noGroupHint, noGroup, p.Name)
	case q.Ground() != nil:
		return fault.Usagef(fault.HintOf(q.Ground()), "%s: %w", noGround, q.Ground())
	case p.Approval.ApproverGroup != "" && !isGroup(p.Approval.ApproverGroup, g.Approvers.ID):
		return fault.Usagef("getent group "+p.Approval.ApproverGroup+", and cat QUEUE/groups: who wrote that?",
			"approval.approver_group is %s, and the queue's approver group is %s (gid %d)",
			p.Approval.ApproverGroup, g.Approvers.Name, g.Approvers.ID)
	}
	if worker != nil {
		if err := Apart(q.Owner(), g.Approvers, worker); err != nil {
			return err
		}
	}
	if err := safefile.Guarded(p.Name, uint32(q.Owner())); err != nil {
		return exposed("root and the queue's owner", "policy", p.Name, err)
	}
	return nil
}

// Apart is the part of Separate about the worker. It looks nothing up.
func Apart(owner int, approvers access.Group, worker *Rights) error {
	switch {
	case worker.UID == 0 || worker.UID == owner:
		return fault.Usagef("as root: pulse-queue run --as USER -- CMD",
			"approval.require is user, and the worker would be uid %d, which owns the queue or is root", worker.UID)
	case slices.Contains(worker.Groups, approvers.ID):
		return fault.Usagef("gpasswd -d USER "+approvers.Name+", or pulse-queue run --as another USER",
			"approval.require is user, and the worker, uid %d, would be in the approver group %s",
			worker.UID, approvers.Name)
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

// RightsOf returns the rights of a worker; without an account of its own it has those of
// this process.
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

// rightsOf returns the rights that an account has when it logs in.
func rightsOf(uid int) (*Rights, error) {
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
