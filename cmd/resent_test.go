package cmd_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// desk is a policy and a queue to which mail is handed file by file.
type desk struct{ dir string }

func newDesk(t *testing.T, policy string) *desk {
	t.Helper()
	d := &desk{t.TempDir()}
	d.put(t, "policy.toml", "authserv_id = \"mx.example.net\"\nowners = [\"me@example.com\"]\n"+policy)
	d.run(t, "pulse-queue init")
	return d
}

func (d *desk) put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (d *desk) run(t *testing.T, command string) string {
	t.Helper()
	cmd := exec.Command("bash", "-o", "pipefail", "-c", command)
	cmd.Dir = d.dir
	cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + d.dir, "PULSE_POLICY=" + d.dir + "/policy.toml", "PULSE_QUEUE=" + d.dir + "/queue"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", command, err, out)
	}
	return string(out)
}

// take hands in one mail and returns its receipt in short, and the name of its task.
func (d *desk) take(t *testing.T, mail string) (short, id string) {
	t.Helper()
	d.put(t, "mail.eml", mail)
	var r struct {
		Identity struct{ Reason string }
		Decision struct{ Action, Outcome, Reason string }
		Task     struct{ ID, State string }
	}
	if err := json.Unmarshal([]byte(d.run(t, "pulse-fetch mail.eml | pulse-classify | pulse-authorize | pulse-queue add")), &r); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(r.Identity.Reason, " ", r.Decision.Action, " ", r.Decision.Outcome, " ", r.Decision.Reason), r.Task.ID
}

var sentAt = time.Now().UTC().Format(time.RFC1123Z)

// signedMail is mail of the owner as the receiver leaves it, with names in h=.
func signedMail(verdict, names, to, id string) string {
	return "Received: from out.example.com (out.example.com [192.0.2.1]) by mx.example.net with ESMTPS; " + sentAt + "\n" +
		"Authentication-Results: mx.example.net; dkim=" + verdict + " header.d=example.com header.s=s1; dmarc=" + verdict + " header.from=example.com\n" +
		"DKIM-Signature: v=1; d=example.com; s=s1; h=" + names + "; bh=AbCd; b=EfGh\n" +
		"From: Me <me@example.com>\nTo: " + to + "\nSubject: please send it\nDate: " + sentAt + "\nMessage-ID: <" + id + ">\n\nSend it.\n"
}

// An owner writes to Bob, and Bob sends it on, to an address of the agent that asks for
// more. Nobody signed To, so nobody knows that it was not for the agent.
func TestResentToTheAgent(t *testing.T) {
	const (
		action    = "[[action]]\nto = \"agent+send@example.net\"\naction = \"external_send\"\n"
		write     = "[[action]]\nto = \"agent+send@example.net\"\naction = \"write_local\"\n"
		only      = "recipients = [\"agent+send@example.net\"]\n"
		accept    = "accept_unsigned = [\"To\", \"Cc\"]\n"
		microsoft = "From:Date:Subject:Message-ID:Content-Type:MIME-Version"
	)
	for _, c := range []struct{ policy, names, want string }{
		{action, microsoft, "authenticated_owner external_send queue_for_review field_unsigned"},
		{write, microsoft, "authenticated_owner write_local queue_for_review field_unsigned"},
		{only, microsoft, "authenticated_owner read_public queue_for_review field_unsigned"},
		{only + write, microsoft + ":to", "authenticated_owner write_local allow allowed"},
		{accept + action, microsoft, "authenticated_owner external_send require_owner_confirmation needs_confirmation"},
		{accept + write, microsoft, "authenticated_owner write_local allow allowed"},
		{"", "From:Subject:To:Message-ID", "authenticated_owner read_public queue_for_review field_unsigned"},
	} {
		got, _ := newDesk(t, c.policy).take(t, signedMail("pass", c.names, "agent+send@example.net", "1@example.com"))
		if got != c.want {
			t.Errorf("%s%s:\n%s, want\n%s", c.policy, c.names, got, c.want)
		}
	}
}

// What is not signed is not a part of a mail's name: sent again with another Message-ID and
// To it is the same task. And a forged copy that comes first does not take the name.
func TestResentIsNoSecondTask(t *testing.T) {
	const names, to = "from:subject:date", "agent@example.net"
	d := newDesk(t, "")
	_, forged := d.take(t, signedMail("fail", names, to, "1@example.com"))
	short, first := d.take(t, signedMail("pass", names, to, "1@example.com"))
	if forged == first || !strings.HasSuffix(short, " allow allowed") {
		t.Fatalf("%s: %s, and a forged copy is %s", first, short, forged)
	}
	for _, again := range []string{
		signedMail("pass", names, to, "1@example.com"),
		signedMail("pass", names, to, "2@example.com"),
		signedMail("pass", names, "agent+x@example.net", "3@example.com"),
		strings.Replace(signedMail("pass", names, to, "4@example.com"), "Message-ID:", "X-Was:", 1),
	} {
		if _, id := d.take(t, again); id != first {
			t.Errorf("%s is another task, %s, of\n%s", id, first, again)
		}
	}
	if _, other := d.take(t, strings.NewReplacer("bh=AbCd", "bh=XyZz", "\n\nSend it.", "\n\nDon't.").Replace(signedMail("pass", names, to, "1@example.com"))); other == first {
		t.Error("a mail with another text is the same task")
	}
	if n := strings.Count(d.run(t, "pulse-queue list --json"), "\n"); n != 2 {
		t.Errorf("%d tasks", n)
	}
}
