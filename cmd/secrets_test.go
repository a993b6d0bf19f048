package cmd_test

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pulse/lib/fetch/mailbox/dovecottest"
)

// look is a shell script that shows what one process of a run can see of the others,
// the environments and the command lines of all that are marked as its own, and of
// itself.
const look = `for p in /proc/[0-9]*; do
	if tr '\0' '\n' <$p/environ | grep -q "^PULSE_TEST_RUN=$PULSE_TEST_RUN$"; then
		echo "== $p"
		cat $p/environ $p/cmdline
	fi
done 2>/dev/null
ls -l /proc/self/fd /proc/$PPID/fd 2>/dev/null
cat /proc/self/limits
`

// forms are how a secret could be written down.
func forms(secret string) []string {
	list := []string{secret}
	for _, raw := range []string{
		secret, "\x00" + dovecottest.User + "\x00" + secret, "user=" + dovecottest.User + "\x01auth=Bearer " + secret + "\x01\x01",
	} {
		list = append(list, base64.StdEncoding.EncodeToString([]byte(raw)), base64.URLEncoding.EncodeToString([]byte(raw)), fmt.Sprintf("%x", raw))
	}
	return list
}

// holds reports whether a secret stands in a text.
func holds(text, secret string) bool {
	for _, form := range forms(secret) {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}

// TestSecretsStayWhereTheyAre: a whole run, from the mailbox to the worker, by every
// way to log in, well and in vain, leaves no password and no token behind: not in the
// queue, not on the outputs, not in what the programs open, write and start, and not
// in sight of the password command or of the worker.
func TestSecretsStayWhereTheyAre(t *testing.T) {
	h := newHost(t)
	t.Setenv("PULSE_TEST_RUN", h.dir)
	h.deliver(t, 1, 3)
	token, old := dovecottest.Token(t, time.Now().Add(time.Hour)), dovecottest.Token(t, time.Now().Add(-time.Minute))
	for name, text := range map[string]string{"token": token + "\n", "old": old + "\n", "wrong": "wrong-horse-battery\n", "look": look} {
		h.write(t, name, text)
	}
	h.write(t, "print", "sh look >seen.$2\ncat $1\n") // what a password command is

	said := map[string]string{}
	run := func(name, line string, want int) {
		t.Helper()
		out, errs, status := h.sh(t, line)
		for n := 0; strings.Contains(errs, "strace: ptrace(PTRACE_LISTEN"); n++ { // which strace 6.1 makes of a stop that is over
			if n == 10 {
				t.Fatalf("%s: strace fails each time:\n%s", name, errs)
			}
			out, errs, status = h.sh(t, line)
		}
		if status != want {
			t.Fatalf("%s: exit %d, want %d\n%s", name, status, want, errs)
		}
		said[name+", stdout"], said[name+", stderr"] = out, errs
	}
	clear := "imap://" + dovecottest.User + "@" + h.Clear + "/INBOX"
	fetch := func(flags string) string { return "pulse-fetch --queue queue --tls-ca " + h.CA + " " + flags + " " }
	const pipeline = " | tee fetched.%s | pulse-classify | tee classified.%s | pulse-authorize | tee authorized.%s | pulse-queue add --queue queue"
	for i, way := range []string{
		"--password-command 'sh print password 0' --auth plain " + h.source(),
		"--password-command 'sh print token 1' --auth xoauth2 " + clear,
		"--password-file token --auth oauthbearer " + h.source(),
		"--password-file password --auth login " + clear,
	} {
		n := fmt.Sprint(i)
		run("way "+n, fetch(way)+strings.ReplaceAll(pipeline, "%s", n), 0)
	}
	for i, way := range []string{
		"--password-file old --auth xoauth2 " + h.source(), "--password-file old --auth oauthbearer " + clear,
		"--password-file wrong --auth plain " + clear, "--password-file wrong --auth login " + h.source(),
		"--password-file token --auth plain " + h.source(), "--password-file password --auth oauthbearer " + clear,
	} {
		run(fmt.Sprint("refused ", i), fetch(way), 1)
	}
	run("strace", "strace -f -y -s 99999 -o trace -e trace=process,%file,write,writev,pwrite64,sendto,sendmsg "+
		"pulse-fetch --tls-ca "+h.CA+" --password-file password "+clear, 0)
	run("strace, token", "strace -f -y -s 99999 -o trace.token -e trace=process,%file,write,writev,pwrite64,sendto,sendmsg "+
		"pulse-fetch --tls-ca "+h.CA+" --password-file token --auth xoauth2 "+h.source(), 0)
	run("worker", "pulse-queue run --queue queue -- sh -c 'cat >record; PULSE_TEST_RUN="+h.dir+" sh "+h.dir+"/look >"+h.dir+"/seen.worker'", 0)

	// The files that hold a secret on purpose, and show that one would be found.
	mine := map[string]string{"password": dovecottest.Password, "token": token, "old": old, "wrong": "wrong-horse-battery"}
	files := 0
	err := filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(h.dir, path)
		if own := mine[name]; own != "" {
			if !holds(string(b), own) {
				t.Errorf("%s does not hold its secret: this test could not fail", name)
			}
			return nil
		}
		said[name] = string(b)
		files++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 20 {
		t.Errorf("only %d files", files)
	}
	for name, text := range said {
		for _, secret := range mine {
			if holds(text, secret) {
				t.Errorf("%s holds a secret:\n%s", name, text)
			}
		}
	}
	for _, name := range []string{"seen.0", "seen.1", "seen.worker"} {
		if !strings.Contains(said[name], "PULSE_TEST_RUN="+h.dir) {
			t.Errorf("%s shows no process of the run:\n%s", name, said[name])
		}
	}
	for _, name := range []string{"seen.0", "seen.1"} {
		if !strings.Contains(strings.Join(strings.Fields(said[name]), " "), "Max core file size 0 0 ") {
			t.Errorf("%s: a core file of what prints the password could be written:\n%s", name, said[name])
		}
	}
	if !strings.Contains(said["trace"], "write(") || !strings.Contains(said["trace"], "STARTTLS") {
		t.Error("strace saw nothing")
	}
}
