package man

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// Each block of pulse-deploy(7) that is pasted, or may be in place of one, is what bash and
// shellcheck take. What it asks for, it asks for last or in braces, because the next line that is
// pasted would be the answer.
func TestPastedBlocks(t *testing.T) {
	pasted := 0
	for _, b := range read(t, "pulse-deploy.7").blocks() {
		kind, name, _ := strings.Cut(b.mark, ": ")
		if kind != "paste" && kind != "instead" && kind != "alone" && kind != "many" {
			continue
		}
		pasted++
		script := put(t, t.TempDir(), name, strings.Join(b.text, "\n")+"\n")
		if out, err := exec.Command("shellcheck", "-s", "bash", "-S", "warning", "-e", "SC1091", script).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", b.mark, err, out)
		}
		text := strings.Join(b.text, "\n")
		_, asked, ok := strings.Cut(text, "\nread -rsp ")
		braces, heredoc := strings.HasPrefix(text, "{\n"), strings.HasSuffix(text, "\nEND")
		if ok && strings.Contains(asked, "\n") && !braces && !heredoc {
			t.Errorf("%s: it asks, and goes on:\n%s", b.mark, asked)
		}
	}
	if pasted < 13 {
		t.Errorf("%d blocks are pasted", pasted)
	}
}

// Without root a gate is made where XDG says, its crontab comes after what is there, and all of it
// can be taken off again.
func TestAlone(t *testing.T) {
	dir := t.TempDir()
	executable(t, dir+"/scripts", "install", `[ "$PREFIX" = "$HOME/.local" ]`)
	executable(t, dir+"/bin", "crontab", `if [ "$1" = -l ]; then echo '# before'; else cat >"$HOME/tab"; fi`)
	cmd := exec.Command("bash", "-eu")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(read(t, "pulse-deploy.7").marked(t, "alone: mailbox")+"s3cret\n")
	cmd.Env = []string{"PATH=" + dir + "/bin:" + bin + ":" + os.Getenv("PATH"), "HOME=" + dir}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	tab, err := os.ReadFile(dir + "/tab")
	if err != nil || !strings.HasPrefix(string(tab), "# before\n# ") || !strings.Contains(string(tab), dir+"/.config/pulse/password") {
		t.Errorf("%v: %s", err, tab)
	}
	info, err := os.Stat(dir + "/.config/pulse/password")
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := os.Stat(dir + "/.local/share/pulse/queue/format"); err != nil {
		t.Error(err)
	}
	executable(t, dir+"/bin", "crontab", `if [ "$1" = -l ]; then cat "$HOME/tab"; else cat >"$HOME/tab.new"; mv "$HOME/tab.new" "$HOME/tab"; fi`)
	again := exec.Command("bash", "-eu")
	again.Dir, again.Env = dir, cmd.Env
	again.Stdin = strings.NewReader(read(t, "pulse-deploy.7").marked(t, "alone: remove"))
	out, err := again.CombinedOutput()
	left, _ := exec.Command("grep", "-rl", "pulse", dir+"/tab", dir+"/.profile", dir+"/.config", dir+"/.local").Output()
	if err != nil || len(left) > 0 {
		t.Errorf("%v: %s left: %s", err, out, left)
	}
}

// What people search for is in the page, or in the one about trouble.
func TestWordsThatAreSearchedFor(t *testing.T) {
	text := strings.ToLower(strings.Join(slices.Concat(read(t, "pulse-deploy.7"), read(t, "pulse-trouble.7")), " "))
	for _, word := range []string{
		"backup", "restore", "encryption", "mta", "postfix", "docker", "container", "systemd", "cron", "log ", "rotate", "upgrade",
		"uninstall", "gmail", "app password", "oauth", "proxy", "firewall", "offline", "gdpr", "retention", "timeout", "stuck", "permission denied",
	} {
		if !strings.Contains(text, word) {
			t.Errorf("%q is not", word)
		}
	}
}

// The README has the blocks with which one begins, as they are.
func TestBlocksOfReadme(t *testing.T) {
	b, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"install", "mailbox"} {
		block := "\n    " + strings.ReplaceAll(strings.TrimSpace(read(t, "pulse-deploy.7").marked(t, "paste: "+name)), "\n", "\n    ") + "\n\n"
		if !strings.Contains(string(b), block) {
			t.Errorf("the README has no%s", block)
		}
	}
}

// A task of pulse-deploy(7) is one screen, 40 lines at most; two for what is done on two machines.
func TestOneScreen(t *testing.T) {
	out, err := exec.Command("mandoc", "-T", "utf8", "-O", "width=80", "pulse-deploy.7").Output()
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`.\x08`).ReplaceAllString(string(out), "")
	_, tasks, ok := strings.Cut(text, "\nA MACHINE WITH SYSTEMD\n")
	tasks, _, ended := strings.Cut(tasks, "\nSEE ALSO\n")
	if !ok || !ended {
		t.Fatal("the page has other headings")
	}
	for _, task := range regexp.MustCompile(`(?m)^ {0,3}\b`).Split(tasks, -1) {
		name, _, _ := strings.Cut(task, "\n")
		if n := strings.Count(task, "\n"); n > 80 || n > 40 && name != "Encryption at rest" {
			t.Errorf("%d lines: %s", n, name)
		}
	}
}

// deployed is a machine without its system: pasted blocks find their /etc/pulse in a directory,
// and stand-ins for what only root may do.
type deployed struct{ dir string }

func machine(t *testing.T) deployed {
	t.Helper()
	m := deployed{t.TempDir()}
	for _, name := range []string{"apt-get", "systemctl", "useradd", "usermod", "runuser"} {
		executable(t, m.dir+"/bin", name, `echo "${0##*/} $*" >>"`+m.dir+`/said"`)
	}
	executable(t, m.dir+"/bin", "install", `while getopts o:g:m:d option; do case $option in m) mode=$OPTARG ;; d) d=-d ;; esac; done
shift $((OPTIND - 1)); exec /usr/bin/install -m "$mode" $d "$@"`)
	out, err := exec.Command(bin+"/pulse-authorize", "init", "--owner", "you@example.com", "--agent", "agent@example.com", "--receiver", "gmail").Output()
	if err != nil {
		t.Fatal(err)
	}
	put(t, m.dir, "etc/policy.toml", string(out)+"[approval]\nrequire = \"user\"\napprover_group = \"pulse-approvers\"\n[matrix.external_verified]\nallow = [\"read_public\"]\n")
	return m
}

// secret has what a file of passwords could take for something else.
const secret = `"s3cret $x #" `

// paste runs a block, and gives a secret to what it asks for.
func (m deployed) paste(t *testing.T, name string) {
	t.Helper()
	text := strings.NewReplacer("/etc/pulse", m.dir+"/etc", "/home/", m.dir+"/home/").Replace(read(t, "pulse-deploy.7").marked(t, "paste: "+name))
	if strings.Contains(text, "\nread -rsp ") {
		text += secret + "\n"
	}
	cmd := exec.Command("bash", "-eu")
	cmd.Stdin = strings.NewReader(text)
	cmd.Env = []string{"PATH=" + m.dir + "/bin:" + bin + ":" + os.Getenv("PATH"), "HOME=" + m.dir, "XDG_STATE_HOME=" + m.dir + "/state"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", name, err, out)
	}
}

func (m deployed) file(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(m.dir, "etc", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What the blocks write is what is read: by systemd and bash, by msmtp, as a policy.
func TestPastedFiles(t *testing.T) {
	m := machine(t)
	for _, name := range []string{"model", "second", "send", "drafts", "signature", "notice"} {
		m.paste(t, name)
	}
	m.paste(t, "signature") // of a second key
	line := regexp.MustCompile(`^[A-Z_]+="[^"$\x60\\]*"$`)
	for _, name := range []string{"environment", "intake-work", "key", "out-pulse", "out-pulse-reader", "out-pulse-worker", "out-pulse-sender", "out-pulse-drafter"} {
		for l := range strings.Lines(m.file(t, name)) {
			if name != "key" && !line.MatchString(strings.TrimSuffix(l, "\n")) {
				t.Errorf("%s: systemd or bash would not read this as it is meant: %s", name, l)
			}
		}
	}
	if got := m.file(t, "password-work") + m.file(t, "drafts") + m.file(t, "key"); got != secret+"\n"+secret+"\nOPENAI_API_KEY=\""+secret+"\"\n" {
		t.Errorf("secrets: %q", got)
	}
	for _, word := range []string{"READER=", "WORKER=", "SENDER=", "DRAFTER=", "READ_FLAGS=", "RUN_FLAGS=", "ADD_FLAGS=", "NOTIFY="} {
		if n := strings.Count("\n"+m.file(t, "environment"), "\n"+word); n != 1 {
			t.Errorf("%s is there %d times", word, n)
		}
	}
	p, err := policy.Parse("policy.toml", []byte(m.file(t, "policy.toml")))
	if err != nil {
		t.Fatal(err)
	}
	if row := p.Matrix[terms.ExternalVerified]; row.Outcome(terms.ReadPublic) != terms.Allow {
		t.Errorf("a row of the policy became %+v", row)
	}
	if len(p.Outbound.Allow) != 1 || p.Outbound.Allow[0] != "friend@example.org" || p.Approval.Require != "signature" {
		t.Errorf("%+v, %+v", p.Outbound, p.Approval)
	}
	cmd := exec.Command("msmtp", "-C", m.dir+"/etc/msmtprc", "--pretend", "--", "bob@partner.example")
	cmd.Stdin = strings.NewReader("\n")
	out, err := cmd.CombinedOutput()
	if !strings.Contains(m.file(t, "msmtprc"), "\npassword \""+secret+"\"\n") { // it takes one pair of quotes away
		t.Error(m.file(t, "msmtprc"))
	}
	for _, want := range []string{"socket = /run/pulse-out/pulse-sender\n", "from = you@example.com\n"} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: %s", err, out)
		}
	}
}

// Whoever has the account of the gate can put a link in the place of the lock. What root pastes
// makes no file where that leads to.
func TestBlocksMakeNoLock(t *testing.T) {
	for _, mark := range []string{"paste: backup", "rest: backup", "paste: move"} {
		m := machine(t)
		for _, name := range []string{"pulse-queue", "tar", "age"} {
			executable(t, m.dir+"/bin", name, ":")
		}
		put(t, m.dir, "queue/format", "")
		if err := os.Symlink(m.dir+"/made", m.dir+"/queue/lock"); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("bash")
		cmd.Dir = m.dir
		cmd.Stdin = strings.NewReader(strings.NewReplacer(". /etc/profile.d/pulse.sh", ":", "/var/backups", m.dir, "/var/lib/pulse", m.dir, "/root", m.dir).
			Replace(read(t, "pulse-deploy.7").marked(t, mark)))
		cmd.Env = []string{"PATH=" + m.dir + "/bin:" + os.Getenv("PATH"), "PULSE_QUEUE=" + m.dir + "/queue"}
		out, err := cmd.CombinedOutput()
		if _, made := os.Lstat(m.dir + "/made"); made == nil || !strings.Contains(string(out), "/queue/lock: No such file") {
			t.Errorf("%s: %v: %s", mark, err, out)
		}
	}
}
