package tools

import (
	"fmt"
	"testing"

	"pulse/lib/shared/terms"
)

// The lists of a sender and of a chat only take away, and both count: whatever the policy
// is, no tool passes with them that does not pass without, nor one that either lacks.
func TestNarrowingOnlyTakesAway(t *testing.T) {
	lists := []string{"", `tools.allow = []`, `tools.allow = ["*"]`, `tools.allow = ["web.*", "exec"]`, `tools.allow = ["web.fetch", "task.note"]`}
	by := Asker{Trust: terms.OwnerVerifiedEmail, Sender: "a@b.example:7", Chat: "-1"}
	for _, global := range []string{`profile = "minimal"`, `profile = "full"`, "profile = \"full\"\ndeny = [\"web.fetch\"]", "profile = \"minimal\"\nallow = [\"web.*\"]"} {
		bare := parse(t, "[tools]\n"+global)
		for _, chat := range lists {
			p := parse(t, fmt.Sprintf("[tools]\n%s\n[[platform]]\nsource = \"a@b.example\"\n[[platform.chat]]\nid = -1\n%s\n", global, chat))
			for _, tool := range []string{"web.fetch", "web.search", "fs.read", "task.note", "draft", "exec", "pay"} {
				for _, action := range terms.Actions {
					r := wish(t, action, tool, `{"path":"ok"}`)
					before, after := Judge(bare, r, by, &world{}), Judge(p, r, by, &world{})
					if before.rejects() && !after.rejects() {
						t.Errorf("%s, %s: %s as %s: %+v, without the chat %+v", global, chat, tool, action, after, before)
					}
					_, own := match(builtin, tool)
					_, has := match(p.Platforms[0].Chats[0].Tools, tool)
					if !before.rejects() && after.rejects() != (chat != "" && !has && !(own && action == terms.WriteLocal)) {
						t.Errorf("%s, %s: %s as %s: %+v", global, chat, tool, action, after)
					}
				}
			}
		}
	}
}

// Where both narrow, both do; and a tool of pulse-queue itself stays, but under its own
// action only.
func TestSenderAndChat(t *testing.T) {
	p := parse(t, "[tools]\nprofile = \"full\"\n[matrix.\"a@b.example\"]\ntools.allow = [\"web.*\", \"mail.*\"]\n")
	by := Asker{Trust: terms.ExternalVerified, Sender: "A@b.example"}
	const rule = `matrix."a@b.example".tools.allow`
	for tool, want := range map[string]string{"web.fetch": "", "mail.read": "", "pay": rule, "fs.read": rule} {
		if ok, got := For(p, by, tool); got != want || ok != (want == "") {
			t.Errorf("%s: %v, %s", tool, ok, got)
		}
	}
	for _, c := range []struct {
		tool   string
		action terms.Action
		rule   string
	}{
		{"task.close", terms.WriteLocal, ""}, {"draft", terms.WriteLocal, ""},
		{"task.close", terms.CodeOrComputer, rule}, {"draft", terms.ExternalSend, rule},
	} {
		if v := Judge(p, wish(t, c.action, c.tool, ""), by, nil); v.Rule != c.rule {
			t.Errorf("%s as %s: %+v", c.tool, c.action, v)
		}
	}
}
