package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"pulse/lib/authorize/layout"
)

// sender submits a mail to an owner with the account of pulse's own sender as far as the server's
// word that it would take the mail (354, RFC 5321 section 4.3.2), and there it hangs up: login and
// envelope are tried, and no mail is.
func (l *live) sender() {
	words := strings.Fields(l.at.Values["SENDER"])
	switch {
	case len(words) == 0:
		l.none("sender", "%s has no SENDER: nothing is sent", l.at.Name)
	case layout.Named(words[0]) != "senders/msmtp" || len(l.policy.Owners) == 0:
		l.none("sender", "%s is not pulse's own, and is not tried", words[0])
	default:
		ready, said := l.rehearse(slices.Concat([]string{"stdbuf", "-oL", "msmtp", "--debug"}, words[1:], []string{"--", l.policy.Owners[0]}))
		if !ready {
			ask := strings.Join(append([]string{"msmtp", "--serverinfo"}, words[1:]...), " ")
			if l.machine {
				ask = "runuser -u pulse-sender -- " + ask
			}
			l.bad("sender", "see what answers: "+ask+"\nman pulse-deploy, \"An agent that sends\"", "%s", strings.Join(strings.Fields(said), " "))
			return
		}
		l.ok("sender", "its server takes the login, and mail to %s; nothing was sent", l.policy.Owners[0])
	}
}

// rehearse reports whether the server said that it would take the mail. What the two say to each
// other holds the password: of it nothing is kept. The pipe stays open until msmtp is gone,
// because its end would be the end of a mail.
func (l *live) rehearse(argv []string) (ready bool, said string) {
	ctx, cancel := context.WithTimeout(l.c.Context, l.try)
	defer cancel()
	cmd, err := l.command(ctx, "pulse-sender", argv...)
	if err != nil {
		return false, err.Error()
	}
	stdin, mail, err := os.Pipe()
	if err != nil {
		return false, err.Error()
	}
	defer mail.Close()
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr, cmd.SysProcAttr = stdin, &stderr, &syscall.SysProcAttr{Setpgid: true}
	kill := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel = kill
	talk, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	stdin.Close()
	if err != nil {
		return false, err.Error()
	}
	_, err = fmt.Fprintf(mail, "To: %s\nSubject: pulse-authorize check --live\n\n", l.policy.Owners[0])
	asked := false // whether msmtp has come as far as DATA: a 354 before that takes no mail
	for lines := bufio.NewScanner(talk); lines.Scan(); {
		asked = asked || strings.HasPrefix(lines.Text(), "--> DATA")
		if asked && strings.HasPrefix(lines.Text(), "<-- 354") {
			ready, err = true, kill()
		}
	}
	_, _ = io.Copy(io.Discard, talk) // a line too long for the scanner must not stop msmtp
	end := cmd.Wait()
	switch {
	case ready:
	case ctx.Err() == context.DeadlineExceeded:
		return false, fmt.Sprintf("msmtp: the server keeps it waiting, and it was ended after %s; timeout 60 in its configuration ends it earlier", l.try)
	case stderr.Len() == 0:
		return false, fmt.Sprint("msmtp: ", errors.Join(end, err))
	}
	return ready, stderr.String()
}
