package screen

import (
	"strings"
	"testing"
	"time"

	"pulse/lib/authorize/decision"
	"pulse/lib/queue"
	"pulse/lib/shared/duration"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

const (
	proposed = `{"request":{"action":"external_send","target":["bob@xn--80ak6aa92e.com","eve@example.com"],"args":{"text":"hi"}},` +
		`"identity":{"sender":"me@example.com","trust":"owner_verified_email","verified":true,"stale":false,"automatic":false,"reason":"authenticated_owner","why":"it is",` +
		`"via":"agent","parent":"11111111111111111111111111111111","root":"22222222222222222222222222222222"},` +
		`"decision":{"action":"external_send","outcome":"require_owner_confirmation","rule":"effect.external_send","reason":"effect_needs_person","why":"because"},` +
		`"task":{"id":"33333333333333333333333333333333","kind":"effect","created":"2026-11-21T07:00:00Z"}}`
	asked = `{"message":{"source":"s","id":"<a@b>","received":"2026-11-18T07:00:00Z","fetched":"2026-11-21T07:00:00Z",` +
		`"headers":[["To","agent+write@example.com"]],"from":"f","subject":"s","text":"t","attachments":[{"name":"a\u001b.pdf"}]},` +
		`"identity":{"sender":"x@example.com","trust":"TRUST","verified":VERIFIED,"stale":STALE,"reason":"r","why":"w","automatic":false},` +
		`"decision":{"action":"write_local","outcome":"queue_for_review","rule":"rule","reason":"REASON","why":"because"},` +
		`"task":{"id":"33333333333333333333333333333333","kind":"ask","created":"2026-11-21T07:00:00Z"}}`
)

var now = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

func stored(t *testing.T, file string, change task.Change, pairs ...string) *queue.Stored {
	t.Helper()
	s := &queue.Stored{Task: task.Task{ID: strings.Repeat("3", 32), State: task.Awaiting, Change: change}}
	if err := s.Parse([]byte(strings.NewReplacer(pairs...).Replace(file) + "\n")); err != nil {
		t.Fatal(err)
	}
	return s
}

func ask(t *testing.T, trust terms.Trust, verified, stale, reason string) *queue.Stored {
	return stored(t, asked, task.Change{Since: now, Reason: reason}, "TRUST", string(trust), "VERIFIED", verified, "STALE", stale, "REASON", reason)
}

// labelled gives a task labels as the queue has them.
func labelled(s *queue.Stored) *queue.Stored {
	s.Labels = label.Set{{Label: label.Private, By: "x\x1b", Task: strings.Repeat("2", 32), At: now}, {Label: label.Untrusted, By: "unknown"}}
	return s
}

func TestSheet(t *testing.T) {
	root := &Origin{ID: "22222222222222222222222222222222", Stored: ask(t, terms.OwnerVerifiedEmail, "true", "false", "allowed")}
	same := *root.Stored
	same.Identity.Sender = "ME@example.com"
	effect := func(reason string) *queue.Stored {
		return stored(t, proposed, task.Change{Since: now, Reason: reason, Attempts: 1})
	}
	week := &Case{Now: now, Expires: 7 * 24 * time.Hour}
	for name, c := range map[string]struct {
		s        *queue.Stored
		c        *Case
		want     []string
		unwanted []string
	}{
		"an effect": {effect("effect_needs_person"), &Case{Now: now, Expires: time.Hour, Root: root, Parent: &Origin{ID: "11111111111111111111111111111111"}}, []string{
			"sender   me@example.com\nproven   yes, an owner\nasked    by x@example.com, 1h ago: s\n", "\nproof    owner_verified_email, authenticated_owner: it is\n",
			"proposed by task 11111111111111111111111111111111",
			"behalf   of task 22222222222222222222222222222222: write_local from x@example.com (owner_verified_email), awaiting_review now",
			"warning  that ask came from another sender than this effect names",
			"action   external_send: send this out; it can't be called back",
			"target   bob@xn--80ak6aa92e.com\nwarning  xn--80ak6aa92e stands for \\u0430\\u0440\\u0440\\u04cf\\u0435: letters are Cyrillic; it looks like apple\nwarning  nobody in this conversation names bob@xn--80ak6aa92e.com: its agent has it from elsewhere\ntarget   eve@",
			"  | hi\ndetails\ntask ", "text asked\n  | t\n", "rule     effect.external_send\nbecause  because", "expires  in 1h, 2026-11-21T09:00:00Z", "age      1h, made 2026-11-21T07:00:00Z; attempts 1, restarts 0",
		}, []string{"caution", "since  "}},
		"of the same sender": {effect("effect_needs_person"), &Case{Now: now, Root: &Origin{ID: root.ID, Stored: &same}},
			[]string{"asked    by ME@example.com", "from ME@example.com", "expires  some time after a run has told of it once more (limits.resurface)"}, []string{"another sender", "can't be checked", "proposed", "told  "}},
		"told of once more": {stored(t, proposed, task.Change{Since: now, Told: now.Add(time.Minute)}), &Case{Now: now.Add(time.Hour), Expires: time.Hour, Root: root},
			[]string{"told     once more at 2026-11-21T08:01:00Z\nexpires  now: "}, nil},
		"of an unknown task": {effect("effect_unknown"), &Case{Now: now, Expires: time.Hour, Root: &Origin{ID: root.ID}, Today: &decision.Decision{Outcome: terms.Reject, Rule: "r\x1b", Why: "w"}},
			[]string{"warning  its ask is not in this queue", "caution  effect_unknown: ", "MAY HAVE HAPPENED", `caution  today's policy rejects it by r\x1b: w; a yes does not start it`}, []string{"since  "}},
		"after a yes":  {effect("approval_not_good"), week, []string{"since    it had a yes that was not good any more"}, nil},
		"a close":      {effect("close_unproven"), week, []string{"since    an agent wants to close a task, and names no proven message"}, nil},
		"after a rule": {effect("action_changed"), week, []string{"since    a later policy wants a person to look (action_changed)"}, nil},
		"labelled": {labelled(effect("effect_needs_person")), week,
			[]string{"label    private (x\\x1b in 22222222222222222222222222222222), at 2026-11-21T08:00:00Z\nlabel    untrusted (unknown)\ndetails\n"}, nil},
		"after a label": {labelled(effect("flow_private")), week, []string{"since    it follows what was read for the same root task since it came (flow_private)"}, nil},
		"unproven":      {ask(t, terms.OwnerClaim, "false", "false", "r"), week, []string{"proven   NOT proven: anyone may have written this\n", "proof    owner_claim_unverified, r: w"}, nil},
		"unknown":       {ask(t, terms.Unknown, "false", "true", "r"), week, []string{"proven   NOT proven"}, []string{"OLD"}},
		"a stranger":    {ask(t, terms.Unknown, "true", "false", "r"), week, []string{"proven   yes, but a stranger"}, nil},
		"resent": {ask(t, terms.OwnerVerifiedEmail, `true,"unsigned":["To","Cc"]`, "false", "field_unsigned"), week,
			[]string{"proven   yes, an owner; NOT SIGNED, so anyone may have written it: To, Cc\n"}, []string{"OLD"}},
		"text unproven": {stored(t, asked, task.Change{Since: now}, "TRUST", "owner_verified_email", "VERIFIED", `true,"unsigned":["Content-Type"]`, "STALE", "false", `"text":"t"`,
			`"text":"t","left_out":{"preamble":7,"later\u001b":1},"left_text":{"preamble":"not\u001b it"}`), week,
			[]string{"NOT SIGNED, so anyone may have written it: Content-Type; THE TEXT IS NOT PROVEN: see", "left out\n  | not\\x1b it\n         (preamble, 7 bytes: before the first part)\n         (later\\x1b, 1 bytes"}, nil},
		"text proven": {stored(t, asked, task.Change{Since: now}, "TRUST", "owner_verified_email", "VERIFIED", "true", "STALE", "false", `"text":"t"`,
			`"text":"t","left_out":{"preamble":7},"left_text":{"preamble":"not it"}`), week, nil, []string{"PROVEN", "not it"}},
		"an old mail": {ask(t, terms.ExternalVerified, "true", "true", "stale"), week, []string{"proven   yes, an outsider on the list; OLD: ", "details\ntask ", `a\\u001b.pdf`, "expires  in 7d"}, nil},
	} {
		lines := Sheet(c.s, c.c)
		text := strings.Join(lines, "\n")
		for _, w := range c.want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: no %q in\n%s", name, w, text)
			}
		}
		for _, w := range c.unwanted {
			if strings.Contains(text, w) {
				t.Errorf("%s: %q in\n%s", name, w, text)
			}
		}
		for _, l := range lines {
			if escape.Message(l) != l {
				t.Errorf("%s: %q", name, l)
			}
		}
	}
}

func TestAlways(t *testing.T) {
	open, shut := policy.Default(), policy.Default()
	shut.Outbound.Restricted, shut.Outbound.Allow = true, []string{"@example.com", "@xn--80ak6aa92e.com"}
	effect := stored(t, proposed, task.Change{Since: now})
	odd := stored(t, proposed, task.Change{Since: now}, "eve@example.com", `x\"]\u2028`)
	resent := ask(t, terms.OwnerVerifiedEmail, `true,"unsigned":["To","Subject"]`, "false", "field_unsigned")
	addressed := policy.Default()
	addressed.Recipients, addressed.AcceptUnsigned = []string{"agent@example.com"}, []string{"Cc"}
	stale := ask(t, terms.OwnerVerifiedEmail, "true", "true", "stale")
	single := policy.Default()
	single.Senders = []policy.SenderRow{{Sender: "@example.com", Row: policy.Row{terms.WriteLocal: terms.Review}}}
	changed := ask(t, terms.ExternalVerified, "true", "false", "needs_review")
	changed.Task.Reason = "action_changed"
	for name, c := range map[string]struct {
		s    *queue.Stored
		p    *policy.Policy
		want string
	}{
		"outward":     {effect, open, `allow = ["bob@xn--80ak6aa92e.com", "eve@example.com"]`},
		"alike":       {effect, open, "look twice at bob@xn--80ak6aa92e.com"},
		"listed":      {effect, shut, "outbound.allow has these targets already"},
		"no address":  {odd, open, `nor can outbound.allow list x"]\u2028`},
		"a row":       {ask(t, terms.ExternalVerified, "true", "false", "needs_review"), open, "    [matrix.external_verified]\n    allow = [\"read_public\", \"write_local\"]\n    require_owner_confirmation = []\n    queue_for_review = [\"read_private\", \"external_send\", \"destructive\", \"code_or_computer\"]\n  risk: "},
		"one sender":  {ask(t, terms.ExternalVerified, "true", "false", "needs_review"), single, "    [matrix.\"@example.com\"]\n    allow = [\"write_local\"]\n    require_owner_confirmation = []\n    queue_for_review = []\n  risk: whatever \"@example.com\" writes starts"},
		"a rejection": {ask(t, terms.OwnerClaim, "false", "false", "needs_review"), open, "today's policy rejects it"},
		"labelled":    {stored(t, proposed, task.Change{Reason: "flow_private"}, "external_send", "read_public"), open, "it follows what was read before: "},
		"old":         {stale, open, `max_age = "96h"`},
		"unsigned":    {resent, addressed, `accept_unsigned = ["Cc", "To", "Subject"]`},
		"sorted":      {changed, open, "to     = \"agent+write@example.com\"\n    action = \"write_local\""},
	} {
		got := strings.Join(Always(c.s, c.p), "\n")
		if !strings.Contains(got, c.want) || !strings.HasSuffix(got, "nothing was stored, and this task still wants an answer") {
			t.Errorf("%s: no %q in\n%s", name, c.want, got)
		}
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour: "0s", 59 * time.Second: "59s", time.Minute: "1m", 119 * time.Minute: "1h", 47 * time.Hour: "47h", 48 * time.Hour: "2d",
	} {
		if got := duration.Span(d); got != want {
			t.Errorf("%s is %s", d, got)
		}
	}
}

// TestEveryActionHasWords: a person is told in words what an action means, whichever it
// is; one without words would be an empty line on the screen.
func TestEveryActionHasWords(t *testing.T) {
	for _, a := range terms.Actions {
		for _, kind := range []task.Kind{task.Ask, task.Effect} {
			if meaning(a, kind) == "" {
				t.Errorf("%s of an %s has no words", a, kind)
			}
		}
	}
}
