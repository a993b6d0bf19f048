package desk_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

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
	for _, args := range [][]string{{"grant", "bob@partner.example"}, {"grant", "--any"}, {"session", "me@example.com", "--for", "1h", "--max", "1"}} {
		if out, status := w.run(0, "", "pulse-approve", args...); status != 77 || !strings.Contains(out, "names a key") {
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
	agent.Env = append(os.Environ(), "SSH_ASKPASS=/bin/false", "SSH_ASKPASS_REQUIRE=force")
	out, err := agent.StdoutPipe()
	w.do(err)
	w.do(agent.Start())
	defer agent.Wait()
	defer agent.Process.Kill()
	if _, err := out.Read(make([]byte, 1)); err != nil { // it listens
		t.Fatal(err)
	}
	add := func(args ...string) {
		cmd := exec.Command("ssh-add", args...)
		cmd.Env = append(os.Environ(), socket)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	add("-q", "-c", w.path("keys/id")) // it asks before each use, and is told no
	w.do(os.Rename(w.path("keys/id"), w.path("keys/away")))
	status, screen := w.answer([]string{socket}, "pulse-approve", "yes", id, "--key", w.path("keys/id.pub"))
	if got := w.show(id); status != 77 || got.State != "awaiting_review" {
		t.Errorf("the agent refuses: exit %d, %+v\n%s", status, got, screen)
	}
	add("-q", "-D")
	w.do(os.Rename(w.path("keys/away"), w.path("keys/id")))
	add("-q", w.path("keys/id"))
	w.do(os.Remove(w.path("keys/id")))
	if status, screen := w.answer([]string{socket}, "pulse-approve", "yes", id, "--key", w.path("keys/id.pub")); status != 0 {
		t.Fatalf("exit %d:\n%s", status, screen)
	}
	w.send()
	if w.sent() != 1 {
		t.Errorf("sent %d times, %+v", w.sent(), w.show(id))
	}
}

// TestPassphrase: the key asks for it at the terminal, after the code.
func TestPassphrase(t *testing.T) {
	w := newWorld(t)
	w.do(os.Remove(w.path("keys/id")))
	w.key("id", "-t", "ed25519", "-N", "secret")
	w.allow("")
	id := w.propose("bob@partner.example")
	for _, c := range []struct {
		typed string
		want  int
	}{{"mistyped", 77}, {"secret", 0}} {
		p, err := cmdlinetest.Sit(w.command(0, "pulse-approve", "yes", id, "--key", w.path("keys/id")))
		w.do(err)
		code, err := p.Code()
		w.do(err)
		w.do(p.Type(code + "\n"))
		if _, err := p.Sees(`Enter passphrase[^\n]*: `); err != nil {
			t.Fatal(err)
		}
		w.do(p.Type(c.typed + "\n"))
		status, screen := p.Wait()
		p.Leave()
		if status != c.want || strings.Contains(string(screen), c.typed) {
			t.Errorf("%s: exit %d:\n%s", c.typed, status, screen)
		}
	}
}
