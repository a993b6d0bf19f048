package main

import (
	"fmt"
	"strings"
)

const members = `"identity":{"sender":"me@example.com","trust":"owner_verified_email","verified":true,"stale":false,` +
	`"automatic":false,"reason":"authenticated_owner","why":""%s},"decision":{"action":%q,"outcome":%q,"rule":"r","reason":"allowed","why":""}}` + "\n"

// source is the mailbox of all mails here.
const source = "imaps://me@imap.example.com/INBOX"

// mail returns the record of an authorized mail with a uid.
func mail(uid int, outcome string) string {
	return fmt.Sprintf(`{"message":{"source":%q,"uid":%d,"uidvalidity":7,"id":"<%d@example.com>","received":"2026-11-21T06:00:00Z","text":%q},`,
		source, uid, uid, strings.Repeat("Dear agent, please read this. ", 20)) + fmt.Sprintf(members, "", "read_public", outcome)
}

// refusal returns the record of a message that the policy rejects. It has no uid, so that the
// position of the mailbox is that of its mails.
func refusal(n int) string {
	return strings.Replace(mail(n, "reject"), fmt.Sprintf(`"uid":%d,"uidvalidity":7,"id":"<%d@`, n, n), fmt.Sprintf(`"id":"<r%d@`, n), 1)
}

func mails(from, n int) []string {
	var list []string
	for i := range n {
		list = append(list, mail(from+i, "allow"))
	}
	return list
}

// effect returns the record of a message that an agent wants to send and that has to be
// approved.
func effect(n int) string {
	return fmt.Sprintf(`{"request":{"action":"external_send","target":"bob@partner.example","args":{"n":%d}},`, n) +
		fmt.Sprintf(members, `,"via":"agent","parent":"0123456789abcdef0123456789abcdef"`, "external_send", "require_owner_confirmation")
}
