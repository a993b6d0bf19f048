package man

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/authorize/tools"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// The table at the beginning of pulse-policy(5): what is written is a policy, and does
// what is wanted.
func TestWants(t *testing.T) {
	outcome := func(trust terms.Trust, sender string, a terms.Action) func(p *policy.Policy) bool {
		return func(p *policy.Policy) bool { row, _ := p.Row(trust, sender); return row.Outcome(a) == terms.Allow }
	}
	uses := func(by tools.Asker, tool string) func(p *policy.Policy) bool {
		return func(p *policy.Policy) bool {
			seen, _ := tools.Visible(p, tool)
			ok, _ := tools.For(p, by, tool)
			return seen && ok
		}
	}
	ann := outcome(terms.ExternalVerified, "ann@supplier.example", terms.WriteLocal)
	bob := tools.Asker{Trust: terms.ExternalVerified, Sender: "bob@partner.example"}
	group := tools.Asker{Trust: terms.OwnerVerifiedEmail, Sender: "telegram:123456789", Chat: "-100123"}
	checks := map[string]func(p *policy.Policy) bool{
		"my own mail counts": func(p *policy.Policy) bool {
			_, ok := p.Receiver("imaps://me@imap.example.com/INBOX")
			return ok && len(p.Owners) == 2
		},
		"a friend may ask for what is public": outcome(terms.ExternalVerified, "friend@partner.example", terms.ReadPublic),
		"so may everybody at a company": func(p *policy.Policy) bool {
			return p.AllowedExternal[0][0] == '@' && p.Senders[0].Row.Outcome(terms.ReadPrivate) == terms.Reject
		},
		"two people have to agree":                func(p *policy.Policy) bool { return p.Approval.Rows[0].Count == 2 },
		"one person there may have files written": func(p *policy.Policy) bool { return ann(p) && !ann(policy.Default()) },
		"I look at whatever one sender asks for":  func(p *policy.Policy) bool { return p.Senders[0].Row.Outcome(terms.ReadPublic) == terms.Review },
		"mail that also goes to others":           func(p *policy.Policy) bool { return p.Relies("To") },
		"mail to one address asks for more":       func(p *policy.Policy) bool { return p.ActionRules[0].Action == terms.ExternalSend },
		"mail that took a week still counts":      func(p *policy.Policy) bool { return p.MaxAge == 7*24*time.Hour },
		"signatures prove senders":                func(p *policy.Policy) bool { return p.Evidence == policy.ByDKIM },
		"nothing is ever sent":                    func(p *policy.Policy) bool { return p.Outbound.Restricted && len(p.Outbound.Allow) == 0 },
		"mail goes to people whom I know":         func(p *policy.Policy) bool { return p.Outbound.Restricted && len(p.Outbound.Allow) == 2 },
		"the agent drafts, and I send": func(p *policy.Policy) bool {
			row, _ := p.Row(terms.OwnerVerifiedEmail, "me@example.com")
			return row.Outcome(terms.WriteLocal) == terms.Allow && row.Outcome(terms.ExternalSend) == terms.Reject &&
				uses(bob, "mail.draft")(p) && !uses(bob, "mail.send")(p) && !uses(bob, "fs.write")(p)
		},
		"what is private never leaves": func(p *policy.Policy) bool {
			return slices.Contains(p.Flow[label.Private].Deny, "read_public") && slices.Contains(p.Flow[label.Private].Deny, "web.*")
		},
		"the agent looks things up in the web": func(p *policy.Policy) bool { return uses(bob, "web.fetch")(p) && !uses(bob, "mail.send")(p) },
		"what one sender asks for uses only":   func(p *policy.Policy) bool { return uses(bob, "calendar.read")(p) && !uses(bob, "web.fetch")(p) },
		"a group chat may ask": func(p *policy.Policy) bool {
			return uses(group, "web.search")(p) && !uses(group, "web.fetch")(p) && p.Platforms[0].Chats[0].RequireMention
		},
		"at most three workers a run": func(p *policy.Policy) bool { return p.Limits.MaxPerRun == 3 && p.Limits.MaxPerDay == 20 },
		"what is refused is kept":     func(p *policy.Policy) bool { return p.Limits.KeepRefused == 14*24*time.Hour },
		"no worker reads the text of strangers": func(p *policy.Policy) bool {
			return p.Extract.Schema == "request" && p.Extract.Requires(terms.ExternalVerified)
		},
		"my yes comes from another account than the": func(p *policy.Policy) bool { return p.Approval.Require == "user" },
	}
	page := read(t, "pulse-policy.5")
	blocks := slices.DeleteFunc(page.blocks(), func(b block) bool { return !strings.HasPrefix(b.mark, ".It ") })
	if len(blocks) != len(checks) {
		t.Errorf("%d policies in the table, %d checks", len(blocks), len(checks))
	}
	for _, b := range blocks {
		want := strings.TrimPrefix(b.mark, ".It ")
		p, err := policy.Parse(want, []byte(strings.Join(b.text, "\n")))
		if err != nil {
			t.Error(err)
			continue
		}
		i := 0
		for begin, check := range checks {
			if strings.HasPrefix(want, begin) {
				if i++; !check(p) {
					t.Errorf("%s: the policy does something else", want)
				}
			}
		}
		if i != 1 {
			t.Errorf("%s: %d checks", want, i)
		}
	}
}
