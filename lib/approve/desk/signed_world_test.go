package desk_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pulse/lib/approve/sshsig"
	"pulse/lib/queue"
	"pulse/lib/queue/spool"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/cmdline/cmdlinetest"
	"pulse/lib/shared/record"
)

// The accounts of the tests that need root: the queue is the intake's, workers are
// nobody.
const (
	intake = 1 // daemon, which every Debian has
	worker = "nobody"
)

// world is the deployment that pulse-approve(1) describes for level signature: the
// queue belongs to intake, policy, keys and ledger to root, and root runs the workers.
type world struct {
	t   *testing.T
	dir string
	way door
}

const proposed = `{"request":{"action":"external_send","target":"%TARGET%","tool":"","args":{"text":"hi"}},` +
	`"identity":{"sender":"me@example.com","trust":"owner_verified_email","verified":true,"stale":false,"automatic":false,` +
	`"reason":"authenticated_owner","why":"","via":"agent","parent":"0123456789abcdef0123456789abcdef"}}` + "\n"

// builtIn is the directory of built, once it is there.
var builtIn string

// built are the commands, for every account to run.
var built = sync.OnceValues(func() (string, error) {
	syscall.Umask(0o022)
	dir, err := os.MkdirTemp("", "pulse-signed-")
	builtIn = dir
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		return "", err
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "forger"), self, 0o755)
	}
	if err != nil {
		return "", err
	}
	return dir, cmdlinetest.Build(dir, "pulse-queue", "pulse-approve", "pulse-authorize")
})

func TestMain(m *testing.M) {
	status := m.Run()
	if builtIn != "" {
		os.RemoveAll(builtIn)
	}
	os.Exit(status)
}

// bareWorld needs root: without it there are no other accounts to keep apart.
func bareWorld(t *testing.T, prefix string) *world {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can run commands under three accounts: gate, worker and approver were not kept apart")
	}
	if _, err := built(); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return &world{t, dir, atDesk}
}

// newWorld is one with a gate, a worker and a key.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := bareWorld(t, "pulse-world-")
	for name, mode := range map[string]os.FileMode{"": 0o755, "etc": 0o755, "ledger": 0o700, "keys": 0o700, "home": 0o700, "out": 0o777, "aim": 0o755, "state": 0o777 | os.ModeSticky} {
		w.do(os.MkdirAll(w.path(name), 0o700))
		w.do(os.Chmod(w.path(name), mode))
	}
	w.do(os.Chown(w.path("home"), intake, intake))
	w.key("id", "-t", "ed25519")
	w.allow(`namespaces="pulse-approve"`)
	w.policy("")
	w.must(intake, "", "pulse-queue", "init")
	return w
}

func (w *world) do(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) write(name, text string) {
	w.t.Helper()
	w.do(os.WriteFile(w.path(name), []byte(text), 0o644))
}

func (w *world) read(name string) string {
	b, _ := os.ReadFile(w.path(name))
	return string(b)
}

// key makes a key without a passphrase.
func (w *world) key(name string, args ...string) {
	w.t.Helper()
	out, err := exec.Command("ssh-keygen", append([]string{"-q", "-N", "", "-C", "", "-f", w.path("keys/" + name)}, args...)...).CombinedOutput()
	if err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
}

// allow makes keys/id the only one that counts, with options.
func (w *world) allow(options string) {
	w.t.Helper()
	w.write("etc/allowed_signers", "me@example.com "+options+" "+w.read("keys/id.pub"))
}

func (w *world) policy(more string) {
	w.t.Helper()
	w.write("etc/policy.toml", "owners = [\"me@example.com\"]\n[approval]\nrequire = \"signature\"\nallowed_signers = \""+
		w.path("etc/allowed_signers")+"\"\nledger = \""+w.path("ledger/nonces")+"\"\n"+more)
}

func (w *world) command(uid uint32, name string, args ...string) *exec.Cmd {
	w.t.Helper()
	bin, err := built()
	w.do(err)
	path := filepath.Join(bin, name)
	if strings.HasPrefix(name, "/") {
		path = name
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + bin + ":/usr/bin:/bin:/usr/sbin", "PULSE_QUEUE=" + w.path("home/q"), "PULSE_POLICY=" + w.path("etc/policy.toml"), "GORACE=atexit_sleep_ms=0",
		"XDG_STATE_HOME=" + w.path("state/"+strconv.Itoa(int(uid)))}
	if uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	return cmd
}

func (w *world) run(uid uint32, stdin, name string, args ...string) (out string, status int) {
	w.t.Helper()
	cmd := w.command(uid, name, args...)
	return w.finish(cmd, stdin)
}

func (w *world) finish(cmd *exec.Cmd, stdin string) (string, int) {
	w.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		w.t.Fatal(err)
	}
	if stderr.Len() > 0 {
		w.t.Logf("%s %v: %s", filepath.Base(cmd.Path), cmd.Args[1:], &stderr)
	}
	return stdout.String() + stderr.String(), cmd.ProcessState.ExitCode()
}

func (w *world) must(uid uint32, stdin, name string, args ...string) string {
	w.t.Helper()
	out, status := w.run(uid, stdin, name, args...)
	if status != 0 {
		w.t.Fatalf("%s %v: exit status %d: %s", name, args, status, out)
	}
	return out
}

// propose puts an effect into the queue, as intake, and returns its id.
func (w *world) propose(target string) string {
	w.t.Helper()
	line := w.must(intake, strings.Replace(proposed, "%TARGET%", target, 1), "pulse-authorize")
	return w.task(w.must(intake, line, "pulse-queue", "add")).ID
}

type seen struct{ ID, State, Reason string }

func (w *world) task(line string) seen {
	w.t.Helper()
	var rec struct{ Task seen }
	if err := json.Unmarshal([]byte(line), &rec); err != nil {
		w.t.Fatalf("%q: %v", line, err)
	}
	return rec.Task
}

func (w *world) show(id string) seen {
	w.t.Helper()
	return w.task(w.must(intake, "", "pulse-queue", "show", id, "--json"))
}

// answer answers a question of pulse-approve, or of pulse-queue, as root.
func (w *world) answer(env []string, name string, args ...string) (status int, screen string) {
	w.t.Helper()
	cmd := w.command(0, name, args...)
	cmd.Env = append(cmd.Env, env...)
	p, err := cmdlinetest.Sit(cmd)
	w.do(err)
	defer p.Leave()
	if code, err := p.Code(); err == nil {
		w.do(p.Type(code + "\n"))
	}
	status, out := p.Wait()
	return status, string(out)
}

func (w *world) yes(id, key string) {
	w.t.Helper()
	if status, screen := w.say(key, "yes", id); status != 0 {
		w.t.Fatalf("exit %d:\n%s", status, screen)
	}
}

// send runs what is approved: each start adds a line to out/sent.
func (w *world) send(script ...string) int {
	w.t.Helper()
	_, status := w.run(0, "", "pulse-queue", w.sending(script...)...)
	return status
}

func (w *world) sending(script ...string) []string {
	text := "cat >/dev/null; echo sent $(id -u) >>" + w.path("out/sent")
	return []string{"run", "--effect", "external_send", "--as", worker, "--", "/bin/sh", "-c", strings.Join(append([]string{text}, script...), "; ")}
}

func (w *world) sent() int { return strings.Count(w.read("out/sent"), "\n") }

// approvalOf returns the approval of a task as it lies in the queue.
func (w *world) approvalOf(id string) string { return w.read("home/q/approvals/" + id + ".json") }

// forge answers for a person, as intake, with the code of the spool and no key.
func (w *world) forge(how, id, saved string) {
	w.t.Helper()
	cmd := w.command(intake, "forger", "-test.run", "^TestForger$", "-test.count", "1")
	cmd.Env = append(cmd.Env, "FORGE="+how, "TASK="+id, "SAVED="+saved, "HOME="+w.path("home"), "TMPDIR="+w.path("home"))
	if out, status := w.finish(cmd, ""); status != 0 || !strings.Contains(out, "forged") {
		w.t.Fatalf("the forger failed: %s", out)
	}
}

// forgeries make an approval out of one that was given for something else (saved),
// and of what a yes to this task looks like (yes).
var forgeries = map[string]func(yes, saved approval.Approval) approval.Approval{
	"level terminal": func(yes, _ approval.Approval) approval.Approval { return yes },
	"nobody signed it": func(yes, _ approval.Approval) approval.Approval {
		yes.Level, yes.Signer = approval.Signature, "me@example.com"
		return yes
	},
	"rubbish for a signature": func(yes, saved approval.Approval) approval.Approval {
		yes.Level, yes.Signer, yes.Signature = approval.Signature, "me@example.com", "-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n"
		return yes
	},
	"signed with a key of the forger": func(yes, _ approval.Approval) approval.Approval {
		tool, _ := sshsig.Tool()
		key := filepath.Join(os.Getenv("HOME"), "key-"+yes.Nonce)
		if out, err := exec.Command(tool, "-q", "-N", "", "-t", "ed25519", "-f", key).CombinedOutput(); err != nil {
			panic(string(out))
		}
		armor, err := sshsig.Sign(context.Background(), tool, key, yes.Statement(), nil)
		if err != nil {
			panic(err)
		}
		yes.Level, yes.Signer, yes.Signature = approval.Signature, "me@example.com", armor
		return yes
	},
	"the genuine one": func(_, saved approval.Approval) approval.Approval { return saved },
	"the genuine one with another nonce": func(_, saved approval.Approval) approval.Approval {
		saved.Nonce = approval.Nonce()
		return saved
	},
	"the genuine one, good for longer": func(_, saved approval.Approval) approval.Approval {
		saved.Expires = saved.Expires.Add(time.Hour)
		return saved
	},
	"the genuine one, for this task": func(yes, saved approval.Approval) approval.Approval {
		yes.Level, yes.Signer, yes.Signature = saved.Level, saved.Signer, saved.Signature
		yes.Nonce, yes.Given, yes.Expires = saved.Nonce, saved.Given, saved.Expires
		return yes
	},
	"the genuine one, with a signer that looks like a flag": func(_, saved approval.Approval) approval.Approval {
		saved.Signer = "-Overify-time=20000101"
		return saved
	},
}

// TestForger is not a test but the attacker: whoever owns the queue.
func TestForger(t *testing.T) {
	how, ok := forgeries[os.Getenv("FORGE")]
	if !ok {
		return
	}
	s, err := spool.Open(os.Getenv("PULSE_QUEUE"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var saved approval.Approval
	if text := os.Getenv("SAVED"); text != "" {
		if saved, err = approval.Decode(record.Value(strings.TrimSpace(text))); err != nil {
			t.Fatal(err)
		}
	}
	err = queue.Update(s, func(tx *queue.Tx) error {
		shown, err := queue.Find(tx, os.Getenv("TASK"))
		if err != nil {
			return err
		}
		yes := how(queue.Yes(&shown, "me (uid 0)", approval.Terminal, time.Now()), saved)
		if queue.Requeueable(&shown) == nil {
			return queue.Requeue(tx, &shown, yes, time.Now())
		}
		return queue.Approve(tx, &shown, yes, time.Now())
	})
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout.WriteString("forged as uid " + strconv.Itoa(os.Getuid()) + "\n")
}
