package desk_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

// remote is a gate whose approver comes in through sshd, with a key that may do one thing.
type remote struct {
	*three
	args []string // of ssh, up to the destination
}

// newRemote sets sshd up as pulse-levels(7) says under RECIPES. sshd -i serves one
// connection on its standard input, so that no port is needed.
func newRemote(t *testing.T) *remote {
	t.Helper()
	w := newThree(t)
	if _, err := os.Stat("/usr/sbin/sshd"); err != nil {
		t.Fatal("Debian's openssh-server: ", err)
	}
	if err := os.Mkdir("/run/sshd", 0o755); err == nil { // as the service would
		t.Cleanup(func() { os.Remove("/run/sshd") })
	}
	w.system("usermod", "--password", "*", w.person.name) // no password, which is not the same as locked
	w.do(os.Mkdir(w.path("keys"), 0o700))
	for _, name := range []string{"host", "phone"} {
		w.key(name, "-t", "ed25519")
	}
	bin, err := built()
	w.do(err)
	w.write("etc/authorized_keys", fmt.Sprintf("restrict,pty,command=\"%s/pulse-approve --queue %s --policy %s\" %s",
		bin, w.path("home/q"), w.path("etc/policy.toml"), w.read("keys/phone.pub")))
	w.write("etc/sshd_config", "HostKey "+w.path("keys/host")+"\nAuthorizedKeysFile "+w.path("etc/authorized_keys")+
		"\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPidFile none\nPrintMotd no\nPrintLastLog no\n")
	// Without StrictModes, because all of this may lie below /tmp, where others may write.
	w.write("etc/known_hosts", "gate "+w.read("keys/host.pub"))
	return &remote{w, []string{"-F", "none", "-i", w.path("keys/phone"), "-o", "IdentitiesOnly=yes", "-o", "HostKeyAlias=gate",
		"-o", "UserKnownHostsFile=" + w.path("etc/known_hosts"), "-o", "StrictHostKeyChecking=yes",
		"-o", "ProxyCommand=/usr/sbin/sshd -i -f " + w.path("etc/sshd_config") + " -E " + w.path("sshd.log"), "-l", w.person.name}}
}

// ssh returns a command of the phone: options and, after the host, what it asks for.
func (w *remote) ssh(options []string, words ...string) *exec.Cmd {
	args := append(append(append([]string{}, w.args...), options...), "gate", "--")
	cmd := exec.Command("ssh", append(args, words...)...)
	cmd.Dir, cmd.Env = w.dir, []string{"PATH=/usr/bin:/bin", "TERM=dumb", "LC_ALL=C"}
	return cmd
}

// The prompts of the walk.
const (
	turnPage = `page \d+ of \d+ \[[^\]]*\]: $`
	askKey   = `(your answer) \[[^\]]*\]: $`
)

// reads pages to the end of a task, and answers with a key.
func (w *remote) reads(p *cmdlinetest.Person, key string) {
	w.t.Helper()
	for {
		m, err := p.Sees(`(?:` + turnPage + `|` + askKey + `)`)
		if err != nil {
			w.t.Fatalf("%v\nsshd: %s", err, w.read("sshd.log"))
		}
		if m[1] != "" {
			w.do(p.Answer(key))
			return
		}
		w.do(p.Answer(""))
	}
}

// TestForcedCommand: an approver answers through ssh with a key that is for nothing else,
// and it is a yes of level user.
func TestForcedCommand(t *testing.T) {
	w := newRemote(t)
	id := w.propose("bob@partner.example")
	p, err := cmdlinetest.Sit(w.ssh([]string{"-tt"}))
	w.do(err)
	defer p.Leave()
	w.reads(p, "y")
	code, err := p.Code()
	w.do(err)
	w.do(p.Answer(code))
	if status, screen := p.Wait(); status != 0 {
		t.Fatalf("exit %d:\n%s", status, screen)
	}
	w.holds(w.approval(id), w.person.uid, 0o640)
	for range 2 {
		w.send()
	}
	if got := w.show(id); w.sent() != 1 || got.State != "completed" {
		t.Errorf("sent %d, %+v", w.sent(), got)
	}
}

// TestForcedCommandIsAll: whatever the phone asks for, it gets pulse-approve and nothing
// else: no shell, no other command, no file, no forwarding, no variable.
func TestForcedCommandIsAll(t *testing.T) {
	w := newRemote(t)
	id := w.propose("bob@partner.example")
	w.do(os.Mkdir(w.path("proof"), 0o777))
	w.do(os.Chmod(w.path("proof"), 0o777))
	proof := w.path("proof/x")
	tried := 0
	for i, words := range [][]string{
		{"sh"}, {"sh", "-c", "'id >" + proof + "'"}, {"touch", proof}, {"x; touch " + proof}, {"$(touch " + proof + ")"}, {"`touch " + proof + "`"}, {"\ntouch " + proof + "\n"},
		{"yes", id}, {"no", id, "--reason", "x"}, {"grant", "--any"}, {"--policy", "/dev/null"}, {"scp", "-t", proof}, {"rsync", "--server", ".", proof}, {"internal-sftp"}, {"-s"},
	} {
		for _, options := range [][]string{
			{"-T"}, {"-T", "-o", "SetEnv=PULSE_POLICY=/dev/null PULSE_QUEUE=/nowhere BASH_ENV=" + proof + " ENV=" + proof + " LD_PRELOAD=" + proof},
		} {
			if len(options) > 1 && i%4 > 0 { // the variables are the same each time
				continue
			}
			tried++
			out, err := w.ssh(options, words...).CombinedOutput()
			if status := exitOf(err); status != 77 || !strings.Contains(string(out), "run it at a terminal") {
				t.Errorf("%v %q: exit %d: %s", options, words, status, out)
			}
		}
		tried++
		p, err := cmdlinetest.Sit(w.ssh([]string{"-tt"}, words...))
		w.do(err)
		w.reads(p, "q")
		if status, screen := p.Wait(); status != 0 || strings.Contains(string(screen), "uid=") {
			t.Errorf("%q: exit %d:\n%s", words, status, screen)
		}
		p.Leave()
	}
	for _, options := range [][]string{
		{"-s", "-T"}, {"-N", "-W", "127.0.0.1:1"}, {"-N", "-o", "ExitOnForwardFailure=yes", "-R", "127.0.0.1:0:127.0.0.1:1"},
		{"-N", "-o", "ExitOnForwardFailure=yes", "-o", "Tunnel=yes"},
	} {
		tried++
		words := []string{}
		if options[0] == "-s" { // as sftp asks
			words = []string{"sftp"}
		}
		out, err := w.ssh(options, words...).CombinedOutput()
		if status := exitOf(err); status == 0 {
			t.Errorf("%v: exit %d: %s", options, status, out)
		}
	}
	for _, key := range []string{"\x1a", "\x03", "\x1c", "\x04"} { // stop, interrupt, quit, end of file
		tried++
		p, err := cmdlinetest.Sit(w.ssh([]string{"-tt"}))
		w.do(err)
		w.reads(p, "y")
		_, err = p.Code()
		w.do(err)
		w.do(p.Type(key))
		w.do(p.Type("touch " + proof + "\n"))
		if key != "\x1a" { // after which it waits for a shell that there is not
			if status, screen := p.Wait(); status == 0 {
				t.Errorf("%q: exit %d:\n%s", key, status, screen)
			}
		}
		p.Leave()
	}
	entries, err := os.ReadDir(w.path("proof"))
	w.do(err)
	if got := w.show(id); len(entries) > 0 || got.State != "awaiting_review" {
		t.Errorf("%v, %+v", entries, got)
	}
	t.Logf("%d ways out of the forced command were tried", tried)
}

func exitOf(err error) int {
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}
