package desk

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pulse/lib/queue/door"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
)

// server is a queue on a server that knows Ann.
type server struct {
	door.Server
	level approval.Level
}

func (s server) Level() approval.Level { return s.level }

func (server) Answers(approval.Holder) error { return nil }

func (server) Holder(login string) approval.Holder { return approval.Holder("role " + login) }

func (server) Me() approval.Holder { return "role ann" }

func (server) Vouch(h approval.Holder) error {
	if h != "role ann" {
		return errors.New("no approver")
	}
	return nil
}

// TestServerKnowsWhoSaysYes: on a server the level of a person and whose yes counts are its
// to say, if the worker has neither the login of this account nor the policy.
func TestServerKnowsWhoSaysYes(t *testing.T) {
	p := policy.Default()
	p.Name, p.Approval.Require = "/etc/passwd", "user" // a file that root alone can change
	for level, want := range map[approval.Level]bool{approval.User: true, approval.Terminal: false} {
		err := enough(p, door.Keeper{Server: server{level: level}}, Yes)
		if (err == nil) != want || err != nil && fault.KindOf(err) != fault.Refused || enough(p, door.Keeper{Server: server{level: level}}, No) != nil {
			t.Errorf("%s: %v", level, err)
		}
	}
	vouch, err := VouchFor(p, door.Keeper{Server: server{}}, &Rights{UID: os.Geteuid() + 1})
	if err != nil || vouch("role ann") != nil || vouch("role bob") == nil || vouch("") == nil {
		t.Error(err)
	}
	for _, uid := range []int{0, os.Geteuid()} {
		if _, err := VouchFor(p, door.Keeper{Server: server{}}, &Rights{UID: uid}); err == nil {
			t.Errorf("worker %d", uid)
		}
	}
	p.Name = filepath.Join(t.TempDir(), "policy.toml")
	if err := os.WriteFile(p.Name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(p.Name, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := VouchFor(p, door.Keeper{Server: server{}}, &Rights{UID: os.Geteuid() + 1}); err == nil {
		t.Error("anybody's policy")
	}
	p.Approval.Require = "terminal"
	if vouch, err := VouchFor(p, door.Keeper{Server: server{}}, &Rights{}); vouch != nil || err != nil {
		t.Error(err)
	}
}
