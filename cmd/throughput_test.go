package cmd_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// thousands fills the mailbox with ordinary mail of 3 kB, about half of it text.
func (h *host) thousands(t testing.TB, n int) {
	t.Helper()
	text := strings.Repeat("Dear agent, please read this. It is \"quoted\" text.\r\n", 35)
	signature := strings.Repeat("Ab/+", 80)
	for i := 1; i <= n; i++ {
		mail := fmt.Sprintf("Return-Path: <me@example.com>\r\nAuthentication-Results: %s; dkim=pass header.d=example.com;\r\n\tspf=pass smtp.mailfrom=me@example.com; dmarc=pass header.from=example.com\r\n"+
			"Received: from a.example by b.example with ESMTPS id abc%d\r\n\tfor <agent@example.com>; Sat, 21 Nov 2026 06:55:00 +0000\r\n"+
			"DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=example.com; s=s1; h=from:to:subject:date:message-id;\r\n\tbh=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=; b=%s\r\n"+
			"From: Me <me@example.com>\r\nTo: agent@example.com\r\nSubject: =?utf-8?q?mail_n=C2=B0_%d?=\r\nDate: Sat, 21 Nov 2026 06:55:00 +0000\r\nMessage-ID: <%d@example.com>\r\n"+
			"MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n%s", receiver, i, signature, i, i, text)
		name := fmt.Sprintf("%d.M%06d.test", 1_790_000_000+i, i)
		if err := os.WriteFile(filepath.Join(h.Maildir, "new", name), []byte(mail), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h.Deliver(t, "1790000000.M0.test", []byte("Subject: the first\n\nx\n")) // gives all to the user
}

// imaplib fetches the same without looking at it.
const imaplib = `
import imaplib, ssl, sys
host, port, ca, n = sys.argv[1].split(":")[0], int(sys.argv[1].split(":")[1]), sys.argv[2], int(sys.argv[3])
box = imaplib.IMAP4_SSL(host, port, ssl_context=ssl.create_default_context(cafile=ca))
box.login("me", open("password").read().strip())
box.select(readonly=True)
uids = box.uid("search", "ALL")[1][0].split()[-n:]
for i in range(0, len(uids), 200):
    box.uid("fetch", b",".join(uids[i:i+200]), "(UID INTERNALDATE RFC822.SIZE BODY.PEEK[HEADER]<0.262146> BODY.PEEK[TEXT]<0.65536>)")
`

// BenchmarkMailbox measures how a mailbox of 10,000 messages is read over TLS, beside the
// IMAP library of python3, which neither checks nor parses a message.
func BenchmarkMailbox(b *testing.B) {
	const n = 10_000
	h := newHost(b)
	h.thousands(b, n)
	h.write(b, "plain.py", imaplib)
	commands := []string{
		fmt.Sprintf("pulse-fetch --limit %d --tls-ca %s --password-file password %s", n, h.CA, h.source()),
		fmt.Sprintf("python3 plain.py %s %s %d", h.Addr, h.CA, n),
	}
	h.must(b, commands[0]+" | wc -l >count") // and the server has made its index
	if got := h.must(b, "cat count"); got != fmt.Sprintln(n) {
		b.Fatalf("%s messages", got)
	}
	for _, command := range commands {
		name, _, _ := strings.Cut(command, " ")
		b.Run(name, func(b *testing.B) {
			var cpu, wall time.Duration
			for b.Loop() {
				cmd := exec.Command("/bin/sh", "-c", "exec "+command)
				cmd.Dir, cmd.Env = h.dir, append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
				begin := time.Now()
				cmd.Stdout, cmd.Stderr = io.Discard, os.Stderr // a pipe
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
				wall += time.Since(begin)
				cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			}
			b.ReportMetric(float64(n*b.N)/wall.Seconds(), "mail/s")
			b.ReportMetric(cpu.Seconds()/float64(b.N), "cpu-s/op")
		})
	}
}

// BenchmarkTick measures the processor time of a tick of cron that finds nothing new in the
// mailbox, over TLS: of pulse-fetch, and of all four stages. The second process of pulse-fetch,
// which outlives it, is not counted: it takes about 3 ms.
func BenchmarkTick(b *testing.B) {
	h := newHost(b)
	h.deliver(b, 1, 1)
	tick := h.fetch("") + " | pulse-classify | pulse-authorize | pulse-queue add"
	h.must(b, tick)
	for name, line := range map[string]string{"fetch": "exec " + h.fetch(""), "all": tick} {
		b.Run(name, func(b *testing.B) {
			var cpu time.Duration
			for b.Loop() {
				cmd := exec.Command("/bin/sh", "-c", line)
				cmd.Dir = h.dir
				cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "PULSE_QUEUE="+h.queue, "PULSE_POLICY="+h.dir+"/policy.toml",
					"SSL_CERT_FILE=", "SSL_CERT_DIR=") // as cron has it, so that the bundle of the system is read
				if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
					b.Fatalf("%v: %s", err, out)
				}
				cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			}
			b.ReportMetric(float64(cpu.Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}
