package audit

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pulse/lib/shared/approval"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

var now = time.Date(2026, 11, 21, 7, 0, 0, 5, time.UTC)

// full returns a line that has every member, with hostile text in it.
func full() Line {
	nasty := "\"\\\n\r\t\x00\x1b[2J\u202e\U0001f600 {\"prev\":\"x\"}"
	return Line{
		Time: now, Event: task.Approved, Task: strings.Repeat("a", 32), Kind: task.Effect,
		From: task.Awaiting, To: task.Scheduled, Digest: task.Digest([]byte("x")),
		Change: task.Change{Since: now, Attempts: 3, Deferred: 1, Restarts: 2, NotBefore: now.Add(time.Hour), Reason: nasty},
		Result: task.Digest([]byte("y")), End: &End{Exit: -1, Said: nasty}, Count: 7, Tool: nasty, IdentityReason: nasty, Action: terms.ExternalSend, Rule: nasty, Policy: "sha256:1", Sender: nasty,
		Trust: terms.OwnerVerifiedEmail, Source: nasty, UID: 1<<32 - 1, MessageID: nasty, By: nasty, Level: approval.Terminal,
		Approval: &approval.Approval{
			Task: strings.Repeat("a", 32), Digest: "sha256:2", Action: terms.ExternalSend, Target: []string{"bob@partner.example", nasty},
			By: nasty, Level: approval.Signature, Nonce: approval.Nonce(), Given: now, Expires: now.Add(time.Hour),
		},
		Grant: &approval.Grant{ID: "g", Task: "t", By: nasty, Level: approval.User, Given: now, Expires: now},
		Session: &approval.Session{
			ID: "s", Sender: nasty, Max: 3, Left: 1, By: nasty, Level: approval.Terminal, Opened: now, Expires: now.Add(time.Hour),
		},
		Link:      task.Link{Answers: strings.Repeat("b", 32), Thread: nasty},
		Positions: []Position{{Source: nasty, UIDValidity: 7, UID: 1<<32 - 1, Received: now}, {Source: "s"}},
		Finding:   &Finding{What: FindingTold, Code: "login", About: nasty, Text: nasty, Since: now, Told: now.Add(time.Hour)},
		More:      true, Prev: Origin,
	}
}

func TestRoundTrip(t *testing.T) {
	moved := Line{Time: now, Event: task.Started, Task: "t", From: task.Scheduled, To: task.Running, Change: task.Change{Since: now}, Prev: Origin}
	told := Line{Time: now, Event: Resurfaced, Task: "t", From: task.Awaiting, Prev: Origin, Change: task.Change{
		Since: now.Add(-72 * time.Hour), Attempts: 1, Restarts: 2, NotBefore: now, Reason: "r", Told: now,
	}}
	for _, l := range []Line{full(), moved, told, {Time: now, Event: Held, Change: task.Change{Since: now}, Prev: Hash(nil)}} {
		b := l.Append(nil)
		if strings.ContainsAny(string(b), "\n\r\x00\x1b") {
			t.Errorf("a line with controls: %q", b)
		}
		got, err := Parse(b)
		if err != nil || !reflect.DeepEqual(got, l) {
			t.Errorf("%v\n%+v\n%+v", err, got, l)
		}
	}
}

func TestHash(t *testing.T) {
	if got, want := Hash([]byte("line")), fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("line"))); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if len(Origin) != len(Hash(nil)) {
		t.Error(Origin)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, s := range []string{"", "{", "[]", "null", `{"time":"yesterday"}`, `{"uid":-1}`, `{"uid":4294967296}`, `{"event":1}`,
		`{"prev":"a","prev":"b"}`, `{"pre\u0076":"a","prev":"b"}`, `{"more":1}`, `{"approval":[]}`, `{"exit":"0"}`, `{"said":1}`, `{"identity":"r"}`, `{"identity":{"reason":1}}`, `{"identity":{"reason":"a","reason":"b"}}`, `{"grant":{"any":true,"target":"x"}}`,
		`{"grant":{}}`, `{"session":{}}`, `{"session":{"id":"s","sender":"x","max":1,"left":2}}`, `{"approval":{"target":"x"}}`, `{"approval":{"by":"a","by":"b"}}`, "{\"by\":\"\xff\"}", `{} {}`} {
		if l, err := Parse([]byte(s)); err == nil {
			t.Errorf("%s: %+v", s, l)
		}
	}
}

// TestOldLine: a line that was written before there were ends of attempts and reasons of
// identities has none, and is written back as it was.
func TestOldLine(t *testing.T) {
	const old = `{"time":"2026-11-21T07:00:00.000000005Z","event":"gave_up","task":"t","from":"running","to":"failed","attempts":1,` +
		`"restarts":0,"sender":"x","trust":"unknown","prev":"sha256:1"}`
	l, err := Parse([]byte(old))
	if err != nil || l.End != nil || l.IdentityReason != "" || string(l.Append(nil)) != old {
		t.Errorf("%+v, %v", l, err)
	}
}

// TestBrief: the time and the event of a line are told without the rest, and of nothing else.
func TestBrief(t *testing.T) {
	l := full()
	raw := l.Append(nil)
	if brief, ok := Brief(raw); !ok || !reflect.DeepEqual(brief, Line{Time: l.Time, Event: l.Event}) || !TimeOf(raw[:48]).Equal(l.Time) {
		t.Errorf("%+v, %s", brief, TimeOf(raw[:48]))
	}
	for _, other := range []string{``, `{}`, `{"time":"`, `{"time":"x","event":"held"`, `{"time":"2026-11-21T07:00:00Z"`, `{"time":"2026-11-21T07:00:00Z","event":"held`,
		`{"time":"2026-11-21T07:00:00Z","event":"h\u0065ld"}`, `{"time":"2026-11-21T07:00:00Z","task":"event"}`, ` {"time":"2026-11-21T07:00:00Z","event":"held"}`} {
		if brief, ok := Brief([]byte(other)); ok {
			t.Errorf("%s is %+v", other, brief)
		}
	}
}

// FuzzParse: no panic; a line that was read is written and read back equal, in brief, too.
func FuzzParse(f *testing.F) {
	l := full()
	f.Add(l.Append(nil))
	f.Add([]byte(`{"time":"2026-11-21T07:00:00Z","event":"granted","grant":{"id":"g","any":true}}`))
	f.Add([]byte(`{"event":"session_used","task":"t","session":{"id":"s","sender":"x","max":2,"left":0,"opened":"2026-11-21T07:00:00Z","expires":"2026-11-21T08:00:00Z"}}`))
	f.Add([]byte(`{"from":"running","to":"completed","attempts":-1,"more":false}`))
	f.Add([]byte(`{"event":"added","said":"x","identity":{"why":"","reason":"no_from"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := Parse(b)
		if err != nil {
			return
		}
		if l.Approval != nil && l.Approval.Target == nil {
			l.Approval.Target = []string{} // no target is written as an empty list
		}
		if l.To == "" { // only a transition changes a task
			l.Change = task.Change{Since: l.Change.Since, Reason: l.Change.Reason}
		}
		again, err := Parse(l.Append(nil))
		if err != nil || !reflect.DeepEqual(again, l) {
			t.Errorf("%v\n%+v\n%+v", err, l, again)
		}
		raw := l.Append(nil)
		if _, err := record.Parse(raw, members...); err != nil {
			t.Error(err)
		}
		if brief, ok := Brief(raw); ok && (!brief.Time.Equal(l.Time) || brief.Event != l.Event) {
			t.Errorf("%s is %+v in brief", raw, brief)
		}
	})
}
