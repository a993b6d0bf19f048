package systemd_test

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pulse/lib/fetch/mailbox/imaptest"
	"pulse/lib/shared/cmdline/cmdlinetest"
)

// setting returns the values of a setting of a unit, of the drop-in of all and of its own,
// in order, each without its name.
func setting(t *testing.T, unit, name string) (values []string) {
	t.Helper()
	return settings(t, name, unit, "pulse-.service.d/hardening.conf", unit+".d/in-a-box.conf")
}

// own returns the values of a setting of a unit, without the drop-ins.
func own(t *testing.T, unit, name string) []string {
	t.Helper()
	return settings(t, name, unit)
}

func settings(t *testing.T, name string, files ...string) (values []string) {
	t.Helper()
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil && (!errors.Is(err, os.ErrNotExist) || !strings.HasSuffix(file, "in-a-box.conf")) {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
				values = append(values, value)
			}
		}
	}
	return values
}

// sets are the call sets of systemd: their members, and the sets in them.
var sets = sync.OnceValues(func() (map[string][]string, error) {
	out, err := exec.Command("systemd-analyze", "syscall-filter", "--no-pager").Output()
	all, name := map[string][]string{}, ""
	for line := range strings.Lines(string(out)) {
		word := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "@"):
			name = word
		case word == "" || strings.HasPrefix(word, "#"):
		case strings.HasPrefix(line, " ") && name != "":
			all[name] = append(all[name], word)
		}
	}
	return all, err
})

// expand adds to, or takes from, the calls what a word of SystemCallFilter names.
func expand(t *testing.T, calls map[string]bool, word string, allow bool) {
	t.Helper()
	all, err := sets()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(word, "@") {
		calls[word] = allow
		return
	}
	if len(all[word]) == 0 {
		t.Fatalf("systemd has no set %s", word)
	}
	for _, member := range all[word] {
		expand(t, calls, member, allow)
	}
}

// allowed returns the calls that a unit may make.
func allowed(t *testing.T, unit string) map[string]bool {
	t.Helper()
	calls := map[string]bool{}
	for _, line := range setting(t, unit, "SystemCallFilter") {
		line, deny := strings.CutPrefix(line, "~")
		for word := range strings.FieldsSeq(line) {
			expand(t, calls, word, !deny)
		}
	}
	expand(t, calls, "@default", true)
	return calls
}

// world is what the units find on the machine, elsewhere.
type world struct {
	dir      string
	env      []string
	ordinary bool // lines are run by an ordinary account
}

// queueOf makes a world; its queue belongs to uid.
func queueOf(t *testing.T, uid, gid int) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "pulse-units-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	w := &world{dir: dir}
	for _, sub := range []string{"etc", "lib", "lib/queue", "state", "spool", "spool/pulse"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.put(t, "etc/policy.toml", "owners = [\"me@example.com\"]\n")
	w.put(t, "etc/password", imaptest.Password+"\n")
	w.put(t, "etc/webhook-pulse", strings.Repeat("secret", 5)+"\n")
	w.put(t, "spool/pulse/1", "X-Pulse-Signature: 00\n\nbody")
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(dir+"/etc", 0o755), os.Chmod(dir+"/lib", 0o755), os.Chmod(dir+"/state", 0o777|os.ModeSticky),
		os.Chmod(dir+"/etc/policy.toml", 0o644), os.Chown(dir+"/lib/queue", uid, gid)); err != nil {
		t.Fatal(err)
	}
	w.env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + dir, "XDG_STATE_HOME=" + dir + "/state",
		"PULSE_POLICY=" + dir + "/etc/policy.toml", "PULSE_QUEUE=" + dir + "/lib/queue"}
	as := ""
	if uid != os.Geteuid() {
		as = fmt.Sprintf("setpriv --reuid %d --regid %d --clear-groups ", uid, gid)
	}
	w.sh(t, as+"pulse-queue init")
	return w
}

func (w *world) put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// command returns what a unit starts, in this world, as a line for a shell.
func (w *world) command(t *testing.T, unit string) string {
	t.Helper()
	lines := append(own(t, unit, "ExecStart"), own(t, unit, "ExecStartPost")...)
	return strings.NewReplacer("/usr/local/bin", bin, "/etc/pulse", w.dir+"/etc", "/var/lib/pulse", w.dir+"/lib",
		"/var/spool/pulse", w.dir+"/spool", "%i", "pulse", "$$", "$").Replace(strings.Join(lines, " && "))
}

// traced runs a line and returns the calls that were made, arguments and all.
func (w *world) traced(t *testing.T, line string, env ...string) []string {
	t.Helper()
	log := filepath.Join(w.dir, "trace")
	cmd := exec.Command("strace", "-f", "-qq", "-e", "signal=none", "-o", log, "bash", "-c", line)
	cmd.Env = append(slices.Clone(w.env), env...)
	cmd.Dir = "/"
	if w.ordinary {
		cmdlinetest.Ordinary(cmd)
	}
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%s\n%v: %s", line, err, out)
	}
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(b), "\n")
}

var (
	// misread is what strace makes of a thread that it meets between two calls: the number of a
	// thread in the place of that of a call.
	misread = regexp.MustCompile(`^\d+ +syscall_0x[0-9a-f]+\(.* <unfinished \.\.\.>$`)
	call    = regexp.MustCompile(`^\d+ +([a-z0-9_]+)\((.*)`)
)

// held fails for what a unit does not let a program do: a call, a family of sockets, a
// namespace, memory that is written and executed.
func held(t *testing.T, unit string, trace []string) {
	t.Helper()
	calls := allowed(t, unit)
	families := strings.Fields(strings.Join(setting(t, unit, "RestrictAddressFamilies"), " "))
	namespaces := slices.Contains(setting(t, unit, "RestrictNamespaces"), "no")
	noWX := slices.Contains(setting(t, unit, "MemoryDenyWriteExecute"), "yes")
	refused := map[string]bool{}
	n := 0
	for _, line := range trace {
		m := call.FindStringSubmatch(line)
		if m == nil || misread.MatchString(line) {
			continue
		}
		n++
		name, args := m[1], m[2]
		family, _, _ := strings.Cut(args, ",")
		switch {
		case !calls[name]:
			refused[name] = true
		case name == "socket" && !slices.Contains(families, family):
			refused["socket of "+family] = true
		case name == "clone" && !namespaces && strings.Contains(args, "CLONE_NEW"):
			refused["a namespace"] = true
		case noWX && (name == "mmap" && strings.Contains(args, "PROT_WRITE|PROT_EXEC") || name == "mprotect" && strings.Contains(args, "PROT_EXEC")):
			refused["memory that is written and executed"] = true
		}
	}
	for what := range refused {
		t.Errorf("%s: refused: %s", unit, what)
	}
	if n < 100 {
		t.Errorf("%s: %d calls were seen", unit, n)
	}
}

// The stages do their work with the calls, sockets and memory that their units let
// them. What systemd does with namespaces and mounts is not tried.
func TestStages(t *testing.T) {
	need(t, "strace", "systemd-analyze")
	w := queueOf(t, os.Geteuid(), os.Getegid())
	srv := imaptest.Start(t, false)
	srv.Append(t, "INBOX", "From: me@example.com\r\n\r\nhello", time.Now())
	inbox := []string{"INBOX=imaps://me@" + srv.Addr + "/INBOX", "SSL_CERT_FILE=" + srv.CA}
	for _, unit := range []string{"pulse-intake.service", "pulse-webhook@.service", "pulse-outbox.service", "pulse-prune.service"} {
		held(t, unit, w.traced(t, w.command(t, unit), inbox...))
	}
	held(t, "pulse-health.service", w.traced(t, w.command(t, "pulse-health.service")+" --accept silent,not_separated >/dev/null || true"))
	for _, sender := range []string{"webhook:" + w.dir + "/spool/pulse", "me@example.com"} {
		if logs := w.sh(t, "cat lib/queue/audit/*"); !strings.Contains(logs, `"sender":"`+sender+`"`) {
			t.Errorf("nothing of %s was taken:\n%s", sender, logs)
		}
	}
}

func (w *world) sh(t *testing.T, line string) string {
	t.Helper()
	cmd := exec.Command("bash", "-c", line)
	cmd.Dir, cmd.Env = w.dir, w.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// Root with no more than the capabilities of its units, no new privileges and a /proc
// that hides other accounts starts workers as one account in the queue of another, and
// leaves nothing of theirs running.
func TestRun(t *testing.T) {
	need(t, "strace", "systemd-analyze", "setpriv", "unshare")
	if os.Geteuid() != 0 {
		t.Skip("only root can give up being root: the units that start workers were not tried")
	}
	gate, worker := account(t, "daemon"), account(t, "nobody")
	for _, unit := range []string{"pulse-run.service", "pulse-effects.service"} {
		w := queueOf(t, id(t, gate.Uid), id(t, gate.Gid))
		w.sh(t, fmt.Sprintf("setpriv --reuid %s --regid %s --clear-groups pulse-queue submit --action read_public hello >/dev/null", gate.Uid, gate.Gid))
		w.put(t, "line", strings.NewReplacer("--as pulse-worker", "--as "+worker.Username, "--as pulse-sender", "--as "+worker.Username,
			"--effect external_send", "").Replace(w.command(t, unit)))
		var bounds strings.Builder
		for name := range strings.FieldsSeq(setting(t, unit, "CapabilityBoundingSet")[0]) {
			bounds.WriteString(",+" + strings.ToLower(strings.TrimPrefix(name, "CAP_")))
		}
		stray := filepath.Join(w.dir, "stray")
		if err := errors.Join(os.Mkdir(stray, 0o700), os.Chown(stray, id(t, worker.Uid), id(t, worker.Gid))); err != nil {
			t.Fatal(err)
		}
		script := filepath.Join(bin, "worker-of-the-test")
		// The stray holds a lock, which says when it is gone; the worker ends once it does.
		text := "#!/bin/sh\nid -un\nsetsid flock " + stray + "/lock sh -c 'echo >" + stray + "/fifo; exec sleep 600' >/dev/null 2>&1 &\nread x <" + stray + "/fifo\n"
		if err := errors.Join(os.WriteFile(script, []byte(text), 0o755), os.Chmod(script, 0o755)); err != nil {
			t.Fatal(err)
		}
		w.sh(t, "mkfifo -m 666 stray/fifo")
		trace := w.traced(t, "unshare -m sh -c 'mount -t proc -o hidepid=invisible proc /proc && exec setpriv --no-new-privs --bounding-set=-all"+
			bounds.String()+" /bin/bash "+w.dir+"/line'", "WORKER="+script, "SENDER="+script)
		begin := slices.IndexFunc(trace, func(l string) bool { return strings.Contains(l, `execve("/bin/bash", ["/bin/bash", "/`) })
		if begin < 0 {
			t.Fatal("the line was not seen to start")
		}
		held(t, unit, trace[begin:])
		if got := w.sh(t, "cat lib/queue/results/* && flock --nonblock stray/lock echo free"); got != worker.Username+"\nfree\n" {
			t.Errorf("%s: %q", unit, got)
		}
	}
}

// What the box does is what the units with a box let it do: it makes one, and its program
// reaches the socket through the box's own loopback.
func TestBox(t *testing.T) {
	need(t, "strace", "systemd-analyze", "bwrap")
	dir := cmdlinetest.OrdinaryDir(t)
	l, err := net.Listen("unix", dir+"/model")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("the model\n"))
			c.Close()
		}
	}()
	box, err := filepath.Abs("../box")
	if err != nil {
		t.Fatal(err)
	}
	cmdlinetest.Own(t, dir)
	w := &world{dir: dir, env: []string{"PATH=" + bin + ":" + os.Getenv("PATH")}, ordinary: true}
	trace := w.traced(t, box+" --model "+dir+"/model -- bash -c 'read -r line </dev/tcp/127.0.0.1/3129 && [ \"$line\" = \"the model\" ]'")
	for _, unit := range []string{"pulse-run.service", "pulse-extract.service"} {
		held(t, unit, trace)
		if !slices.Contains(setting(t, unit, "IPAddressAllow"), "localhost") {
			t.Errorf("%s denies the box its own loopback", unit)
		}
	}
}

// The way out does what its unit lets it do, and confines itself there.
func TestWayOut(t *testing.T) {
	need(t, "strace", "systemd-analyze")
	host, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	dir := t.TempDir()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: dir + "/way", Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	handed, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	defer handed.Close()
	const unit = "pulse-out@.service"
	to := fmt.Sprintf("localhost:%d", host.Addr().(*net.TCPAddr).Port)
	line := strings.NewReplacer("/usr/local/bin", bin, "$WAY_FLAGS", "", "${TO}", to).Replace(own(t, unit, "ExecStart")[0])
	cmd := exec.Command("strace", "-f", "-qq", "-e", "signal=none", "-o", dir+"/trace", "bash", "-c", "LISTEN_PID=$$ LISTEN_FDS=1 exec "+line)
	cmd.ExtraFiles, cmd.SysProcAttr = []*os.File{handed}, &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"evil.example", "localhost"} {
		client, err := net.Dial("unix", dir+"/way")
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		secure := tls.Client(client, &tls.Config{ServerName: name})
		if name != "localhost" {
			if err := secure.Handshake(); err == nil || !strings.Contains(err.Error(), "unrecognized name") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		go func() { _ = secure.Handshake() }()
		if c, err := host.Accept(); err != nil {
			t.Error(err)
		} else if n, err := c.Read(make([]byte, 5)); n != 5 {
			t.Errorf("%d bytes, %v", n, err)
		}
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) // strace ends with what it traces
	_ = cmd.Wait()
	b, err := os.ReadFile(dir + "/trace")
	if err != nil {
		t.Fatal(err)
	}
	held(t, unit, strings.Split(string(b), "\n"))
	for _, call := range []string{"SECCOMP_SET_MODE_FILTER", "landlock_restrict_self"} {
		if !strings.Contains(string(b), call) {
			t.Errorf("it does not call %s", call)
		}
	}
}

func account(t *testing.T, name string) *user.User {
	t.Helper()
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func id(t *testing.T, s string) (n int) {
	t.Helper()
	if err := json.Unmarshal([]byte(s), &n); err != nil {
		t.Fatal(err)
	}
	return n
}
