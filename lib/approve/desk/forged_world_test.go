package desk_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pulse/lib/approve/sshsig/sshsigtest"
)

// elsewhere is a gate whose person is on another machine: all that comes from there is a
// file, which the intake's account takes.
type elsewhere struct {
	*world
	level  string
	intake func(stdin, name string, args ...string) (out string, status int)
	send   func(script ...string) (out string, status int)
	token  string // the provider of the key keys/token
}

// levels are those at which a signed answer counts, each with the gate that pulse-deploy(7) sets
// up for it.
var levels = []string{"terminal", "user", "signature"}

// newElsewhere makes a gate of a level at which the keys keys/id and keys/token count.
func newElsewhere(t *testing.T, level string) *elsewhere {
	t.Helper()
	e := &elsewhere{level: level}
	if level == "user" {
		w := newThree(t)
		e.world = w.world
		e.intake = func(stdin, name string, args ...string) (string, int) { return w.runBy(w.intake, stdin, name, args...) }
		e.send = w.send
		for name, mode := range map[string]os.FileMode{"ledger": 0o700, "keys": 0o700} {
			w.do(os.Mkdir(w.path(name), mode))
		}
		e.key("id", "-t", "ed25519")
	} else {
		w := newWorld(t)
		e.world = w
		e.intake = func(stdin, name string, args ...string) (string, int) { return w.run(intake, stdin, name, args...) }
		e.send = func(script ...string) (string, int) { return w.run(0, "", "pulse-queue", w.sending(script...)...) }
	}
	e.token = sshsigtest.Provider(t)
	e.softKey("token")
	e.do(os.Mkdir(e.path("spool"), 0o755))
	e.signers("")
	e.rules("")
	return e
}

// softKey makes a key of a token.
func (e *elsewhere) softKey(name string, options ...string) {
	e.t.Helper()
	sshsigtest.Key(e.t, e.token, e.path("keys/"+name), options...)
}

// signers lists the keys that count, and more lines.
func (e *elsewhere) signers(more string) {
	e.t.Helper()
	e.write("etc/allowed_signers", `me@example.com namespaces="pulse-approve" `+e.read("keys/id.pub")+
		`me@example.com namespaces="pulse-approve" `+e.read("keys/token.pub")+more)
}

// rules writes the policy of the gate.
func (e *elsewhere) rules(more string) {
	e.t.Helper()
	e.write("etc/policy.toml", fmt.Sprintf("owners = [\"me@example.com\"]\n[approval]\nrequire = %q\nallowed_signers = %q\nledger = %q\n%s",
		e.level, e.path("etc/allowed_signers"), e.path("ledger/nonces"), more))
}

// must is for what the intake has to succeed with.
func (e *elsewhere) must(stdin, name string, args ...string) string {
	e.t.Helper()
	out, status := e.intake(stdin, name, args...)
	if status != 0 {
		e.t.Fatalf("%s %v: exit status %d: %s", name, args, status, out)
	}
	return out
}

// propose puts an effect into the queue and returns its id.
func (e *elsewhere) propose(target string) string {
	e.t.Helper()
	return e.add(strings.Replace(proposed, "%TARGET%", target, 1))
}

func (e *elsewhere) add(line string) string {
	e.t.Helper()
	return e.task(e.must(e.must(line, "pulse-authorize"), "pulse-queue", "add")).ID
}

func (e *elsewhere) show(id string) seen {
	e.t.Helper()
	return e.task(e.must("", "pulse-queue", "show", id, "--json"))
}

// statement returns the line to sign, with its newline.
func (e *elsewhere) statement(args ...string) string {
	e.t.Helper()
	out := strings.TrimSuffix(e.must("", "pulse-approve", append([]string{"statement"}, args...)...), "\n")
	line := out[strings.LastIndexByte(out, '\n')+1:]
	if !strings.HasPrefix(line, `{"pulse-`) {
		e.t.Fatalf("statement %v: the last line is %q", args, line)
	}
	return line + "\n"
}

// sign signs a text as the other machine does, and returns the armor.
func (e *elsewhere) sign(key, text string) string {
	e.t.Helper()
	return e.signFor("pulse-approve", key, text)
}

func (e *elsewhere) signFor(namespace, key, text string) string {
	e.t.Helper()
	cmd := exec.Command("ssh-keygen", "-q", "-Y", "sign", "-n", namespace, "-f", e.path("keys/"+key))
	cmd.Env = append(os.Environ(), "SSH_SK_PROVIDER="+e.token)
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.Output()
	if err != nil {
		e.t.Fatalf("ssh-keygen -Y sign: %v", err)
	}
	return string(out)
}

// answer returns the text of a signed answer: the statement's line and the armor.
func (e *elsewhere) answer(key string, args ...string) string {
	e.t.Helper()
	line := e.statement(args...)
	return line + e.sign(key, line)
}

// spool puts an answer where the intake finds it, and returns the path.
func (e *elsewhere) spool(name, text string) string {
	e.t.Helper()
	path := filepath.Join("spool", fileName(name))
	e.write(path, text)
	return e.path(path)
}

func fileName(name string) string {
	return strings.NewReplacer("/", "_", " ", "_", ":", "").Replace(name)
}

// take takes answers.
func (e *elsewhere) take(files ...string) (out string, status int) {
	e.t.Helper()
	return e.intake("", "pulse-approve", append([]string{"take"}, files...)...)
}

// image returns what the queue and the ledger hold, byte for byte, except the locks.
func (e *elsewhere) image() string {
	e.t.Helper()
	var b strings.Builder
	for _, dir := range []string{"home/q", "ledger"} {
		e.do(filepath.WalkDir(e.path(dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() || strings.Contains(path, "/workers/") {
				return err
			}
			text, err := os.ReadFile(path)
			fmt.Fprintf(&b, "%s %x\n", strings.TrimPrefix(path, e.dir), sha256.Sum256(text))
			return err
		}))
	}
	return b.String()
}

// changes returns the lines of one image that another lacks.
func changes(before, after string) (lines []string) {
	for line := range strings.Lines(after) {
		if !strings.Contains(before, line) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	for line := range strings.Lines(before) {
		if !strings.Contains(after, line) {
			lines = append(lines, "before: "+strings.TrimSpace(line))
		}
	}
	return lines
}
