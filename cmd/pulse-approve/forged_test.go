package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// forger makes a terminal with script(1), reads the code from it and types it: what a
// program under the same uid can do. It writes the exit status into a file.
const forger = `#!/bin/sh
# usage: forger DIR NAME [ARG...]: pulse-approve with these arguments
work=$1 name=$2
shift 2
command="pulse-approve $*"
mkfifo "$work/$name.keys"
exec 3<>"$work/$name.keys"
{
	script -qec "$command" /dev/null <"$work/$name.keys"
	echo $? >"$work/$name.status"
} | tee "$work/$name.screen" | while read -r word code; do
	[ "$word" != code: ] || printf '%s\n' "$code" | tr -d '\r' >&3
done
`

// forge writes the forger and returns the command that runs it.
func (d *world) forger() string {
	d.t.Helper()
	d.write("forger", forger)
	if err := os.Chmod(d.path("forger"), 0o700); err != nil {
		d.t.Fatal(err)
	}
	return d.path("forger")
}

// forged tells how a forgery ended.
func (d *world) forged(name string) (status, screen string) {
	return strings.TrimSpace(d.read(name + ".status")), d.read(name + ".screen")
}

// TestForgedTerminal: at level terminal a program that makes a terminal, reads the
// code and types it is a person: isatty and a code are no security. The log says what
// was proven, which is the level, and by whom.
func TestForgedTerminal(t *testing.T) {
	for name, how := range map[string][]string{
		"script": {}, "setsid": {"setsid", "-w"}, "daemon": {"setsid", "-w", "sh", "-c", `setsid -w "$@"`, "sh"},
	} {
		d := newDesk(t)
		id := d.add(proposal)
		words := append(how, d.forger(), d.dir, name, "yes", id)
		d.must("", words[0], words[1:]...)
		status, screen := d.forged(name)
		if got := d.show(id); status != "0" || got.State != "scheduled" {
			t.Errorf("%s: exit %s, %+v\n%s", name, status, got, screen)
		}
		log := strings.Split(strings.TrimSpace(d.must("", "pulse-queue", "log", "--json", "--event", "approved")), "\n")
		if len(log) != 1 || !strings.Contains(log[0], `"level":"terminal"`) || !strings.Contains(log[0], `"by":"`) {
			t.Errorf("%s: the log says %s", name, log)
		}
	}
}

// TestForgedBlindly: who makes a terminal and does not read it gets nowhere.
func TestForgedBlindly(t *testing.T) {
	d := newDesk(t)
	id := d.add(proposal)
	for _, typed := range []string{"", "y", "yes", "0000", "code", "\\004"} {
		_, status := d.run("", "sh", "-c", `printf '`+typed+`\n' | script -qec "pulse-approve yes `+id+`" /dev/null`)
		if got := d.show(id); status != 77 || got.State != "awaiting_review" {
			t.Errorf("%q: exit %d, %+v", typed, status, got)
		}
	}
}

// TestForgedInsideARun: a worker is refused before it sees a code, however it hides:
// by another environment, another session, another terminal, another parent. The
// reader of its questions gets the answer too, with 77.
func TestForgedInsideARun(t *testing.T) {
	d := newDesk(t)
	id := d.add(proposal)
	ask := d.task(d.must("", "pulse-queue", "submit", "--action", "read_public", "hello")).ID
	forger := d.forger()
	clean := "env -i PATH=$PATH XDG_STATE_HOME=$XDG_STATE_HOME PULSE_QUEUE=" + d.path("q") + " PULSE_POLICY=" + d.path("policy.toml") + " "
	forge := func(name, command string) string { return forger + " " + d.dir + " " + name + " " + command + "\n" }
	namespace := ""
	if os.Geteuid() == 0 {
		namespace = "unshare -pf " + clean + forge("pid_namespace", "yes "+id)
	}
	d.write("worker", "#!/bin/sh\ncd "+d.dir+"\n"+
		forge("plain", "yes "+id)+
		clean+forge("clean", "yes "+id)+
		clean+forge("refusal", "no "+id+" --reason x")+
		clean+forge("ahead", "grant --any")+
		clean+forge("session", "session me@example.com --for 1h --max 1")+
		clean+forge("walk", "")+
		"setsid -w "+clean+forge("session_of_its_own", "yes "+id)+
		namespace+
		"mkfifo done\n(setsid sh -c '(setsid sh -c \""+clean+strings.TrimSpace(forge("daemon", "yes "+id))+"; echo >done\" &)' &)\nread x <done\n")
	if err := os.Chmod(d.path("worker"), 0o700); err != nil {
		t.Fatal(err)
	}
	mine := func() string { // what is not about the worker's own task
		return d.must("", "sh", "-c", "grep -hv "+ask+" q/audit/*; ls q/grants q/approvals")
	}
	before := mine()
	d.must("", "pulse-queue", "run", "--env", "PULSE_QUEUE", "--env", "PULSE_POLICY", "--", d.path("worker"))
	names, _ := filepath.Glob(d.path("*.status"))
	if want := strings.Count(d.read("worker"), forger); len(names) != want || want < 8 {
		t.Errorf("%d forgeries were tried", len(names))
	}
	for _, n := range names {
		name := strings.TrimSuffix(filepath.Base(n), ".status")
		if status, screen := d.forged(name); status != "77" || strings.Contains(screen, "code:") || !strings.Contains(screen, "refused inside a run") {
			t.Errorf("%s: exit %s\n%s", name, status, screen)
		}
	}
	if got := d.show(id); got.State != "awaiting_review" {
		t.Errorf("%+v", got)
	}
	if after := mine(); after != before {
		t.Errorf("before:\n%safter:\n%s", before, after)
	}
	if namespace == "" {
		t.Skip("only root may make a PID namespace: a forger in one was not tried, all others were")
	}
}

// TestForgedWithoutTheKey: at level signature a forged terminal is worth nothing.
func TestForgedWithoutTheKey(t *testing.T) {
	d := newDesk(t)
	id := d.add(proposal)
	for _, name := range []string{"good", "other"} {
		d.must("", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", d.path(name))
	}
	d.write("allowed_signers", `me@example.com namespaces="pulse-approve" `+d.read("good.pub"))
	d.write("policy.toml", rules+"[approval]\nrequire = \"signature\"\nallowed_signers = \""+d.path("allowed_signers")+"\"\nledger = \""+d.path("ledger")+"\"\n")
	forger := d.forger()
	before := d.must("", "sh", "-c", `grep -hv '"event":"withheld"' q/audit/*; ls q/approvals q/grants`)
	for name, c := range map[string]struct {
		args   []string
		status string
	}{
		"no key":            {[]string{"yes", id}, "77"},
		"another key":       {[]string{"yes", id, "--key", d.path("other")}, "77"},
		"the public half":   {[]string{"yes", id, "--key", d.path("good.pub")}, "77"},
		"not a key":         {[]string{"yes", id, "--key", d.path("allowed_signers")}, "77"},
		"a grant":           {[]string{"grant", "--any"}, "77"},
		"another policy":    {[]string{"yes", id, "--policy", d.path("nothing")}, "64"},
		"a walk":            {nil, "77"},
		"consume":           {[]string{"consume", "bob@partner.example"}, "77"},
		"somebody's answer": {[]string{"yes", id, "--yes"}, "64"},
	} {
		name = strings.ReplaceAll(name, " ", "_")
		if name == "the_public_half" {
			d.must("", "mv", d.path("good"), d.path("elsewhere"))
		}
		d.must("", forger, append([]string{d.dir, name}, c.args...)...)
		if status, screen := d.forged(name); status != c.status {
			t.Errorf("%s: exit %s\n%s", name, status, screen)
		}
		if after := d.must("", "sh", "-c", `grep -hv '"event":"withheld"' q/audit/*; ls q/approvals q/grants`); after != before {
			t.Errorf("%s: the queue was changed:\n%s", name, after)
		}
	}
	if got := d.show(id); got.State != "awaiting_review" {
		t.Errorf("%+v", got)
	}
}
