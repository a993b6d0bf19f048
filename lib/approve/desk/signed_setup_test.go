package desk_test

import (
	"os"
	"strings"
	"testing"
)

// starts.
func TestSetUp(t *testing.T) {
	const nobody = 65534
	for name, c := range map[string]struct {
		change func(w *world)
		args   []string
		says   string
	}{
		"policy of the worker":        {func(w *world) { w.do(os.Chown(w.path("etc/policy.toml"), nobody, 0)) }, nil, "policy"},
		"policy of the intake":        {func(w *world) { w.do(os.Chown(w.path("etc/policy.toml"), intake, 0)) }, nil, "policy"},
		"policy for a group":          {func(w *world) { w.do(os.Chmod(w.path("etc/policy.toml"), 0o664)) }, nil, "policy"},
		"directory of the intake":     {func(w *world) { w.do(os.Chown(w.path("etc"), intake, 0)) }, nil, "policy"},
		"a directory further up":      {func(w *world) { w.do(os.Chown(w.dir, nobody, 0)) }, nil, ""},
		"signers of the worker":       {func(w *world) { w.do(os.Chown(w.path("etc/allowed_signers"), nobody, 0)) }, nil, "approval.allowed_signers"},
		"signers for all":             {func(w *world) { w.do(os.Chmod(w.path("etc/allowed_signers"), 0o646)) }, nil, "approval.allowed_signers"},
		"no signers":                  {func(w *world) { w.do(os.Remove(w.path("etc/allowed_signers"))) }, nil, "approval.allowed_signers"},
		"signers behind a link":       {func(w *world) { w.link("etc/allowed_signers", intake) }, nil, "approval.allowed_signers"},
		"ledger of the intake":        {func(w *world) { w.write("ledger/nonces", ""); w.do(os.Chown(w.path("ledger/nonces"), intake, 0)) }, nil, "approval.ledger"},
		"ledger's directory":          {func(w *world) { w.do(os.Chmod(w.path("ledger"), 0o770)) }, nil, "approval.ledger"},
		"ledger in a sticky one":      {func(w *world) { w.do(os.Chmod(w.path("ledger"), 0o777|os.ModeSticky)) }, nil, "approval.ledger"},
		"ledger's directory is gone":  {func(w *world) { w.do(os.Remove(w.path("ledger"))) }, nil, "approval.ledger"},
		"ledger broken":               {func(w *world) { w.write("ledger/nonces", "x\n") }, nil, "ledger"},
		"no other account":            {func(w *world) {}, []string{"run", "--effect", "external_send", "--", "/bin/true"}, "--as"},
		"root for a worker":           {func(w *world) {}, []string{"run", "--effect", "external_send", "--as", "root", "--", "/bin/true"}, "--as"},
		"asks without other accounts": {func(w *world) {}, []string{"run", "--", "/bin/true"}, "--as"},
	} {
		w := newWorld(t)
		id := w.propose("bob@partner.example")
		w.yes(id, "id")
		c.change(w)
		args := c.args
		if args == nil {
			args = w.sending()
		}
		out, status := w.run(0, "", "pulse-queue", args...)
		want := 64
		switch name {
		case "ledger broken":
			want = 1
		case "no signers": // somebody may be editing it
			want = 75
		}
		if status != want || w.sent() != 0 || !strings.Contains(out, c.says) || !strings.Contains(out, "hint: ") {
			t.Errorf("%s: exit %d, sent %d: %s", name, status, w.sent(), out)
		}
		w.do(os.Chown(w.path("etc/policy.toml"), 0, 0))
		if _, err := os.Stat(w.path("home/q/scheduled/" + id + ".json")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// link puts a file of root behind a link of somebody else.
func (w *world) link(name string, uid int) {
	w.t.Helper()
	w.do(os.Rename(w.path(name), w.path(name+"-real")))
	w.do(os.Symlink(w.path(name+"-real"), w.path(name)))
	w.do(os.Lchown(w.path(name), uid, uid))
}

// TestSignerChanges: who signs counts when the task starts, not when it was approved.
func TestSignerChanges(t *testing.T) { byEachDoor(t, signerChanges) }

func signerChanges(t *testing.T, way door) {
	for name, c := range map[string]struct {
		options string
		good    bool
	}{
		"as it was":       {`namespaces="pulse-approve"`, true},
		"any namespace":   {"", true},
		"several":         {`namespaces="git,pulse-approve"`, true},
		"not yet expired": {`valid-before="20990101"`, true},
		"expired":         {`valid-before="20200101"`, false},
		"not yet good":    {`valid-after="20990101"`, false},
		"other namespace": {`namespaces="git,file"`, false},
	} {
		w := newWorld(t).through(way)
		id := w.propose("bob@partner.example")
		w.yes(id, "id")
		other := w.propose("carol@partner.example")
		w.allow(c.options)
		status, screen := w.say("id", "yes", other)
		if want := map[bool]int{true: 0, false: 77}[c.good]; status != want {
			t.Errorf("%s: approving ends with %d:\n%s", name, status, screen)
		}
		w.send()
		if got := w.show(id); (got.State == "completed") != c.good || !c.good && got.Reason != "approval_not_good" || w.sent() != map[bool]int{true: 2}[c.good] {
			t.Errorf("%s: %+v, sent %d", name, got, w.sent())
		}
	}
	w := newWorld(t).through(way)
	id := w.propose("bob@partner.example")
	w.yes(id, "id")
	w.key("other", "-t", "ed25519")
	w.write("etc/allowed_signers", "it@example.com "+w.read("keys/other.pub"))
	w.send()
	if got := w.show(id); got.Reason != "approval_not_good" || w.sent() != 0 {
		t.Errorf("removed: %+v, sent %d", got, w.sent())
	}
}

// TestSignersUnusable: a file that allows nobody, or that nobody can read to its end,
// says nothing of a signature: nothing is moved, and whoever wrote it is told.
func TestSignersUnusable(t *testing.T) { byEachDoor(t, signersUnusable) }

func signersUnusable(t *testing.T, way door) {
	for name, text := range map[string]string{
		"empty": "", "comments": "# nobody\n\n", "no key": "me@example.com namespaces=\"pulse-approve\"\n",
		"a typo in an option": "me@example.com namespace=\"pulse-approve\" %KEY%", "a key cut short": "me@example.com ssh-ed25519 AAAAC3\n",
		"missing": "", "no principal": "%KEY%", "an open quote": "me@example.com namespaces=\"pulse-approve %KEY%",
	} {
		w := newWorld(t).through(way)
		id := w.propose("bob@partner.example")
		w.yes(id, "id")
		w.write("etc/allowed_signers", strings.ReplaceAll(text, "%KEY%", w.read("keys/id.pub")))
		if name == "missing" {
			w.do(os.Remove(w.path("etc/allowed_signers")))
		}
		out, status := w.run(0, "", "pulse-queue", w.sending()...)
		if got := w.show(id); status != 75 || got.State != "scheduled" || got.Reason != "approved" || w.sent() != 0 || !strings.Contains(out, "allowed_signers") || !strings.Contains(out, "hint: ") {
			t.Errorf("%s: exit %d, %+v: %s", name, status, got, out)
		}
		if status, screen := w.say("id", "grant", "bob@partner.example"); status != 75 {
			t.Errorf("%s: a yes ahead ends with %d: %s", name, status, screen)
		}
	}
}
