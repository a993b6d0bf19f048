package decision

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pulse/lib/classify/identity"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

// matrix is the table of pulse-policy(5), one row for each trust level, in the order
// of terms.Actions: Allow, Confirm, queue for reView, Reject.
var matrix = map[terms.Trust]string{
	terms.Unknown:            "RRRRRR",
	terms.OwnerClaim:         "RRRRRR",
	terms.ExternalVerified:   "AVVVVV",
	terms.OwnerVerifiedEmail: "ARACCC",
	terms.ApprovedSession:    "AAAACC",
	terms.System:             "AAAAAA",
}

var letters = map[byte]terms.Outcome{'A': terms.Allow, 'C': terms.Confirm, 'V': terms.Review, 'R': terms.Reject}

// TestDefaultMatrix goes through every trust level, action and kind, and every mark that
// an identity can have, under every kind of outbound.allow.
func TestDefaultMatrix(t *testing.T) {
	cases := 0
	for trust, row := range matrix {
		for i, action := range terms.Actions {
			for bits := range 1 << 6 {
				on := func(n int) bool { return bits&(1<<n) != 0 }
				effect, stale, automatic, restricted, tool, level := on(0), on(1), on(2), on(3), on(4), on(5)
				p := policy.Default()
				p.Outbound.Restricted = restricted
				who := identity.Identity{Sender: "me@example.com", Trust: trust, Stale: stale, Automatic: automatic}
				req := &request.Request{Action: action, Target: []string{"bob@partner.example"}}
				if effect {
					who.Via = identity.ViaAgent
				}
				if tool {
					req.Tool = "web.fetch"
				}
				if level {
					p.Tools.Level = map[string]string{"web.*": "approval_required"}
				}
				want := letters[row[i]]
				switch {
				case !effect && automatic:
					want = terms.Reject
				case !effect && stale && want == terms.Allow:
					want = terms.Review
				case effect && want == terms.Reject:
				case effect && action.Outward() && restricted, effect && automatic && action == terms.ExternalSend:
					want = terms.Reject
				case effect && want == terms.Allow && (action.Outward() || tool && level):
					want = terms.Confirm
				}
				d := Decide(Input{Identity: &who, Request: req, Policy: p})
				if d.Outcome != want || d.Action != action || d.Rule == "" || d.Reason == "" || d.Why == "" {
					t.Errorf("%s %s effect=%v stale=%v automatic=%v restricted=%v tool=%v: %+v, want %s", trust, action, effect, stale, automatic, restricted, tool, d, want)
				}
				if effect && action.Outward() && d.Outcome == terms.Allow {
					t.Errorf("%s %s: an effect that goes outside is allowed", trust, action)
				}
				unsafe := AllowAll(Input{Identity: &who, Request: req, Policy: p})
				if unsafe.Outcome != terms.Allow || unsafe.Reason != Unsafe || unsafe.Action != action {
					t.Errorf("unsafe: %+v", unsafe)
				}
				cases++
			}
		}
	}
	if cases != 6*6*64 {
		t.Error(cases)
	}
}

func TestUnknownActionIsRejected(t *testing.T) {
	for _, a := range []terms.Action{"", "Read_Public", "read_public ", "all", "*"} {
		for _, via := range []identity.Via{identity.ViaMessage, identity.ViaAgent, identity.ViaSubmit} {
			who := identity.Identity{Trust: terms.System, Via: via}
			d := Decide(Input{Identity: &who, Request: &request.Request{Action: a}, Policy: policy.Default()})
			if d.Outcome != terms.Reject || d.Reason != unknownAction {
				t.Errorf("%q: %+v", a, d)
			}
		}
	}
}

func TestUnknownTrustIsRejected(t *testing.T) {
	who := identity.Identity{Trust: "root"}
	if d := Decide(Input{Identity: &who, Policy: policy.Default()}); d.Outcome != terms.Reject {
		t.Errorf("%+v", d)
	}
}

func TestAcceptAutomatic(t *testing.T) {
	p := policy.Default()
	p.AcceptAutomatic = []string{"bot@example.com", "@lists.example"}
	for sender, want := range map[string]terms.Outcome{
		"bot@example.com": terms.Allow, "BOT@example.com": terms.Allow, "x@lists.example": terms.Allow,
		"bot2@example.com": terms.Reject, "x@sub.lists.example": terms.Reject, "": terms.Reject, "lists.example": terms.Reject,
	} {
		who := identity.Identity{Sender: sender, Trust: terms.OwnerVerifiedEmail, Automatic: true}
		if d := Decide(Input{Identity: &who, Policy: p}); d.Outcome != want {
			t.Errorf("%s: %+v", sender, d)
		}
	}
}

func TestTargets(t *testing.T) {
	for _, c := range []struct {
		allow  []string
		target []string
		want   Reason
	}{
		{nil, []string{"anybody@anywhere.example"}, NeedsConfirm},
		{nil, nil, noTarget},
		{[]string{}, []string{"bob@x.example"}, targetNotAllowed},
		{[]string{"bob@x.example"}, []string{"BOB@X.example"}, NeedsConfirm},
		{[]string{"@x.example"}, []string{"bob@x.example", "eve@x.example"}, NeedsConfirm},
		{[]string{"@x.example"}, []string{"bob@x.example", "eve@y.example"}, targetNotAllowed},
		{[]string{"@x.example"}, []string{"bob@y.example@x.example"}, targetNotAllowed},
		{[]string{"@x.example"}, []string{"bob@sub.x.example"}, targetNotAllowed},
		{[]string{"@x.example"}, []string{"\"a@y.example\"@x.example"}, targetNotAllowed},
		{[]string{"@x.example"}, []string{"bob@x.example, eve@y.example"}, targetNotAllowed},
		{[]string{"@x.example"}, []string{"https://x.example/hook"}, targetNotAllowed},
		{[]string{"bob@x.example"}, []string{"bo\u212a@x.example"}, targetNotAllowed},
	} {
		p := policy.Default()
		p.Outbound.Restricted, p.Outbound.Allow = c.allow != nil, c.allow
		who := identity.Identity{Trust: terms.OwnerVerifiedEmail, Via: identity.ViaAgent}
		d := Decide(Input{Identity: &who, Request: &request.Request{Action: terms.ExternalSend, Target: c.target}, Policy: p})
		if d.Reason != c.want {
			t.Errorf("%q under %q: %+v", c.target, c.allow, d)
		}
	}
	who := identity.Identity{Trust: terms.OwnerVerifiedEmail, Via: identity.ViaAgent}
	if d := Decide(Input{Identity: &who, Policy: policy.Default()}); d.Outcome == terms.Confirm {
		t.Errorf("an effect without a request: %+v", d)
	}
}

// An effect through a tool is judged after the row, the targets and the envelope, and
// only more strictly.
func TestTools(t *testing.T) {
	for _, c := range []struct {
		trust  terms.Trust
		action terms.Action
		tool   string
		args   record.Value
		want   terms.Outcome
		reason Reason
	}{
		{terms.OwnerVerifiedEmail, terms.WriteLocal, "mail.draft", "", terms.Allow, allowed},
		{terms.OwnerVerifiedEmail, terms.WriteLocal, "task.close", "", terms.Allow, allowed},
		{terms.OwnerVerifiedEmail, terms.WriteLocal, "cfg_set", "", terms.Reject, "tool_not_allowed"},
		{terms.OwnerVerifiedEmail, terms.ExternalSend, "cfg_set", "", terms.Reject, "tool_not_allowed"},
		{terms.OwnerVerifiedEmail, terms.ReadPrivate, "cfg_set", "", terms.Reject, NotPermitted},
		{terms.OwnerVerifiedEmail, terms.WriteLocal, "fs.write", `{"path":"x"}`, terms.Reject, "no_workspace"},
		{terms.OwnerVerifiedEmail, terms.CodeOrComputer, "exec", `{"argv":["/bin/true"],"dir":"/"}`, terms.Reject, "exec_denied"},
		{terms.OwnerVerifiedEmail, terms.CodeOrComputer, "", `{"argv":["/bin/true"],"dir":"/"}`, terms.Reject, "exec_denied"},
		{terms.ExternalVerified, terms.WriteLocal, "mail.draft", "", terms.Review, NeedsReview},
		{terms.ExternalVerified, terms.WriteLocal, "cfg_set", "", terms.Reject, "tool_not_allowed"},
		{terms.System, terms.ExternalSend, "mail.send", "", terms.Confirm, EffectPerson},
		{terms.System, terms.ReadPublic, "web.fetch", "", terms.Allow, allowed},
		{terms.OwnerVerifiedEmail, terms.ReadPublic, "mail.read", "", terms.Reject, "tool_not_allowed"},
		{terms.OwnerVerifiedEmail, terms.WriteLocal, "mail.read", "", terms.Reject, NotPermitted}, // it still reads what is private
		{terms.OwnerVerifiedEmail, terms.WriteLocal, "web.fetch", "", terms.Allow, allowed},
		{terms.ApprovedSession, terms.WriteLocal, "mail.read", "", terms.Allow, allowed},
		{terms.ExternalVerified, terms.Destructive, "mail.read", "", terms.Review, NeedsReview},
	} {
		who := identity.Identity{Trust: c.trust, Via: identity.ViaAgent}
		in := Input{Identity: &who, Policy: policy.Default(), Request: &request.Request{Action: c.action, Tool: c.tool, Args: c.args, Target: []string{"a@x.example"}}}
		if d := Decide(in); d.Outcome != c.want || d.Reason != c.reason {
			t.Errorf("%s %s %s: %+v", c.trust, c.action, c.tool, d)
		}
		in.Identity.Via = identity.ViaSubmit // an ask that names a tool does not use it
		if d := Decide(in); d.Reason == "tool_not_allowed" || d.Reason == "exec_denied" {
			t.Errorf("%s %s %s as an ask: %+v", c.trust, c.action, c.tool, d)
		}
	}
}

// A tool without a binding counts as running code. A draft may go only to the targets to
// which mail may be sent.
func TestToolsAreBound(t *testing.T) {
	full := "[tools]\nprofile = \"full\"\n"
	for _, c := range []struct {
		policy string
		action terms.Action
		tool   string
		want   terms.Outcome
		reason Reason
	}{
		{full, terms.ReadPublic, "pay.now", terms.Reject, "tool_not_allowed"},
		{full, terms.ExternalSend, "pay.now", terms.Reject, "tool_not_allowed"},
		{full, terms.CodeOrComputer, "pay.now", terms.Confirm, NeedsConfirm},
		{full + "[tools.action]\n\"pay.*\" = \"read_public\"", terms.ReadPublic, "pay.now", terms.Allow, allowed},
		{full + "[tools.action]\n\"mail.*\" = \"read_public\"", terms.ReadPublic, "mail.send", terms.Reject, "tool_not_allowed"},
		{"[outbound]\nallow = [\"a@x.example\"]", terms.WriteLocal, "mail.draft", terms.Allow, allowed},
		{"[outbound]\nallow = [\"b@x.example\"]", terms.WriteLocal, "mail.draft", terms.Reject, targetNotAllowed},
		{"[outbound]\nallow = []", terms.WriteLocal, "draft", terms.Allow, allowed},
	} {
		p, err := policy.Parse("p", []byte(c.policy))
		if err != nil {
			t.Fatal(err)
		}
		who := identity.Identity{Trust: terms.OwnerVerifiedEmail, Via: identity.ViaAgent}
		d := Decide(Input{Identity: &who, Policy: p, Request: &request.Request{Action: c.action, Tool: c.tool, Target: []string{"a@x.example"}}})
		if d.Outcome != c.want || d.Reason != c.reason || d.Action != c.action {
			t.Errorf("%s %s under %q: %+v", c.action, c.tool, c.policy, d)
		}
	}
}

func TestForNow(t *testing.T) {
	for _, c := range []struct {
		outcome terms.Outcome
		reason  Reason
		want    bool
	}{
		{terms.Reject, "path_refused", true}, {terms.Reject, "program_refused", true}, {terms.Reject, "exec_denied", false},
		{terms.Reject, NotPermitted, false}, {terms.Review, "path_refused", false},
	} {
		d := Decision{Outcome: c.outcome, Reason: c.reason}
		if d.ForNow() != c.want {
			t.Errorf("%+v", d)
		}
	}
}

func TestActionRules(t *testing.T) {
	p := policy.Default()
	p.ActionRules = []policy.ActionRule{
		{To: "agent+write@example.com", Source: "imaps://*/Commands", Action: terms.ReadPrivate},
		{To: "agent+write@example.com", Action: terms.WriteLocal},
		{Source: "imaps://me@t/Commands", Action: terms.Destructive},
	}
	for _, c := range []struct {
		source string
		to     []string
		want   terms.Action
	}{
		{"imaps://me@t/Commands", []string{"agent+write@example.com"}, terms.ReadPrivate},
		{"imaps://me@t/INBOX", []string{"AGENT+write@example.com"}, terms.WriteLocal},
		{"imaps://me@t/INBOX", []string{"agent+write@example.com", "me@example.com"}, terms.ReadPublic},
		{"imaps://me@t/INBOX", nil, terms.ReadPublic},
		{"imaps://me@t/Commands", nil, terms.Destructive},
		{"imaps://me@t/Commands2", []string{"x@example.com"}, terms.ReadPublic},
	} {
		who := identity.Identity{Trust: terms.System}
		in := Input{Identity: &who, Source: c.source, Recipients: c.to, Policy: p}
		if d := Decide(in); d.Action != c.want {
			t.Errorf("%+v: %s", c, d.Action)
		}
		in.Request = &request.Request{Action: terms.ReadPublic} // an explicit request comes first
		if d := Decide(in); d.Action != terms.ReadPublic {
			t.Errorf("%+v with a request: %s", c, d.Action)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	d := Decision{terms.ReadPublic, terms.Allow, "rule", allowed, "why\n\x1b", []label.Label{label.Private, label.Untrusted}, false, 2, "sha256:x"}
	if got, err := Decode(record.Value(d.Append(nil))); err != nil || !reflect.DeepEqual(got, d) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, o := range []string{"", "ALLOW", "allow ", "permit"} {
		if _, err := Decode(record.Value(fmt.Sprintf(`{"outcome":%q}`, o))); err == nil || !strings.Contains(err.Error(), "no outcome") {
			t.Errorf("%q: %v", o, err)
		}
	}
	if _, err := Decode(`{"outcome":"allow","labels":["secret"]}`); !errors.Is(err, label.ErrUnknown) {
		t.Errorf("a label of a newer version: %v", err)
	}
}

// TestLabels: an effect says what it gives its root task, whatever outcome but reject it has.
// An ask says nothing, because the queue goes by how it starts.
func TestLabels(t *testing.T) {
	for _, c := range []struct {
		trust terms.Trust
		via   identity.Via
		r     request.Request
		want  string
	}{
		{terms.System, identity.ViaAgent, request.Request{Action: terms.ReadPrivate}, `,"labels":["private"]`},
		{terms.System, identity.ViaAgent, request.Request{Action: terms.ReadPublic, Tool: "web.fetch"}, `,"labels":["untrusted"]`},
		{terms.System, identity.ViaAgent, request.Request{Action: terms.ReadPrivate, Tool: "web.fetch"}, `,"labels":["private","untrusted"]`},
		{terms.System, identity.ViaAgent, request.Request{Action: terms.WriteLocal, Tool: "calendar.read"}, `,"labels":["private"]`},
		{terms.System, identity.ViaAgent, request.Request{Action: terms.WriteLocal}, ""},
		{terms.System, identity.ViaAgent, request.Request{Action: terms.CodeOrComputer}, ""},
		{terms.ExternalVerified, identity.ViaAgent, request.Request{Action: terms.ReadPrivate}, `,"labels":["private"]`}, // review
		{terms.OwnerVerifiedEmail, identity.ViaAgent, request.Request{Action: terms.ReadPrivate}, ""},                    // reject
		{terms.System, identity.ViaSubmit, request.Request{Action: terms.ReadPrivate}, ""},                               // an ask
	} {
		in := Input{Identity: &identity.Identity{Trust: c.trust, Via: c.via}, Request: &c.r, Policy: policy.Default()}
		d := Decide(in)
		if got := string(d.Append(nil)); !strings.HasSuffix(got, d.Why+`"`+c.want+"}") {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// Why quotes text that a worker wrote, and must not make the record longer than a stage
// reads.
func TestWhyIsBounded(t *testing.T) {
	p := policy.Default()
	p.Outbound.Restricted = true
	who := identity.Identity{Sender: "me@example.com", Trust: terms.OwnerVerifiedEmail, Via: identity.ViaAgent}
	for n := range 8 {
		req := &request.Request{Action: terms.Destructive, Target: []string{strings.Repeat("x", n) + strings.Repeat("\U0001f4a3", 1<<16)}}
		d := Decide(Input{Identity: &who, Request: req, Policy: p})
		if d.Reason != targetNotAllowed || len(d.Why) > maxWhy+len("…") || !utf8.ValidString(d.Why) {
			t.Errorf("%s, %d bytes: %q", d.Reason, len(d.Why), d.Why)
		}
	}
}
