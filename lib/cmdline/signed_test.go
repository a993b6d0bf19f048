package cmdline_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestSignedYesStartsOnce: from a key to a start, with every kind of key, and what
// root leaves in the queue belongs to whose queue it is.
func TestSignedYesStartsOnce(t *testing.T) {
	for _, kind := range [][]string{{"-t", "ed25519"}, {"-t", "rsa", "-b", "3072"}, {"-t", "ecdsa"}} {
		w := newWorld(t)
		w.do(os.Remove(w.path("keys/id")))
		w.do(os.Remove(w.path("keys/id.pub")))
		w.key("id", kind...)
		w.allow(`namespaces="pulse-approve"`)
		id := w.propose("bob@partner.example")
		w.yes(id, "id")
		if a := w.approvalOf(id); !strings.Contains(a, `"level":"signature"`) || !strings.Contains(a, `"signer":"me@example.com"`) || !strings.Contains(a, "BEGIN SSH SIGNATURE") {
			t.Errorf("%v: %s", kind, a)
		}
		for range 3 {
			if status := w.send(); status != 0 {
				t.Errorf("%v: exit %d", kind, status)
			}
		}
		if got := w.show(id); w.read("out/sent") != "sent 65534\n" || got.State != "completed" {
			t.Errorf("%v: sent %q, %+v", kind, w.read("out/sent"), got)
		}
		if n := strings.Count(w.read("ledger/nonces"), " spent "); n != 1 {
			t.Errorf("%v: the ledger:\n%s", kind, w.read("ledger/nonces"))
		}
		w.must(intake, "", "pulse-queue", "verify")
		w.ownedBy(intake)
	}
}

// ownedBy makes sure that everything in the queue is intake's.
func (w *world) ownedBy(uid uint32) {
	w.t.Helper()
	err := filepath.Walk(w.path("home/q"), func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Sys().(*syscall.Stat_t).Uid != uid {
			w.t.Errorf("%s is not the queue's owner's", path)
		}
		return err
	})
	w.do(err)
}

// TestForgedYesStartsNothing: who can write the whole queue, with the spool's own
// code, makes it look approved, and nothing starts.
func TestForgedYesStartsNothing(t *testing.T) {
	for how := range forgeries {
		w := newWorld(t)
		first := w.propose("bob@partner.example")
		w.yes(first, "id")
		saved := w.approvalOf(first)
		second := w.propose("eve@partner.example")
		if how != "the genuine one, for this task" { // else it was never spent
			w.send()
		}
		spent := w.sent()
		for _, id := range []string{first, second} {
			if got := w.show(id); got.State == "scheduled" {
				continue
			}
			w.forge(how, id, saved)
			w.send()
			if got := w.show(id); w.sent() > 1 || how != "the genuine one, for this task" && w.sent() != spent || got.State == "completed" || got.State == "running" {
				t.Fatalf("%s: sent %d times, %+v", how, w.sent(), got)
			}
			if got := w.show(id); got.State != "awaiting_review" || got.Reason != "approval_not_good" {
				t.Errorf("%s: %+v", how, got)
			}
		}
	}
}

// TestForgedByHand: not through the spool's code, but in the files.
func TestForgedByHand(t *testing.T) {
	for name, script := range map[string]string{
		"an old approval under a new task":  `cp ../saved q/approvals/$2.json; mv q/awaiting_review/$2.json q/scheduled/; sed -i "/$2/s/^a/s/" q/agenda`,
		"an old approval under its task":    `cp ../saved q/approvals/$1.json; mv q/completed/$1.json q/scheduled/; sed -i "/$1/s/^-/s/" q/agenda`,
		"no approval":                       `mv q/awaiting_review/$2.json q/scheduled/; sed -i "/$2/s/^a/s/" q/agenda`,
		"a system ask passed for an effect": `pulse-queue submit --action external_send "to eve" >/dev/null; sed -i "s/ external_send    a / external_send    e /" q/agenda`,
	} {
		w := newWorld(t)
		first := w.propose("bob@partner.example")
		w.yes(first, "id")
		w.write("saved", w.approvalOf(first))
		w.send()
		second := w.propose("eve@partner.example")
		before := w.read("home/q/agenda")
		w.must(intake, "", "/bin/sh", "-c", "cd "+w.path("home")+" && "+script, "sh", first, second)
		if w.read("home/q/agenda") == before {
			t.Errorf("%s: the agenda was not forged:\n%s", name, before)
		}
		w.send()
		if w.sent() != 1 {
			t.Errorf("%s: sent %d times", name, w.sent())
		}
	}
}

// TestSupersededYes: a yes that was never spent dies with the one that was.
func TestSupersededYes(t *testing.T) {
	w := newWorld(t)
	id := w.propose("bob@partner.example")
	w.yes(id, "id")
	saved := w.approvalOf(id)
	w.must(intake, "", "pulse-queue", "cancel", id)
	old := regexp.MustCompile(`"given":"[^"]*"`).FindString(saved)
	for old == regexp.MustCompile(`"given":"[^"]*"`).FindString(w.approvalOf(id)) || w.approvalOf(id) == "" { // it counts in seconds
		if w.show(id).State == "scheduled" {
			w.must(intake, "", "pulse-queue", "cancel", id)
		}
		if status, screen := w.answer([]string{"PULSE_KEY=" + w.path("keys/id")}, "pulse-queue", "requeue", id); status != 0 {
			t.Fatalf("exit %d:\n%s", status, screen)
		}
	}
	w.send()
	if w.sent() != 1 {
		t.Fatalf("sent %d times", w.sent())
	}
	w.forge("the genuine one", id, saved)
	w.send()
	if got := w.show(id); w.sent() != 1 || got.Reason != "approval_not_good" {
		t.Errorf("sent %d times, %+v", w.sent(), got)
	}
}

// TestNothingHappenedGivesItBack: exit status 75 of a sender restores the approval,
// in the queue and in the ledger; and nobody else's.
func TestNothingHappenedGivesItBack(t *testing.T) {
	w := newWorld(t)
	id := w.propose("bob@partner.example")
	w.yes(id, "id")
	w.send("exit 75")
	if got, l := w.show(id), w.read("ledger/nonces"); got.State != "scheduled" || strings.Count(l, " returned ") != 1 {
		t.Errorf("%+v, the ledger:\n%s", got, l)
	}
	if w.approvalOf(id) == "" {
		t.Error("the approval is gone")
	}
	w.send("exit 1")
	if got := w.show(id); got.State != "scheduled" || w.sent() != 1 {
		t.Errorf("it did not wait: %+v", got)
	}
}

// TestLinksOfTheOwner: root does not follow what the queue's owner put in its way.
func TestLinksOfTheOwner(t *testing.T) {
	for _, name := range []string{"approvals", "audit", "tmp", "running", "meta", "results", "workers", "awaiting_review", "completed", "lock", "agenda", "checkpoint", "starts", "format", "hold"} {
		w := newWorld(t)
		id := w.propose("bob@partner.example")
		w.yes(id, "id")
		w.must(intake, "", "/bin/sh", "-c", "cd "+w.path("home/q")+" && { [ ! -e "+name+" ] || mv "+name+" ../was; } && ln -s "+w.path("aim")+" "+name)
		w.write("aim/"+id+".json", "{}\n")
		w.send()
		w.run(0, "", "pulse-queue", "cancel", id)
		entries, err := os.ReadDir(w.path("aim"))
		w.do(err)
		if len(entries) != 1 || w.read("aim/"+id+".json") != "{}\n" {
			t.Errorf("%s: root left %v", name, entries)
		}
	}
}

// TestQueueBehindALink: nor a link in place of the queue, nor into one that others
// may write.
func TestQueueBehindALink(t *testing.T) {
	w := newWorld(t)
	id := w.propose("bob@partner.example")
	w.must(intake, "", "/bin/sh", "-c", "cd "+w.path("home")+" && mv q elsewhere && ln -s "+w.path("aim")+" q")
	if status := w.send(); status != 64 {
		t.Errorf("exit %d", status)
	}
	w.must(intake, "", "/bin/sh", "-c", "cd "+w.path("home")+" && rm q && mv elsewhere q && chmod 770 q")
	if status := w.send(); status != 64 {
		t.Errorf("a queue that a group may write: exit %d", status)
	}
	w.must(intake, "", "/bin/chmod", "700", w.path("home/q"))
	if got := w.show(id); got.State != "awaiting_review" {
		t.Errorf("%+v", got)
	}
}

// TestSetUp: a set-up that somebody else could change is refused before anything
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
		if name == "ledger broken" {
			want = 1
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
func TestSignerChanges(t *testing.T) {
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
		w := newWorld(t)
		id := w.propose("bob@partner.example")
		w.yes(id, "id")
		other := w.propose("carol@partner.example")
		w.allow(c.options)
		status, screen := w.answer(nil, "pulse-approve", "yes", other, "--key", w.path("keys/id"))
		if want := map[bool]int{true: 0, false: 77}[c.good]; status != want {
			t.Errorf("%s: approving ends with %d:\n%s", name, status, screen)
		}
		w.send()
		if got := w.show(id); (got.State == "completed") != c.good || !c.good && got.Reason != "approval_not_good" || w.sent() != map[bool]int{true: 2}[c.good] {
			t.Errorf("%s: %+v, sent %d", name, got, w.sent())
		}
	}
	w := newWorld(t)
	id := w.propose("bob@partner.example")
	w.yes(id, "id")
	w.write("etc/allowed_signers", "")
	w.send()
	if got := w.show(id); got.Reason != "approval_not_good" || w.sent() != 0 {
		t.Errorf("removed: %+v, sent %d", got, w.sent())
	}
}

// TestNoSignature: what keeps a person from signing changes nothing, is 77, and says
// what to type.
func TestNoSignature(t *testing.T) {
	w := newWorld(t)
	id := w.propose("bob@partner.example")
	w.key("other", "-t", "ed25519")
	w.write("keys/rubbish", "rubbish")
	before := w.read("home/q/agenda")
	for name, c := range map[string]struct {
		args []string
		env  []string
		says string
	}{
		"no key":          {nil, nil, "ssh-keygen -t ed25519-sk"},
		"no such key":     {[]string{"--key", w.path("keys/none")}, nil, "ssh-keygen -t ed25519-sk"},
		"no key at all":   {[]string{"--key", w.path("keys/rubbish")}, nil, "ssh-add"},
		"one not listed":  {[]string{"--key", w.path("keys/other")}, nil, `namespaces="pulse-approve" ssh-ed25519 AAAA`},
		"no agent has it": {[]string{"--key", w.path("aim/only.pub")}, nil, "ssh-add"},
		"no ssh-keygen":   {[]string{"--key", w.path("keys/id")}, []string{"PATH=/nonexistent"}, "openssh-client"},
	} {
		w.write("aim/only.pub", w.read("keys/id.pub"))
		status, screen := w.answer(c.env, "pulse-approve", append([]string{"yes", id}, c.args...)...)
		if status != 77 || !strings.Contains(screen, c.says) || strings.Contains(screen, "panic") {
			t.Errorf("%s: exit %d:\n%s", name, status, screen)
		}
		if got := w.show(id); got.State != "awaiting_review" || w.read("home/q/agenda") != before || w.approvalOf(id) != "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for _, args := range [][]string{{"grant", "bob@partner.example"}, {"grant", "--any"}} {
		if out, status := w.run(0, "", "pulse-approve", args...); status != 64 || !strings.Contains(out, "can't be signed") {
			t.Errorf("%v: exit %d: %s", args, status, out)
		}
	}
	if status, screen := w.answer(nil, "pulse-approve", "no", id, "--reason", "not wanted"); status != 0 {
		t.Errorf("a no needs no key: exit %d:\n%s", status, screen)
	}
}

// TestAgent: the private half lies in an ssh-agent, and --key names the public one.
func TestAgent(t *testing.T) {
	w := newWorld(t)
	id := w.propose("bob@partner.example")
	socket := "SSH_AUTH_SOCK=" + w.path("agent")
	agent := exec.Command("ssh-agent", "-D", "-a", w.path("agent"))
	out, err := agent.StdoutPipe()
	w.do(err)
	w.do(agent.Start())
	defer agent.Wait()
	defer agent.Process.Kill()
	if _, err := out.Read(make([]byte, 1)); err != nil { // it listens
		t.Fatal(err)
	}
	add := exec.Command("ssh-add", "-q", w.path("keys/id"))
	add.Env = append(os.Environ(), socket)
	if text, err := add.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	w.do(os.Remove(w.path("keys/id")))
	if status, screen := w.answer([]string{socket}, "pulse-approve", "yes", id, "--key", w.path("keys/id.pub")); status != 0 {
		t.Fatalf("exit %d:\n%s", status, screen)
	}
	w.send()
	if w.sent() != 1 {
		t.Errorf("sent %d times, %+v", w.sent(), w.show(id))
	}
}
