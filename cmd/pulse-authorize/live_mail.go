package main

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"pulse/lib/authorize/layout"
	"pulse/lib/shared/terms"
)

// often is how long lies between two looks at the mailbox.
const often = 5 * time.Second

// firstMail follows one mail of an owner through all stages: what each says of it is printed when
// it says it.
func (l *live) firstMail(wait time.Duration) {
	if len(l.policy.Owners) == 0 || len(l.policy.Recipients) == 0 {
		l.bad("mail", "pulse-authorize init writes both", "the policy has no owners, or no recipients")
		return
	}
	token := "pulse check " + strings.ToLower(rand.Text()[:8])
	fmt.Fprintf(l.c.App.Writer, "\nWrite to %s from %s, subject %q: I wait %s.\n\n",
		l.policy.Recipients[0], strings.Join(l.policy.Owners, " or "), token, wait)
	until := time.Now().Add(wait)
	failed := ""
	came, ok := l.await(until, func() (h heard, ok bool) { h, failed, ok = l.arrived(token); return h, ok })
	switch {
	case !ok && failed != "":
		l.bad("mail", failed, "the mailbox can't be read any more")
		return
	case !ok:
		l.bad("mail", "is it in the spam folder, or in another mailbox?", "no such mail came")
		return
	}
	l.ok("mail", "it is in the mailbox")
	if came.Identity.Trust != terms.OwnerVerifiedEmail {
		l.bad("pulse-classify", came.Identity.Reason.Advice(), "%s, %s: %s", came.Identity.Trust, came.Identity.Reason, came.Identity.Why)
		return
	}
	l.ok("pulse-classify", "%s is the owner", came.Identity.Sender)
	if came.Decision.Outcome == terms.Reject {
		l.bad("pulse-authorize", "pulse-authorize matrix", "it is rejected: %s", came.Decision.Why)
		return
	}
	l.ok("pulse-authorize", "%s: %s", came.Decision.Outcome, came.Decision.Why)
	task, ok := l.await(until, func() (heard, bool) { return l.queued(came.Message.ID) })
	if !ok {
		l.bad("pulse-queue", "journalctl -u pulse-intake; or what cron mailed", "no task was made of it: nothing starts the intake, or it fails")
		return
	}
	l.ok("pulse-queue", "task %s is %s", task.Task.ID, task.Task.State)
}

// await looks until there is something, the time is over or the person interrupts.
func (l *live) await(until time.Time, look func() (heard, bool)) (heard, bool) {
	for {
		if h, ok := look(); ok {
			return h, true
		}
		select {
		case <-l.c.Context.Done():
			return heard{}, false
		case <-time.After(min(often, time.Until(until))):
		}
		if !time.Now().Before(until) {
			return heard{}, false
		}
	}
}

// arrived looks for a subject among the newest mails, and asks the stages about it; failed is what
// a mailbox said that can't be read.
func (l *live) arrived(subject string) (h heard, failed string, ok bool) {
	for _, f := range l.inboxFiles() {
		values, err := layout.Variables(f[0])
		if err != nil {
			continue
		}
		mail := l.read(values, f[1], 20)
		if !mail.ok {
			failed = mail.err
		}
		decided := l.run("pulse", l.run("pulse", mail.out, "pulse-classify").out, "pulse-authorize")
		list := records(decided.out)
		if i := slices.IndexFunc(list, func(h heard) bool { return strings.Contains(h.Message.Subject, subject) }); i >= 0 {
			return list[i], "", true
		}
	}
	return heard{}, failed, false
}

// queued looks for the task of a Message-ID.
func (l *live) queued(id string) (heard, bool) {
	got := l.run("pulse", nil, "pulse-queue", "list", "--queue", l.queue, "--all", "--newer-than", "1h", "--json")
	list := records(got.out)
	i := slices.IndexFunc(list, func(h heard) bool { return h.Message.ID == id && id != "" })
	if i < 0 {
		return heard{}, false
	}
	return list[i], true
}
