package escapetest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Effect returns the record of a proposed effect with an attack in every field that
// holds text, in the form that a queue accepts.
func Effect(a Attack) string {
	return filled(`{"message":%MESSAGE%,`+
		`"request":{"action":"external_send","target":[%LINE%,"bob@partner.example"],"tool":%A%,"args":{"text":%A%,%A%:[%A%,{%A%:%A%}]},"evidence":[%A%],%A%:%A%},`+
		`"identity":{"sender":%A%,"trust":"owner_verified_email","verified":true,"stale":false,"automatic":false,`+
		`"reason":%A%,"why":%A%,"via":"agent","parent":%A%,"root":%A%,%A%:%A%},`+
		`"decision":{"action":"external_send","outcome":"require_owner_confirmation","rule":%A%,"reason":%A%,"why":%A%,"policy":%A%,%A%:%A%},%A%:{%A%:%A%}}`, a)
}

// Mail returns the record of a stranger's message with an attack in every field that
// holds text, in the form that a queue accepts, to start a worker if the policy lets
// strangers ask.
func Mail(a Attack) string {
	return filled(`{"message":%MESSAGE%,`+
		`"identity":{"sender":%A%,"trust":"unknown","verified":false,"stale":false,"automatic":false,"reason":%A%,"why":%A%,"auth":{"authserv_id":%A%,"dkim":%A%,%A%:%A%}},`+
		`"decision":{"action":"read_public","outcome":"allow","rule":%A%,"reason":%A%,"why":%A%,"policy":%A%},%A%:{%A%:%A%}}`, a)
}

func filled(record string, a Attack) string {
	const message = `{"source":%A%,"uid":1,"uidvalidity":2,"id":%A%,"digest":%A%,"received":"2026-11-21T06:55:00Z","fetched":"2026-11-21T07:00:00Z",` +
		`"headers":[["From",%A%],[%A%,%A%],["Authentication-Results",%A%]],"from":%A%,"subject":%A%,"text":%A%,"scope":"snippet","truncated":true,` +
		`"attachments":[{"name":%A%,"type":%A%,"size":3}],"thread":{"in_reply_to":[%A%],"references":[%A%,%A%]},"sender":{"id":7,"name":%A%},%A%:%A%}`
	// JSON holds neither of these two bytes, whatever the attack says.
	record = strings.NewReplacer("%A%", "\x00", "%LINE%", "\x01").Replace(strings.ReplaceAll(record, "%MESSAGE%", message))
	// A name may stand in an object only once.
	for i := 0; strings.Contains(record, "\x00:"); i++ {
		record = strings.Replace(record, "\x00:", Quoted(fmt.Sprintf("%s%d", a.Text, i))+":", 1)
	}
	return strings.NewReplacer("\x00", Quoted(a.Text), "\x01", Quoted(a.OneLine())).Replace(record) + "\n"
}

// Quoted returns a text as a string that is the same in JSON and in TOML.
func Quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}
