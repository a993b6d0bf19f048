package tools

import (
	"fmt"
	"testing"

	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// TestLabels: what is read counts under whatever name it is read.
func TestLabels(t *testing.T) {
	p := policy.Default()
	p.Tools.Action = map[string]terms.Action{"web.fetch": terms.ReadPrivate, "crm.*": terms.ReadPrivate, "wiki.*": terms.ReadPublic}
	for _, c := range []struct {
		tool   string
		action terms.Action
		want   string
	}{
		{"", terms.ReadPrivate, "[private]"},
		{"", terms.ReadPublic, "[untrusted]"},
		{"", terms.WriteLocal, "[]"},
		{"", terms.CodeOrComputer, "[]"},
		{"fs.read", terms.ReadPrivate, "[private]"},
		{"fs.read", terms.WriteLocal, "[private]"},
		{"crm.query", terms.ExternalSend, "[private]"},
		{"web.search", terms.ReadPublic, "[untrusted]"},
		{"web.search", terms.ReadPrivate, "[private untrusted]"},
		{"web.fetch", terms.ReadPrivate, "[private untrusted]"}, // the policy says that it reads more
		{"wiki.page", terms.ReadPublic, "[untrusted]"},
		{"wiki.page", terms.WriteLocal, "[untrusted]"},
		{"task.note", terms.WriteLocal, "[]"},
		{"mail.send", terms.ExternalSend, "[]"},
		{"unbound", terms.CodeOrComputer, "[]"},
		{"exec", terms.CodeOrComputer, "[]"},
	} {
		if got := fmt.Sprint(Labels(p, c.tool, c.action)); got != c.want {
			t.Errorf("%s as %s: %s, want %s", c.tool, c.action, got, c.want)
		}
	}
}
