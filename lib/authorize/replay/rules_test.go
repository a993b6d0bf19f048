package replay

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pulse/lib/authorize/tools"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/terms"
)

const rich = `
owners           = ["me@example.com", "you@example.com"]
allowed_external = ["@supplier.example", "friend@partner.example"]
accept_automatic = ["bot@supplier.example"]
recipients       = ["agent@example.com", "write@example.com"]
max_age          = "0"
[[receiver]]
source = "imaps://a/*"
authserv_id = "mx.example.net"
[[receiver]]
source = "imaps://b/*"
authserv_id = "mx.example.org"
[[action]]
to = "write@example.com"
action = "write_local"
[[action]]
source = "imaps://b/*"
action = "read_private"
[matrix."friend@partner.example"]
allow = ["read_public"]
queue_for_review = ["write_local"]
[flow]
private = { confirm = ["read_public", "task.*"], deny = ["cfg.get"] }
untrusted = { deny = ["web.search", "web.fetch"] }
[outbound]
allow = ["bob@partner.example", "@example.com"]
[tools]
profile = "standard"
allow = ["cfg.get", "mail.*", "pay"]
deny = ["cfg.*", "web.fetch"]
[tools.level]
"fs.*" = "owner_only"
"mail.send" = "approval_required"
"pay" = "approval_required"
[tools.action]
"pay" = "destructive"
"cfg.*" = "write_local"
[tools.paths]
"pay" = ["receipt"]
[exec]
mode = "allowlist"
workspace = "/nonexistent"
[[exec.allow]]
program = "/bin/ls"
sha256 = "0000000000000000000000000000000000000000000000000000000000000000"
args = ["-l", "*"]
dir = "/tmp"
[[exec.allow]]
program = "/usr/bin/du"
sha256 = "0000000000000000000000000000000000000000000000000000000000000000"
args = ["*"]
dir = "/tmp"
[[platform]]
source = "telegram"
owner_ids = [7]
allowed_ids = [8]
[[platform.chat]]
id = -100
open_group = true
require_mention = false
[[platform.chat]]
id = -200
[[platform]]
source = "webhook:/ci"
actions = ["read_public"]
`

// TestReached: what a case does not come by can be taken out of the policy, and the answer
// stays what it was. So a rule that is said to be exercised never is not needed for any
// case that there is.
func TestReached(t *testing.T) {
	p := parsed(t, rich)
	changed := map[Rule]bool{}
	for _, c := range richCases(t) {
		a, comes := c.Decide(p, open{}), map[Rule]bool{}
		c.Reached(p, &a, func(r Rule) { comes[r] = true })
		for _, r := range Rules(p) {
			b := c.Decide(without(t, p, r), open{})
			if same := a.Decision.Outcome == b.Decision.Outcome && a.Decision.Action == b.Decision.Action; !same {
				changed[r] = true
				if !comes[r] {
					t.Errorf("%s is not reached, and without it %+v becomes %+v", r.Name(), a, b)
				}
			}
		}
	}
	t.Logf("%d of %d rules decide something", len(changed), len(Rules(p)))
	if len(changed) < 40 {
		t.Errorf("only %d rules decide anything", len(changed))
	}
	for _, r := range Rules(p) {
		if r.Line(p) == 0 && !strings.HasPrefix(r.Key, "matrix.") && r.Key != "default_action" {
			t.Errorf("%s: no line", r.Name())
		}
	}
}

// open is a machine on which everything is as the policy has it.
type open struct{}

func (open) Path(_, _ string) (tools.Place, error) { return tools.Place{}, nil }
func (open) Dir(_, _ string) error                 { return nil }
func (open) Program(string) (tools.Program, error) {
	return tools.Program{SHA256: strings.Repeat("0", 64)}, nil
}

// without returns the policy without one of its rules.
func without(t *testing.T, p *policy.Policy, r Rule) *policy.Policy {
	t.Helper()
	q := *p
	drop := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(e string) bool { return e == r.Entry })
	}
	row, list, _ := strings.Cut(strings.TrimPrefix(r.Key, "matrix."), ".")
	switch {
	case r.Key == "owners":
		q.Owners = drop(p.Owners)
	case r.Key == "allowed_external":
		q.AllowedExternal = drop(p.AllowedExternal)
	case r.Key == "accept_automatic":
		q.AcceptAutomatic = drop(p.AcceptAutomatic)
	case r.Key == "recipients":
		q.Recipients = drop(p.Recipients)
	case r.Key == "receiver":
		q.Receivers = slices.Delete(slices.Clone(p.Receivers), r.Nth, r.Nth+1)
	case r.Key == "action":
		q.ActionRules = slices.Delete(slices.Clone(p.ActionRules), r.Nth, r.Nth+1)
	case r.Key == "default_action":
		q.DefaultAction = terms.Destructive
	case strings.HasPrefix(r.Key, `matrix."`):
		q.Senders = slices.Clone(p.Senders)
		for i := range q.Senders {
			if strings.HasPrefix(r.Key, "matrix."+q.Senders[i].Name()+".") {
				q.Senders[i].Row = maps.Clone(q.Senders[i].Row)
				delete(q.Senders[i].Row, terms.Action(r.Entry))
			}
		}
	case list != "" && strings.HasPrefix(r.Key, "matrix."):
		q.Matrix = maps.Clone(p.Matrix)
		q.Matrix[terms.Trust(row)] = maps.Clone(p.Matrix[terms.Trust(row)])
		delete(q.Matrix[terms.Trust(row)], terms.Action(r.Entry))
	case strings.HasPrefix(r.Key, "flow."):
		q.Flow = maps.Clone(p.Flow)
		l := label.Label(strings.Split(r.Key, ".")[1])
		f := p.Flow[l]
		if strings.HasSuffix(r.Key, ".deny") {
			f.Deny = drop(f.Deny)
		} else {
			f.Confirm = drop(f.Confirm)
		}
		q.Flow[l] = f
	case r.Key == "outbound.allow":
		q.Outbound.Allow = drop(p.Outbound.Allow)
	case r.Key == "tools.allow":
		q.Tools.Allow = drop(p.Tools.Allow)
	case r.Key == "tools.deny":
		q.Tools.Deny = drop(p.Tools.Deny)
	case r.Key == "tools.level":
		q.Tools.Level = maps.Clone(p.Tools.Level)
		delete(q.Tools.Level, r.Entry)
	case r.Key == "tools.action":
		q.Tools.Action = maps.Clone(p.Tools.Action)
		delete(q.Tools.Action, r.Entry)
	case r.Key == "tools.paths":
		q.Tools.Paths = maps.Clone(p.Tools.Paths)
		delete(q.Tools.Paths, r.Entry)
	case r.Key == "exec.allow":
		q.Exec.Allow = slices.Delete(slices.Clone(p.Exec.Allow), r.Nth, r.Nth+1)
	case r.Key == "platform":
		q.Platforms = slices.Delete(slices.Clone(p.Platforms), r.Nth, r.Nth+1)
	case r.Key == "platform.chat":
		q.Platforms = slices.Clone(p.Platforms)
		q.Platforms[0].Chats = slices.Delete(slices.Clone(p.Platforms[0].Chats), r.Nth, r.Nth+1)
	default:
		t.Fatalf("how is %s taken out?", r.Name())
	}
	return &q
}

// richCases returns messages of all sources, with and without a request, and effects with
// all tools that the rules name.
func richCases(t *testing.T) (list []Case) {
	add := func(format string, args ...any) {
		rec, err := record.Parse(fmt.Appendf(nil, format, args...), Members...)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Read(rec)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	for _, source := range []string{"imaps://a/x", "imaps://b/x", "imaps://c/x"} {
		for _, from := range []string{"me@example.com", "x@supplier.example", "bot@supplier.example", "friend@partner.example", "x@evil.example"} {
			for _, to := range []string{"agent@example.com", "write@example.com", "agent@example.com, write@example.com", "x@example.com"} {
				id, domain := "mx.example.net", from[strings.IndexByte(from, '@')+1:]
				if source == "imaps://b/x" {
					id = "mx.example.org"
				}
				auto := ""
				if strings.HasPrefix(from, "bot") {
					auto = `["Auto-Submitted","auto-replied"],`
				}
				add(`{"message":{"source":%q,"headers":[%s["Authentication-Results","%s; dkim=pass header.d=%s header.s=s; dmarc=pass header.from=%s"],["DKIM-Signature","v=1; a=rsa-sha256; d=%s; s=s; h=from:to:subject:date:message-id; bh=AbCd; b=AbCdEf"],["From",%q],["To",%q]],"defects":[]}}`,
					source, auto, id, domain, domain, domain, from, to)
			}
		}
	}
	for _, sender := range []string{"", `,"sender":{"id":7,"chat":7}`, `,"sender":{"id":8,"chat":8}`, `,"sender":{"id":9,"chat":-100}`, `,"sender":{"id":8,"chat":-200,"mentioned":true}`, `,"sender":{"id":9,"chat":-300}`} {
		add(`{"message":{"source":"telegram","id":"1"%s}}`, sender)
		add(`{"message":{"source":"telegram","id":"1"%s},"request":{"action":"read_private"}}`, sender)
	}
	for _, action := range terms.Actions {
		add(`{"message":{"source":"webhook:/ci","id":"1","webhook":{"result":"pass"},"defects":[]},"request":{"action":%q}}`, action)
		for _, trust := range terms.TrustLevels {
			for sender, of := range map[string][]terms.Trust{
				"me@example.com": {terms.OwnerClaim, terms.OwnerVerifiedEmail, terms.ApprovedSession}, "friend@partner.example": {terms.ExternalVerified, terms.Unknown}, "uid:0": {terms.System},
			} {
				if !slices.Contains(of, trust) {
					continue
				}
				for _, tool := range []string{"", "cfg.get", "mail.send", "mail.draft", "pay", "web.fetch", "web.search", "fs.read", "exec", "task.note"} {
					for _, target := range []string{"", `"target":"bob@partner.example",`, `"target":"x@evil.example",`} {
						for _, args := range []string{`{}`, `{"receipt":"x","path":"y"}`, `{"argv":["/bin/ls","-l","x"],"dir":"/tmp"}`} {
							for _, labels := range []string{"", `"labels":["private"],`} {
								add(`{"identity":{"sender":%q,"trust":%q,"verified":true,%s"via":"agent","parent":"p","stale":false,"automatic":false},"request":{%s"action":%q,"tool":%q,"args":%s}}`, sender, trust, labels, target, action, tool, args)
							}
						}
					}
				}
			}
		}
	}
	add(`{"identity":{"sender":"uid:0","trust":"system","via":"submit","stale":false,"automatic":false,"verified":true},"request":{"action":"destructive"}}`)
	add(`{"identity":{"sender":"me@example.com","trust":"owner_verified_email","stale":false,"automatic":false,"verified":true}}`)
	return list
}

func parsed(t *testing.T, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse("p", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}
