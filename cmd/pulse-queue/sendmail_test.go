package main

import (
	"encoding/base64"
	"io"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sendmail returns the path of scripts/sendmail.
func sendmail(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../scripts/sendmail")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// mails lets a worker of the ask run a script that sends mail, and returns the effects.
func (p *post) mails(script string) []receipt {
	p.t.Helper()
	p.write("worker", "set -e\nPATH=$(dirname "+sendmail(p.t)+"):$PATH HOME="+p.dir+"\nexport PATH HOME\n"+script)
	p.must("", "pulse-queue", "run", "--proposals", "--", "/bin/sh", p.path("worker"))
	out := p.must("", "sh", "-c", "pulse-queue outbox | pulse-authorize | pulse-queue add")
	return slices.DeleteFunc(receipts(p.t, out), func(r receipt) bool { return r.Action != "external_send" })
}

// TestSendmailLeaves: programs send mail in a run as they always did. It leaves after a yes,
// and arrives as it was proposed.
func TestSendmailLeaves(t *testing.T) {
	const bob, eve = "bob@partner.example", "eve@partner.example"
	for name, c := range map[string]struct {
		needs, script string
		to            []string
		header        map[string]string
		text          string
	}{
		"sendmail -t": {"", `printf 'From: root\nTo: Bob <` + bob + `>\nBcc: ` + eve + `\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\nIn-Reply-To: <1@mail.example>\nReferences: <0@mail.example>\n <1@mail.example>\n\nhi\n.\nnot this\n' | sendmail -t`,
			[]string{bob, eve}, map[string]string{"From": "agent@example.com", "To": bob, "Bcc": "", "Subject": "=?UTF-8?B?R3LDvMOfZQ==?=", "In-Reply-To": "<1@mail.example>", "References": "<0@mail.example> <1@mail.example>"}, "hi\r\n"},
		"Bcc alone": {"", `printf 'Bcc: ` + bob + `,\n ` + eve + `\n\nhi\n' | sendmail -t`,
			[]string{bob, eve}, map[string]string{"To": "", "Cc": "", "Bcc": "", "Subject": ""}, "hi\r\n"},
		"cron": {"", `printf 'From: root (Cron Daemon)\nTo: ` + bob + `\nSubject: Cron <root@host> df\nMIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\nX-Cron-Env: <SHELL=/bin/sh>\n\nü\n.\nall of it\n' | sendmail -i -FCronDaemon -B8BITMIME -oem ` + bob,
			[]string{bob}, map[string]string{"To": bob, "Subject": "Cron <root@host> df"}, "ü\r\n.\r\nall of it\r\n"},
		"s-nail": {"s-nail", `printf 'Dear Bob,\n.\nbye ü\n' | s-nail -:/ -S ttycharset=utf-8 -S mta="$(command -v sendmail)" -r root@localhost.example -s 'Grüße' -c ` + eve + ` ` + bob,
			[]string{bob, eve}, map[string]string{"To": bob, "Cc": eve, "Subject": "=?UTF-8?B?R3LDvMOfZQ==?="}, "Dear Bob,\r\n.\r\nbye ü\r\n"},
		"git send-email": {"", `printf 'From: Me <me@example.com>\nTo: ` + bob + `\nSubject: [PATCH] file: new\nDate: Mon, 23 Nov 2026 02:25:33 +0000\nMessage-Id: <1-me@example.com>\nX-Mailer: git-send-email 2.39.5\nMIME-Version: 1.0\nContent-Transfer-Encoding: 8bit\n\n---\n+x\n-- \n2.39.5\n' | sendmail -i ` + bob + ` ` + eve,
			[]string{bob, eve}, map[string]string{"To": bob, "Bcc": "", "Subject": "[PATCH] file: new"}, "---\r\n+x\r\n-- \r\n2.39.5\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(c.needs); c.needs != "" && err != nil {
				t.Fatalf("%s is missing: apt-get install %[1]s", c.needs)
			}
			p := newPost(t)
			list := p.mails(c.script)
			if len(list) != 1 || list[0].State != "awaiting_review" {
				t.Fatalf("%+v\n%s", list, p.must("", "pulse-queue", "show", p.ask))
			}
			if got, _ := p.got(); len(got) != 0 {
				t.Errorf("%+v left without a yes", got)
			}
			p.types("yes", list[0].ID)
			if said := p.send(); said != "" {
				t.Error(said)
			}
			got, _ := p.got()
			if len(got) != 1 || !slices.Equal(got[0].to, c.to) {
				t.Fatalf("%+v", got)
			}
			m, err := mail.ReadMessage(strings.NewReader(got[0].data))
			if err != nil {
				t.Fatal(err)
			}
			for field, want := range c.header {
				if have := strings.Join(m.Header[field], "|"); have != want {
					t.Errorf("%s: %q, want %q", field, have, want)
				}
			}
			text, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, m.Body))
			if err != nil || string(text) != c.text {
				t.Errorf("%q, %v", text, err)
			}
			p.must("", "pulse-queue", "verify")
		})
	}
}

// TestSendmailInTheRun: the run keeps what a tool of an agent sends, and not among what the
// agent says; outside of a run it is kept in a file.
func TestSendmailInTheRun(t *testing.T) {
	p := newPost(t)
	list := p.mails(`sh -c 'for n in 1 2 3; do echo "Subject: $n

hi" | sendmail bob@partner.example & done; wait'`)
	if len(list) != 3 {
		t.Fatalf("%+v", list)
	}
	said, err := exec.Command(sendmail(t), "-t").CombinedOutput()
	if code := err.(*exec.ExitError).ExitCode(); code != 64 || !strings.Contains(string(said), "this is no run") {
		t.Errorf("%v: %s", err, said)
	}
	full := filepath.Join(t.TempDir(), "parked")
	if err := os.WriteFile(full, []byte(strings.Repeat("{}\n", 50)), 0o600); err != nil {
		t.Fatal(err)
	}
	link := full + ".link"
	if err := os.Symlink(full, link); err != nil {
		t.Fatal(err)
	}
	for parked, want := range map[string]int{full: 69, link: 75, "/dev/null": 64, "/dev/full": 64, "/nowhere/parked": 75, t.TempDir(): 75} {
		cmd := exec.Command(sendmail(t), "bob@partner.example")
		cmd.Stdin, cmd.Env = strings.NewReader("\nhi\n"), []string{"PULSE_PARKED=" + parked}
		if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != want {
			t.Errorf("%s: %v, %s", parked, cmd.ProcessState, out)
		}
	}
	if b, err := os.ReadFile(full); err != nil || len(b) != 150 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}
