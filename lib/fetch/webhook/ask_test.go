package webhook

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pulse/lib/shared/envelope"
	"pulse/lib/shared/peer"
	"pulse/lib/shared/record"
)

// fixture returns a body in the form that a platform documents.
func fixture(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "asks", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(b), "\n")
}

// asked returns what a body signed by a platform says, in one line.
func asked(t testing.TB, name, body string) string {
	t.Helper()
	word, _, _ := strings.Cut(name, "-")
	p, _ := platformOf(word + " ")
	k := keys(t, lineOf(p))
	const at = 1700000000
	r := Read([]byte(signedBy(p, at, body) + "\r\n" + body))
	w := r.Verify(k, time.Unix(at, 0))
	a, err := r.Ask(k, &w)
	switch {
	case err != nil:
		return err.Error()
	case a == nil:
		return "no ask"
	}
	s := a.Sender
	line := fmt.Sprintf("%s by %s in %s", a.ID, s.ID, s.Chat.JSON())
	if s.Bot {
		line += ", a bot"
	}
	if s.Mentioned {
		line += ", mentions"
	}
	return line
}

func TestAsks(t *testing.T) {
	form := errForm.Error()
	for _, c := range []struct{ name, old, new, want string }{
		{"github-comment", "", "", "comment/492700400 by 21031067 in 186853002"},
		{"github-comment", `"created"`, `"edited"`, "no ask"},
		{"github-comment", `"created"`, `"deleted"`, "no ask"},
		{"github-comment", `"issue":`, `"pull_request":`, "no ask"},
		{"github-comment", `"type":"User","site_admin"`, `"type":"Bot","site_admin"`, "comment/492700400 by 21031067 in 186853002, a bot"},
		{"github-comment", `"type":"User","site_admin"`, `"type":"\u0042ot","site_admin"`, "comment/492700400 by 21031067 in 186853002, a bot"},
		{"github-comment", `"type":"User","site_admin"`, `"type":["User"],"site_admin"`, "comment/492700400 by 21031067 in 186853002, a bot"},
		{"github-comment", `"type":"User","site_admin"`, `"site_admin"`, "comment/492700400 by 21031067 in 186853002, a bot"},
		{"github-comment", `"performed_via_github_app":null`, `"performed_via_github_app":{"id":1}`, "comment/492700400 by 21031067 in 186853002, a bot"},
		{"github-comment", `21031067,"type":"User","site_admin"`, `"21031067","type":"User","site_admin"`, form},
		{"github-comment", `21031067,"type":"User","site_admin"`, `9223372036854775808,"type":"User","site_admin"`, form},
		{"github-comment", `21031067,"type":"User","site_admin"`, `2.1e7,"type":"User","site_admin"`, form},
		{"github-comment", `21031067,"type":"User","site_admin"`, `0,"type":"User","site_admin"`, form},
		{"github-comment", `21031067,"type":"User","site_admin"`, `null,"type":"User","site_admin"`, form},
		{"github-comment", `21031067,"type":"User","site_admin"`, `{"id":21031067},"type":"User","site_admin"`, form},
		{"github-comment", `"site_admin":false`, `"id":7`, form},
		{"github-comment", `"site_admin":false`, `"\u0069d":7`, form},
		{"github-comment", `"created_at":"2019-05-15T15:20:21Z",`, ``, form},
		{"github-comment", `"created_at":"2019-05-15T15:20:21Z"`, `"created_at":"yesterday"`, form},
		{"github-comment", `"id":186853002`, `"id":[186853002]`, form},
		{"github-comment", `"repository"`, `"repo"`, form},
		{"github-comment", `You`, "\xff", form},
		{"github-issue", "", "", "issue/444500041 by 21031067 in 186853002"},
		{"github-issue", `"id":21031067,"type":"User"},"created_at"`, `"id":5,"type":"User"},"created_at"`, form},
		{"github-comment", `"id":21031067,"type":"User"},"created_at":"2019-05-15T15:20:21Z"`, `"id":"21031067","type":"User"},"created_at":"2019-05-15T15:20:21Z"`, form},
		{"github-issue", `"opened"`, `"reopened"`, "no ask"},
		{"github-ping", "", "", "no ask"},

		{"slack-message", "", "", "D024BE91L/1355517523.000005 by U2147483697 in 0"},
		{"slack-message", `,"channel_type":"im"`, ``, "D024BE91L/1355517523.000005 by U2147483697 in \"D024BE91L\""},
		{"slack-message", `"im"`, `"mpim"`, "D024BE91L/1355517523.000005 by U2147483697 in \"D024BE91L\""},
		{"slack-message", `"ts":`, `"bot_id":"B01","ts":`, "D024BE91L/1355517523.000005 by U2147483697 in 0, a bot"},
		{"slack-message", `"ts":`, `"subtype":"message_changed","ts":`, "no ask"},
		{"slack-message", `"ts":`, `"subtype":"bot_message","ts":`, "no ask"},
		{"slack-message", `"ts":`, `"edited":{"user":"U1","ts":"1"},"ts":`, "no ask"},
		{"slack-message", `"event_callback"`, `"event_callbac"`, "no ask"},
		{"slack-message", `"U2147483697"`, `"2147483697"`, `D024BE91L/1355517523.000005 by "2147483697" in 0`},
		{"slack-message", `"U2147483697"`, `2147483697`, "D024BE91L/1355517523.000005 by 2147483697 in 0"},
		{"slack-message", `"U2147483697"`, `"U214` + "\u200b" + `7483697"`, form},
		{"slack-message", `"U2147483697"`, `"` + "\uff35" + `2147483697"`, form},
		{"slack-message", `"U2147483697"`, `"U1","user":"U2147483697"`, form},
		{"slack-message", `"type":"event_callback"`, `"type":"event_callback","type":"event_callback"`, form},
		{"slack-mention", "", "", "C123ABC456/1515449522.000016 by U123ABC456 in \"C123ABC456\", mentions"},
		{"slack-mention", `"app_mention"`, `"message"`, "C123ABC456/1515449522.000016 by U123ABC456 in \"C123ABC456\""},
		{"slack-challenge", "", "", "no ask"},

		{"telegram-group", "", "", "-1001111111/1365 by 1111111 in -1001111111, mentions"},
		{"telegram-group", `"mention"`, `"url"`, "-1001111111/1365 by 1111111 in -1001111111"},
		{"telegram-group", `"is_bot":false`, `"is_bot":true`, "-1001111111/1365 by 1111111 in -1001111111, a bot, mentions"},
		{"telegram-group", `"is_bot":false`, `"is_bot":"false"`, "-1001111111/1365 by 1111111 in -1001111111, a bot, mentions"},
		{"telegram-group", `"is_bot":false,`, ``, "-1001111111/1365 by 1111111 in -1001111111, a bot, mentions"},
		{"telegram-group", `"text":`, `"sender_chat":{"id":-100},"text":`, "-1001111111/1365 by 1111111 in -1001111111, a bot, mentions"},
		{"telegram-group", `"message":{`, `"edited_message":{`, "no ask"},
		{"telegram-group", `"text":`, `"caption":`, "no ask"},
		{"telegram-group", `"text":`, `"forward_origin":{"type":"user"},"text":`, "no ask"},
		{"telegram-group", `"text":`, `"forward_from":{"id":5},"forward_date":1441645500,"text":`, "no ask"},
		{"telegram-group", `"text":`, `"via_bot":{"id":1},"text":`, "no ask"},
		{"telegram-group", `"date":1441645532`, `"date":"1441645532"`, form},
		{"telegram-group", `"date":1441645532`, `"date":99999999999999999999`, form},
		{"telegram-group", `"message_id":1365`, `"message_id":-0`, form},
		{"telegram-private", "", "", "1111111/1366 by 1111111 in 1111111"},

		{"discord-guild", "", "", `786008729715212338 by "53908232506183680" in "645027906669510667", mentions`},
		{"discord-guild", `"53908232506183680"`, `53908232506183680`, `786008729715212338 by 53908232506183680 in "645027906669510667", mentions`},
		{"discord-guild", `"username"`, `"bot":true,"username"`, `786008729715212338 by "53908232506183680" in "645027906669510667", a bot, mentions`},
		{"discord-guild", `"type":2,"token"`, `"type":3,"token"`, "no ask"},
		{"discord-guild", `"type":2,"token"`, `"type":"2","token"`, "no ask"},
		{"discord-guild", `"type":1,"name"`, `"type":3,"target_id":"9","resolved":{"messages":{"9":{"content":"pay"}}},"name"`, "no ask"},
		{"discord-guild", `"type":1,"name"`, `"type":2,"target_id":"9","name"`, "no ask"},
		{"discord-guild", `"type":1,"name"`, `"name"`, "no ask"},
		{"discord-dm", `"type":1,"name"`, `"type":3,"target_id":"9","name"`, "no ask"},
		{"discord-guild", `"type":2,"token"`, `"type":2,"user":{"id":"1"},"token"`, `786008729715212338 by "53908232506183680" in "645027906669510667", mentions`},
		{"discord-guild", `"id":"53908232506183680",`, ``, form},
		{"discord-dm", "", "", `786008729715212339 by "53908232506183680" in 0, mentions`},
		{"discord-dm", `"context":1`, `"context":2`, `786008729715212339 by "53908232506183680" in "645027906669510668", mentions`},
		{"discord-ping", "", "", "no ask"},
	} {
		body := fixture(t, c.name)
		if !strings.Contains(body, c.old) {
			t.Fatalf("%s has no %s", c.name, c.old)
		}
		if got := asked(t, c.name, strings.Replace(body, c.old, c.new, 1)); got != c.want {
			t.Errorf("%s, %s for %s:\n got %s\nwant %s", c.name, c.new, c.old, got, c.want)
		}
	}
	for _, body := range []string{"", "[]", "null", "payload=%7B%7D", "{", `{"a":1}{}`, strings.Repeat("[", 1000), githubBody} {
		for i := range platforms {
			if got := asked(t, string(platforms[i].word), body); got != form {
				t.Errorf("%s of %s: %s", body, platforms[i].word, got)
			}
		}
	}
}

// What people and workers are shown.
func TestAskText(t *testing.T) {
	for name, want := range map[string][3]string{
		"github-comment": {"Codertocat", "Spelling error in the README file", "You are totally right! I'll get this fixed right away."},
		"github-issue":   {"Codertocat", "Spelling error in the README file", ""},
		"slack-mention":  {"U123ABC456", "", "What is the hour of the pearl, <@U0LAN0Z89>?"},
		"telegram-group": {"Test Firstname", "", "@agent_bot what is new?"},
		"discord-guild":  {"Mason", "cardsearch", `[{"type":3,"name":"cardname","value":"The Gitrog Monster"}]`},
		"discord-dm":     {"Mason", "news", ""},
	} {
		word, _, _ := strings.Cut(name, "-")
		p, _ := platformOf(word + " ")
		r := &Request{Body: []byte(fixture(t, name))}
		if word == "discord" { // what others wrote comes beside the options
			r.Body = []byte(strings.Replace(string(r.Body), `"data":{`, `"data":{"resolved":{"users":{"9":{"username":"pay"}}},`, 1))
		}
		a, err := r.Ask(Keys{platform: p}, &envelope.Webhook{Result: envelope.WebhookPass})
		if err != nil || [3]string{a.From, a.Subject, a.Text} != want {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}

// TestUnprovenBodyIsNotRead: whose signature is not good, or is late, names nobody.
func TestUnprovenBodyIsNotRead(t *testing.T) {
	k, body := keys(t, "slack "+slackSecret), fixture(t, "slack-message")
	for _, came := range []int64{1700000000 - 301, 1700000000 + 301} {
		r := Read([]byte(signedBy(k.platform, 1700000000, body) + "\r\n" + body))
		w := r.Verify(k, time.Unix(came, 0))
		if a, err := r.Ask(k, &w); a != nil || err == nil {
			t.Errorf("%+v: %+v, %v", w, a, err)
		}
	}
	// A digit that moves from the time into the body is still signed, but neither is what it was.
	p, _ := platformOf("discord ")
	k = keys(t, lineOf(p))
	head := strings.Replace(signedBy(p, 1700000000, body), ": 1700000000", ": 170000000", 1)
	r := Read([]byte(head + "\r\n0" + body))
	if w := r.Verify(k, time.Unix(170000000, 0)); w.Result != envelope.WebhookPass {
		t.Errorf("%+v", w)
	} else if a, err := r.Ask(k, &w); a != nil || err == nil {
		t.Errorf("a moved digit: %+v", a)
	}
}

// FuzzAsk: any body of any platform gives an ask, none or an error. What it names can be
// written into a record and read from there, and is what another reader of JSON finds.
func FuzzAsk(f *testing.F) {
	names, err := filepath.Glob("testdata/asks/*.json")
	if err != nil || len(names) == 0 {
		f.Fatal(err)
	}
	for _, name := range names {
		f.Add([]byte(fixture(f, strings.TrimSuffix(filepath.Base(name), ".json"))))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for i := range platforms {
			r := &Request{Body: body}
			a, err := r.Ask(Keys{platform: &platforms[i]}, &envelope.Webhook{Result: envelope.WebhookPass})
			if err != nil || a == nil {
				if err != nil && a != nil {
					t.Fatal("an error and an ask")
				}
				continue
			}
			stands(t, a.Sender.ID, body)
			m := envelope.Message{Source: "webhook:/x", ID: a.ID, Sender: &a.Sender, From: a.From, Subject: a.Subject}
			var back envelope.Message
			rec, err := record.Parse(append(m.Append([]byte(`{"message":`)), '}'), envelope.Member)
			if err == nil {
				err = back.Read(rec)
			}
			if err != nil || *back.Sender != a.Sender || back.ID != a.ID || a.ID == "" {
				t.Fatalf("%+v: %+v, %v", a, back, err)
			}
		}
	})
}

// stands fails unless the id is somewhere in the body, as a number or a string.
func stands(t *testing.T, id peer.ID, body []byte) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			t.Fatalf("%s is not in the body: %v", id, err)
		}
		switch v := token.(type) {
		case json.Number:
			if id == peer.ID(v) {
				return
			}
		case string:
			if is, err := peer.Text(v); err == nil && is == id {
				return
			}
		}
	}
}
