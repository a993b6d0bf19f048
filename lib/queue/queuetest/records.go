package queuetest

import (
	"fmt"
	"strings"

	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// Source is the mailbox of Mail.
const Source = "imaps://me@t/INBOX"

const member = `"identity":{"sender":"me@example.com","trust":"owner_verified_email","verified":true,` +
	`"stale":false,"automatic":false,"reason":"authenticated_owner","why":""%s},` +
	`"decision":{"action":%q,"outcome":%q,"rule":"r","reason":"allowed","why":""}}`

// Policy is the policy of these lives.
var Policy = func() *policy.Policy {
	p := policy.Default()
	p.Owners = []string{"me@example.com"}
	return p
}()

// Mail returns an authorized mail with a UID.
func Mail(uid int, outcome terms.Outcome) string {
	message := fmt.Sprintf(`{"message":{"source":%q,"uid":%d,"uidvalidity":7,"id":"<%d@t>",`, Source, uid, uid)
	return message + `"received":"2026-11-21T06:00:00Z"},` + fmt.Sprintf(member, "", "read_public", outcome)
}

// Mails returns n mails that are allowed, with UIDs from one on.
func Mails(from, n int) []string {
	var list []string
	for i := range n {
		list = append(list, Mail(from+i, terms.Allow))
	}
	return list
}

// Effect returns an effect that sends something, and has to be approved.
func Effect(n int) string {
	agent := `,"via":"agent","parent":"0123456789abcdef0123456789abcdef"`
	request := `{"request":{"action":"external_send","target":"bob@partner.example","args":{"n":%d}},`
	return fmt.Sprintf(request, n) + fmt.Sprintf(member, agent, "external_send", terms.Confirm)
}

// SessionMail returns a mail that was classified under a session.
func SessionMail(uid int, id string) string {
	return strings.Replace(Mail(uid, terms.Allow), `"trust":"owner_verified_email"`,
		`"trust":"approved_session","session":"`+id+`"`, 1)
}
