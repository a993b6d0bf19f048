package man

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"pulse/lib/fetch/mailbox/dovecottest"
)

// scripts returns the scripts of a page by name.
func scripts(t *testing.T, page string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, b := range read(t, page).blocks() {
		if name, ok := strings.CutPrefix(b.mark, "script: "); ok {
			all[name] = strings.Join(b.text, "\n") + "\n"
		}
	}
	return all
}

// elsewhere is a directory in which the recipes of pulse-levels(7) run, with stand-ins
// for ssh and less: the host is this machine, and a person reads what is shown.
func elsewhere(t *testing.T) (dir, id string, run func(stdin, script string, args ...string) (string, error)) {
	t.Helper()
	dir = world(t)
	all := scripts(t, "pulse-levels.7")
	for name, text := range map[string]string{
		"ssh": "#!/bin/sh\nshift\nexec sh -c \"$*\"\n", "less": "#!/bin/sh\nexec cat \"$1\"\n",
	} {
		all[name] = text
	}
	for name, text := range all {
		text = strings.NewReplacer("/srv/pulse", dir, "/var/lib/pulse/queue", dir+"/queue", "/etc/pulse/policy.toml", dir+"/signed.toml").Replace(text)
		path := put(t, dir, "bin/"+name, text)
		if err := os.Chmod(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("shellcheck", "-s", "sh", "-S", "warning", path).CombinedOutput(); err != nil {
			t.Errorf("%s: %s", name, out)
		}
	}
	run = func(stdin, script string, args ...string) (string, error) {
		cmd := exec.Command(script, args...)
		if path := filepath.Join(dir, "bin", script); all[script] != "" {
			cmd = exec.Command(path, args...)
		}
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
		cmd.Env = []string{"PATH=" + dir + "/bin:" + bin + ":" + os.Getenv("PATH"), "HOME=" + dir, "XDG_STATE_HOME=" + dir + "/state",
			"PULSE_QUEUE=" + dir + "/queue", "PULSE_POLICY=" + dir + "/signed.toml"}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := run("", "sh", "-c", `umask 077; mkdir -p .ssh asked answers
ssh-keygen -q -t ed25519 -N '' -f .ssh/pulse
echo "me@example.com namespaces=\"pulse-approve\" $(cut -d' ' -f1,2 .ssh/pulse.pub)" >signers
printf '[approval]\nallowed_signers = "%s"\n' "$PWD/signers" | cat policy.toml - >signed.toml
pulse-queue init
pulse-fetch mail/send.eml | pulse-classify | pulse-authorize | pulse-queue add --notify bin/notify | jq -r .task.id`)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir, strings.TrimSpace(out), run
}

// TestElsewhereByHand: the recipe of a second laptop says yes, and the one that looks at
// the task file tells it from another one.
func TestElsewhereByHand(t *testing.T) {
	dir, id, run := elsewhere(t)
	taskFile := filepath.Join(dir, "queue/awaiting_review", id+".json")
	if out, err := run("", "check", "asked/"+id, taskFile); err != nil || !strings.Contains(out, "tell Bob") {
		t.Errorf("check: %v: %s", err, out)
	}
	b, err := os.ReadFile(taskFile)
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "altered", strings.Replace(string(b), "late", "rich", 1))
	if out, err := run("", "check", "asked/"+id, "altered"); err == nil || out != "" {
		t.Errorf("check of another file: %v: %s", err, out)
	}
	if out, err := run("", "laptop", id); err == nil {
		t.Errorf("nobody pressed Enter: %s", out)
	}
	out, err := run("\n", "laptop", id)
	if err != nil || !strings.Contains(out, "tell Bob") {
		t.Fatalf("%v: %s", err, out)
	}
	out, err = run("", "sh", "-c", "pulse-queue show "+id)
	if err != nil || !strings.Contains(out, "by me@example.com, level signature") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestElsewhereBySpool: the statement that a notice left is signed, and what the answer
// left is taken, once; a file that is none is gone as well.
func TestElsewhereBySpool(t *testing.T) {
	dir, id, run := elsewhere(t)
	if out, err := run("\n", "answer", "asked/"+id); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	put(t, dir, "answers/junk", "no answer\n")
	for _, want := range []string{": approved\n", ""} {
		out, err := run("", "take")
		if err != nil && want == "" || !strings.Contains(out, want) {
			t.Errorf("%v: %s", err, out)
		}
	}
	if left, err := os.ReadDir(filepath.Join(dir, "answers")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestElsewhereAnotherLine: whoever carries a statement can put a grant of their own in the
// place of its line. The script that signs looks at how the line begins.
func TestElsewhereAnotherLine(t *testing.T) {
	dir, id, run := elsewhere(t)
	asked, err := os.ReadFile(filepath.Join(dir, "asked", id))
	if err != nil {
		t.Fatal(err)
	}
	text := string(asked)
	grant := `{"pulse-grant":1,"id":"0123456789abcdef","any":true,"task":null,"not_before":"2026-01-01T00:00:00Z","expires":"2036-01-01T00:00:00Z"}`
	put(t, dir, "asked/"+id, text[:strings.LastIndex(text, "{")]+grant+"\n")
	put(t, dir, "asked/"+strings.Repeat("0", 32), text)
	for _, name := range []string{id, strings.Repeat("0", 32)} {
		if out, err := run("\n", "answer", "asked/"+name); err == nil || !strings.HasSuffix(out, "its last line is not a yes to task "+name+"\n") {
			t.Errorf("%v: %s", err, out)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "answers/*")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestElsewhereUnread: what was not read to its end stays, and so does what another one has
// put in the place of a file while that was read.
func TestElsewhereUnread(t *testing.T) {
	dir, id, run := elsewhere(t)
	if out, err := run("\n", "answer", "asked/"+id); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	answer, err := os.ReadFile(filepath.Join(dir, "answers", id))
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "answers/large", strings.Repeat("no answer\n", 2<<20)+string(answer))
	put(t, dir, "answers/"+id, "no answer\n")
	command, err := exec.LookPath(filepath.Join(bin, "pulse-approve"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "saved", string(answer))
	wrapper := put(t, dir, "bin/pulse-approve", "#!/bin/sh\nmv "+dir+"/saved "+dir+"/answers/"+id+" 2>/dev/null\nexec "+command+` "$@"`+"\n")
	if err := os.Chmod(wrapper, 0o700); err != nil {
		t.Fatal(err)
	}
	out, _ := run("", "take")
	if !strings.Contains(out, "it holds no answer") || !strings.Contains(out, "larger than 16 MiB") || strings.Contains(out, "approved") {
		t.Error(out)
	}
	if out, _ = run("", "take"); !strings.Contains(out, id+":1: yes to task "+id+": approved\n") {
		t.Errorf("what came meanwhile was not read: %s", out)
	}
	if left, err := filepath.Glob(dir + "/queue.answers/*"); err != nil || len(left) != 1 || filepath.Base(left[0]) != "large" {
		t.Errorf("what was not read is gone: %v, %v", left, err)
	}
}

// TestElsewhereUnlooked: an answer that nobody looked at stays in the spool.
func TestElsewhereUnlooked(t *testing.T) {
	dir, id, run := elsewhere(t)
	if out, err := run("\n", "answer", "asked/"+id); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	policy, err := os.ReadFile(filepath.Join(dir, "signed.toml"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "signed.toml", string(policy)+"unfinish")
	if out, _ := run("", "take"); !strings.Contains(out, "signed.toml") {
		t.Error(out)
	}
	put(t, dir, "signed.toml", string(policy))
	out, _ := run("", "sh", "-c", `mkdir few && for f in rm mv mkdir; do ln -s "$(command -v $f)" few; done && PATH=$PWD/bin:$(dirname "$(command -v pulse-approve)"):$PWD/few exec take`)
	if !strings.Contains(out, "there is no ssh-keygen") {
		t.Error(out)
	}
	if out, _ := run("", "take"); !strings.HasSuffix(out, ": approved\n") {
		t.Error(out)
	}
}

// post is a mail server: mail for the person goes to their mailbox at Dovecot, and mail for the agent to
// a Maildir.
type post struct {
	t      *testing.T
	person *dovecottest.Server
	agent  string // new of its Maildir
	mails  int
	to     string
}

func (p *post) NewSession(*smtp.Conn) (smtp.Session, error) { return p, nil }
func (p *post) Mail(string, *smtp.MailOptions) error        { return nil }
func (p *post) Reset()                                      {}
func (p *post) Logout() error                               { return nil }

func (p *post) Rcpt(to string, _ *smtp.RcptOptions) error {
	p.to = to
	return nil
}

func (p *post) Data(r io.Reader) error {
	b, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	p.mails++
	name := fmt.Sprintf("%d.test", p.mails)
	if p.to == "agent@example.com" {
		return os.WriteFile(filepath.Join(p.agent, name), b, 0o600)
	}
	p.person.Deliver(p.t, name, b)
	return nil
}

// TestElsewhereByMail: an effect is proposed, its statement goes to a person by mail, what they sign on
// another machine comes back by mail, is taken once, and the effect starts. Another mail that says that
// it is the statement, and one that says that it is an answer, do nothing.
func TestElsewhereByMail(t *testing.T) {
	if _, err := exec.LookPath("msmtp"); err != nil {
		t.Fatal("msmtp is missing: apt-get install msmtp")
	}
	dir, _, run := elsewhere(t)
	box := dovecottest.Start(t)
	relay := &post{t: t, person: box, agent: filepath.Join(dir, "answers")}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := smtp.NewServer(relay)
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	put(t, dir, ".msmtprc", fmt.Sprintf("account default\nhost 127.0.0.1\nport %d\nfrom pulse@example.com\n", l.Addr().(*net.TCPAddr).Port))
	put(t, dir, ".box", dovecottest.Password+"\n")
	if err := os.Chmod(filepath.Join(dir, ".box"), 0o600); err != nil {
		t.Fatal(err)
	}
	sh := func(stdin, script string) string {
		t.Helper()
		out, err := run(stdin, "sh", "-c", "export SSL_CERT_FILE="+box.CA+" BOX=imaps://me@"+box.Addr+"/INBOX; "+script)
		if err != nil {
			t.Fatalf("%s: %v: %s", script, err, out)
		}
		return out
	}
	sh("", "rm asked/*; pulse-queue submit --action write_local 'Write to bob@partner.example.'")
	sh("", `echo '{"action":"external_send","target":"bob@partner.example","args":{"text":"I am late, Zoë."}}' >wish; pulse-queue run --proposals -- cat wish`)
	asked := time.Now()
	id := strings.TrimSpace(sh("", `pulse-queue outbox | pulse-authorize | pulse-queue add --notify bin/notify | jq -r 'select(.task.state == "awaiting_review").task.id'`))
	sh("", "mail-ask; [ ! -e asked/"+id+" ]")
	if out := sh("\n", "mail-answer "+id); !strings.Contains(out, "I am late, Zoë.") {
		t.Errorf("what was shown: %s", out)
	}
	put(t, dir, "answers/0", "Subject: "+id+"\n\n"+`{"pulse-approve":1,"task":"`+id+`"}`+"\n")
	if out := sh("", "take"); !strings.Contains(out, "yes to task "+id+": approved\n") || strings.Count(out, "approved") != 1 {
		t.Error(out)
	}
	sh("", "pulse-queue run --effect external_send -- sh -c 'jq -r .request.args.text >sent'")
	t.Logf("from the question to the effect: %v", time.Since(asked).Round(time.Millisecond))
	if sent, err := os.ReadFile(filepath.Join(dir, "sent")); err != nil || string(sent) != "I am late, Zoë.\n" {
		t.Errorf("%q, %v", sent, err)
	}
	if left, err := os.ReadDir(relay.agent); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	sh("", "printf 'Subject: "+id+"\n\n{}\n' | msmtp me@example.com")
	if out := sh("\n", "! mail-answer "+id+"; take; pulse-queue verify"); !strings.Contains(out, "its last line is not a yes to task "+id) {
		t.Error(out)
	}
}
