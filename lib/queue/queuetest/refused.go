package queuetest

import (
	"fmt"
	"strings"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/terms"
)

// Keeping is Add where the records that the policy rejects are kept.
func Keeping(lines ...string) Operation {
	return Operation{fmt.Sprintf("keep %d", len(lines)), func(s store.Store, now time.Time) error {
		return add(s, now, 14*24*time.Hour, lines)
	}}
}

// Wordy is Mail with a subject, a text and an attachment. Its content is a name of it.
func Wordy(uid int, outcome terms.Outcome) string {
	text := fmt.Sprintf(`"body":"sha256:%d","headers":[["Date","Sat, 21 Nov 2026 06:00:00 +0000"]],`, uid) + `"subject":"a subject","text":"a text","attachments":[{"name":"a.txt","type":"text/plain","size":1}],"received"`
	return strings.Replace(Mail(uid, outcome), `"received"`, text, 1)
}

// Resent is Wordy without the signature that covered its Message-ID, and with another one.
func Resent(uid int) string {
	resent := strings.Replace(Wordy(uid, terms.Allow), fmt.Sprintf("<%d@t>", uid), fmt.Sprintf("<%d@resent>", uid), 1)
	return strings.Replace(resent, `"verified":true`, `"verified":true,"signed":"sha256:s","unsigned":["Message-ID"]`, 1)
}

// Twin is Wordy, sent once more in the same second under another Message-ID, which is signed too.
func Twin(uid int) string {
	return strings.Replace(Wordy(uid, terms.Allow), fmt.Sprintf("<%d@t>", uid), fmt.Sprintf("<%d@twin>", uid), 1)
}

// RejectedEffect is Effect, but the policy rejects it.
func RejectedEffect(n int) string {
	return strings.Replace(Effect(n), string(terms.Confirm), string(terms.Reject), 1)
}

// Forget removes the refused records that were kept for two days.
var Forget = Operation{"forget", func(s store.Store, now time.Time) error {
	_, err := queue.Forget(s, 48*time.Hour, "", now)
	return err
}}

// dumpRefused dumps the refused records that are kept.
func dumpRefused(b *strings.Builder, v store.View) error {
	counts := v.Counts()
	fmt.Fprintf(b, "kept %d, %d bytes\n", counts.Kept, counts.KeptBytes)
	return v.Each(store.Refused, func(id string, _ time.Time) (bool, error) {
		s, err := queue.RefusedOf(v, id)
		if err == nil {
			fmt.Fprintf(b, "refused %s\n", s.Line())
		}
		return true, err
	})
}
