package main

import (
	"fmt"
	"os"
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
	"pulse/lib/shared/escape/escapetest"
)

func TestEveryWord(t *testing.T) {
	cmdlinetest.Words(t, app, func(attack string) (lines [][]string) {
		const server = "imap://me@127.0.0.1:1/INBOX" // where nobody listens
		for _, flag := range imapFlags {
			lines = append(lines, []string{"--" + flag, attack, "--insecure-loopback", server}, []string{"--" + flag, attack, "imaps://me@127.0.0.1:1/INBOX"})
		}
		for _, source := range []string{"imaps://" + attack, "imaps://" + attack + "@127.0.0.1:1/INBOX", "imaps://me@127.0.0.1:1/" + attack, "imap://me@" + attack + "/INBOX",
			"maildir:" + attack, "mbox:" + attack, "webhook:" + attack, attack + ":x", "./" + attack, "x" + attack} {
			lines = append(lines, []string{source}, []string{source, attack})
		}
		return lines
	})
}

// TestEveryFile: names of files that can be read, and cannot, and what is in them.
func TestEveryFile(t *testing.T) {
	for _, a := range escapetest.Attacks {
		t.Run(a.Name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			name := a.FileName()
			mail := "From: " + a.Text + "\r\nSubject: " + a.Text + "\r\n" + a.Text + ": " + a.Text + "\r\nContent-Type: text/plain; charset=" + a.Text + "\r\n\r\n" + a.Text
			if err := os.WriteFile(name, []byte(mail), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir("d"+name, 0o700); err != nil {
				t.Fatal(err)
			}
			for _, source := range []string{"./" + name, "mbox:" + name, "maildir:" + name, "maildir:d" + name, "./d" + name, "mbox:d" + name, "./" + name + "/x"} {
				stdout, stderr, _ := cmdlinetest.Typed(app(), mail, source, "--scope", "full")
				cmdlinetest.FineData(t, fmt.Sprintf("%q", source), stdout, stderr)
			}
			stdout, stderr, _ := cmdlinetest.Typed(app(), mail, "-")
			cmdlinetest.FineData(t, a.Name, stdout, stderr)
		})
	}
}
