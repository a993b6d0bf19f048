package man

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// locked is a machine whose / is a disk of its own, with the programs of this machine. Its
// namespace, with all mounts, ends with the test.
type locked struct {
	t      *testing.T
	holder *exec.Cmd
	dir    string
	disk   string // the image
	away   string // a directory of another computer: /away
}

// boot mounts the disk of a gate, and what does not lie on it.
const boot = `set -e
mount -o loop disk.img root
mkdir -p root/{usr,etc/pulse,dev,proc,sys,run,away,root,var/{lib,log,spool}}
mkdir -p -m 1777 root/tmp
for dir in bin sbin lib lib64; do [ -L root/$dir ] || ln -s usr/$dir root/$dir; done
cp -a /etc/{nsswitch.conf,ld.so.cache,alternatives} root/etc/
mount --rbind /usr root/usr
mount --bind local root/usr/local
mount --bind away root/away
for dir in dev proc sys; do mount --rbind /$dir root/$dir; done
mount -t tmpfs run root/run
`

// newLocked makes a gate with the accounts, directories and commands of the layout, and with a
// queue. No systemd runs there: systemctl only notes what it is asked.
func newLocked(t *testing.T) *locked {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a disk of its own: encrypted directories were not tried")
	}
	dir := t.TempDir()
	g := &locked{t: t, dir: dir, disk: dir + "/disk.img", away: dir + "/away"}
	for _, d := range []string{"away", "root", "local/bin"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range commands {
		g.must(exec.Command("cp", filepath.Join(bin, name), dir+"/local/bin/"))
	}
	g.must(exec.Command("truncate", "--size=192M", g.disk))
	g.must(exec.Command("mkfs.ext4", "-q", "-F", "-b", "4096", g.disk))
	g.holder = exec.Command("unshare", "--mount", "--propagation", "private", "bash", "-c", boot+"echo ready; cat")
	g.holder.Dir = dir
	in, err := g.holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := g.holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	g.holder.Stderr = &said
	if err := g.holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); g.holder.Wait() })
	if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
		in.Close()
		g.holder.Wait()
		t.Skip("this machine can't make a gate of its own: encrypted directories were not tried: " + said.String())
	}
	g.put("/usr/local/bin/systemctl", "#!/bin/sh\necho \"$*\" >>/run/systemctl\n")
	g.put("/usr/local/bin/ssh", "#!/bin/sh\ntest \"$1\" = root@gate && shift && exec sh -c \"$*\"\n")
	for _, name := range []string{"sysusers", "tmpfiles"} {
		b, err := os.ReadFile("../scripts/systemd/" + name + ".conf")
		if err != nil {
			t.Fatal(err)
		}
		g.put("/run/"+name+".conf", string(b))
	}
	g.put("/etc/pulse/policy.toml", gatePolicy)
	g.run("systemd-sysusers /run/sysusers.conf && systemd-tmpfiles --create /run/tmpfiles.conf")
	g.run(asPulse + "pulse-queue init")
	return g
}

const gatePolicy = "owners = [\"me@example.com\"]\n[limits]\npending_per_sender = 2000\n"

const asPulse = "cd / && HOME=/var/lib/pulse setpriv --reuid pulse --regid pulse --clear-groups --no-new-privs "

// must runs a command that has to work.
func (g *locked) must(cmd *exec.Cmd) string {
	g.t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		g.t.Fatalf("%v: %v\n%s", cmd.Args[len(cmd.Args)-1], err, out)
	}
	return string(out)
}

// shell returns a command that runs a script on the gate as root.
func (g *locked) shell(script string) *exec.Cmd {
	cmd := g.outside("chroot", g.dir+"/root", "bash", "-c", script)
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8",
		"PULSE_QUEUE=/var/lib/pulse/queue", "PULSE_POLICY=/etc/pulse/policy.toml"}
	return cmd
}

func (g *locked) run(script string) string {
	g.t.Helper()
	return g.must(g.shell(script))
}

// paste runs a block of the page in a directory: of the gate, or of the other computer.
func (g *locked) paste(name, dir string) {
	g.t.Helper()
	g.run("cd " + dir + " && " + "set -o pipefail\n" + read(g.t, "pulse-deploy.7").marked(g.t, "rest: "+name))
}

func (g *locked) put(path, text string) {
	g.t.Helper()
	cmd := g.shell("mkdir -p " + filepath.Dir(path) + " && cat >" + path + " && chmod 755 " + path)
	cmd.Stdin = strings.NewReader(text)
	g.must(cmd)
}

// outside returns a command that sees the mounts of the gate, and is not on it.
func (g *locked) outside(argv ...string) *exec.Cmd {
	return exec.Command("nsenter", append([]string{fmt.Sprintf("--mount=/proc/%d/ns/mnt", g.holder.Process.Pid)}, argv...)...)
}

// reboot loses what was in memory: the keys, and all of /run.
func (g *locked) reboot() {
	g.t.Helper()
	g.must(g.outside("bash", "-c", "cd "+g.dir+"\numount -R root\n"+boot))
}

// kept describes all that lies below a directory, content too.
func (g *locked) kept(dir string) string {
	g.t.Helper()
	return g.run("cd " + dir + " && find . -printf '%p %y %m %u\\n' | sort && find . -type f -print0 | sort -z | xargs -0r sha256sum")
}

// same fails unless two lists are the same, and prints the first lines that are not.
func (g *locked) same(what, got, want string) {
	g.t.Helper()
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			g.t.Errorf("%s: it was\n%s\nand is\n%s", what, strings.Join(b[min(i, len(b)):min(i+5, len(b))], "\n"), strings.Join(a[min(i, len(a)):min(i+5, len(a))], "\n"))
			return
		}
	}
}

// canaries are words of mail that stand nowhere else.
const canaries = 1000

var canary = regexp.MustCompile(`canary-` + hex.EncodeToString(sum("canary")) + `-\d{4}`)

func sum(s string) []byte { d := sha256.Sum256([]byte(s)); return d[:8] }

// found counts the canaries in some bytes.
func found(b []byte) int {
	seen := map[string]bool{}
	for _, word := range canary.FindAll(b, -1) {
		seen[string(word)] = true
	}
	return len(seen)
}

// onDisk counts the canaries on the disk of the gate, as somebody sees it who took it.
func (g *locked) onDisk() int {
	g.t.Helper()
	g.run("sync")
	b, err := os.ReadFile(g.disk)
	if err != nil {
		g.t.Fatal(err)
	}
	return found(b)
}

// receive gives the gate mail: canaries in subject, text, names of files and Message-ID. It
// lets a worker see some, which keeps what it read; a spool holds some, too.
func (g *locked) receive() {
	g.t.Helper()
	var mail strings.Builder
	for i := range canaries {
		word := strings.Replace(canary.String(), `\d{4}`, fmt.Sprintf("%04d", i), 1)
		at := []string{"", "", "", ""}
		at[i%len(at)] = word
		fmt.Fprintf(&mail, `{"message":{"source":"imaps://me@imap.example.com/INBOX","uid":%d,"uidvalidity":7,"id":"<%s%d@example.com>","received":"2026-11-21T06:00:00Z","headers":[],"defects":[],"subject":"%s","text":"%s","attachments":[{"name":"%s","type":"text/plain","size":1,"digest":"sha256:00"}]},`,
			i+1, at[0], i, at[1], at[2], at[3])
		fmt.Fprint(&mail, `"identity":{"sender":"me@example.com","trust":"owner_verified_email","verified":true,"stale":false,"automatic":false,"reason":"authenticated_owner","why":""},"decision":{"action":"read_public","outcome":"allow","rule":"matrix.owner_verified_email.allow","reason":"allowed","why":""}}`+"\n")
	}
	add := g.shell(asPulse + "pulse-queue add >/dev/null")
	add.Stdin = strings.NewReader(mail.String())
	g.must(add)
	g.run(asPulse + "pulse-queue run --max 10 -- cat")
	g.run("cd /var/lib/pulse/queue/completed; cat $(ls | head -n 1) | install -m 600 /dev/stdin /etc/pulse/password")
	g.run("cp -r /var/lib/pulse/queue/completed /var/lib/pulse-worker/session; mkdir -p /var/spool/pulse; cp -r /var/lib/pulse/queue/completed /var/spool/pulse/hook")
}

// The disk that the page makes holds no word of mail, and the plain disk all of them. Without
// the key there is no queue, and none is made; with it all is as it was.
func TestEncryptedAtRest(t *testing.T) {
	t.Parallel()
	plain := newLocked(t)
	plain.receive()
	if n := plain.onDisk(); n != canaries {
		t.Errorf("the plain disk holds %d of %d words", n, canaries)
	}
	g := newLocked(t)
	g.encrypt()
	g.receive()
	if n := g.onDisk(); n != 0 {
		t.Errorf("the encrypted disk holds %d words of mail", n)
	}
	g.takeKey()
	g.restart()
	g.restore()
}

// encrypt does as the page says, on a gate that has a task already. Pasted again, it keeps the
// key of the first time, which nobody has taken yet.
func (g *locked) encrypt() {
	g.t.Helper()
	g.run(asPulse + "pulse-queue submit --action read_public before")
	kept := func() string {
		return g.kept("/var/lib/pulse") + g.kept("/var/lib/pulse-worker") + g.kept("/etc/pulse")
	}
	before := kept()
	for range 2 {
		g.paste("encrypt", "/root")
		g.same("encrypt", kept(), before)
	}
	if said := g.run("ls -d /etc/*.{clear,new} /var/*/*.{clear,new} 2>/dev/null; cat /run/systemctl"); said != strings.Repeat("stop pulse*\nstart pulse.target\n", 2) {
		g.t.Error(said)
	}
}

// takeKey leaves the key on the other computer alone, where it stays if nothing is left to take.
func (g *locked) takeKey() {
	g.t.Helper()
	g.paste("take", "/away")
	if out, err := g.shell("cd /away; " + read(g.t, "pulse-deploy.7").marked(g.t, "rest: take")).CombinedOutput(); err == nil {
		g.t.Errorf("the key is taken twice: %s", out)
	}
	if mode := g.run("stat -c %a /away/pulse.key"); mode != "600\n" {
		g.t.Errorf("the key is for others: %s", mode)
	}
	if b, err := os.ReadFile(g.away + "/pulse.key"); err != nil || len(b) != 32 {
		g.t.Fatalf("the key has %d bytes: %v", len(b), err)
	}
	g.run("! grep -rlF -f <(basenc --base16 -w0 /away/pulse.key) /run /etc /.fscrypt && ! test -e /run/pulse.key")
}

// restart begins without the key. Every command of the units fails then, and makes nothing.
func (g *locked) restart() {
	g.t.Helper()
	before := g.kept("/var/lib/pulse")
	g.run("sync")
	g.reboot()
	if n := strings.Count(g.run("find /etc/pulse /var/lib/pulse /var/lib/pulse-worker /var/spool/pulse -name '*queue*' -o -name '*session*' -o -name '*hook*' -o -name 'policy*'"), "\n"); n != 0 {
		g.t.Errorf("%d names are in clear", n)
	}
	locked := g.run("find /var/lib/pulse | sort")
	g.put("/run/policy.toml", gatePolicy)
	const unsealed = "export PULSE_POLICY=/run/policy.toml; " // where /etc/pulse is in clear
	for _, c := range []struct {
		script string
		status int
		said   string
	}{
		{asPulse + "pulse-authorize </dev/null", 64, "/etc/pulse/policy.toml: no such file"},
		{unsealed + asPulse + "pulse-fetch imaps://me@127.0.0.1:1/INBOX --password-file /run/policy.toml", 64, "/queue: there is no queue"},
		{unsealed + asPulse + "pulse-queue add </dev/null", 64, "/queue: there is no queue"},
		{unsealed + asPulse + "pulse-queue outbox", 64, "/queue: there is no queue"},
		{unsealed + asPulse + "pulse-queue health", 64, "/queue: there is no queue"},
		{unsealed + asPulse + "pulse-queue prune --older-than 90d", 64, "/queue: there is no queue"},
		{unsealed + "pulse-queue run --as pulse-worker -- touch /tmp/ran", 64, "/queue: there is no queue"},
		{unsealed + "pulse-queue init", 75, "/queue: required key not available"}, // by root, whom no mode keeps out
	} {
		out, err := g.shell(c.script).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != c.status || !strings.Contains(string(out), c.said) {
			g.t.Errorf("%s: %v\n%s", c.script, err, out)
		}
	}
	g.put("/run/tmpfiles.conf", "d /var/lib/pulse/queue :0700 :pulse :pulse\n")
	if out, err := g.shell("systemd-tmpfiles --create /run/tmpfiles.conf").CombinedOutput(); err == nil {
		g.t.Errorf("a directory could be made: %s", out)
	}
	g.same("without the key", g.run("find /var/lib/pulse | sort; ls /tmp/ran 2>/dev/null || :"), locked)
	g.put("/away/wrong/pulse.key", strings.Repeat("x", 32))
	unlock := read(g.t, "pulse-deploy.7").marked(g.t, "rest: unlock")
	if out, err := g.shell("cd /away/wrong; " + unlock).CombinedOutput(); err == nil && !strings.Contains(string(out), "ERROR") {
		g.t.Errorf("a wrong key is none: %s", out)
	}
	g.same("with a wrong key", g.run("find /var/lib/pulse | sort"), locked)
	g.paste("unlock", "/away")
	g.same("with the key", g.kept("/var/lib/pulse"), before)
	g.run("! test -e /run/pulse.key && " + asPulse + "pulse-queue verify")
}

// restore makes a backup, which nobody reads without the key of the other computer, and a gate
// of it.
func (g *locked) restore() {
	g.t.Helper()
	g.run("cd /away && age-keygen -o backup.key 2>/dev/null && age-keygen -y backup.key >/etc/pulse/recipients")
	head := strings.TrimSpace(g.run(asPulse + "pulse-queue verify"))
	before := g.kept("/var/lib/pulse/queue")
	g.paste("backup", "/away")
	backup, err := os.ReadFile(g.away + "/pulse.tar.age")
	if clear := g.must(g.shell("tar -C /var/lib/pulse -c queue")); err != nil || found(backup) != 0 || found([]byte(clear)) != canaries {
		g.t.Errorf("the backup holds %d words of mail, and %d in clear; %v", found(backup), found([]byte(clear)), err)
	}
	g.run("rm -r /var/lib/pulse/queue")
	g.paste("restore", "/away")
	g.same("restored", g.kept("/var/lib/pulse/queue"), before)
	g.run(asPulse + "pulse-queue verify --head " + head)
}
