package screen

import (
	"maps"
	"slices"
	"testing"

	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// TestUnnamed: what a tool is given as a URL is marked as a target is, and in what reads also one
// inside of a text; what the policy lists is not.
func TestUnnamed(t *testing.T) {
	root := &Origin{ID: "22222222222222222222222222222222", Stored: ask(t, terms.OwnerVerifiedEmail, "true", "false", "allowed")}
	p := policy.Default()
	p.Outbound.Allow = []string{"https://listed.example/*", "eve@example.com"}
	for _, c := range []struct {
		action, args string
		want         []string
	}{
		{"external_send", `{"text":"see https://evil.test/a"}`, nil},
		{"external_send", `{"url":" https://evil.test/a "}`, []string{"https://evil.test/a"}},
		{"external_send", `{"deep":[{"url":"HTTPS://evil.test/a"}]}`, []string{"HTTPS://evil.test/a"}},
		{"external_send", `{"url":"https://listed.example/a"}`, nil},
		{"read_public", `{"prompt":"read <https://evil.test/a>, and http://b.test/?d=1."}`, []string{"http://b.test/?d=1", "https://evil.test/a"}},
		{"read_public", `"https://evil.test/a"`, []string{"https://evil.test/a"}},
		{"read_public", `{"prompt":"https://listed.example/a"}`, nil},
	} {
		s := stored(t, proposed, task.Change{Since: now}, "external_send", c.action,
			`["bob@xn--80ak6aa92e.com","eve@example.com"]`, `["eve@example.com"]`, `{"text":"hi"}`, c.args)
		marks := (&Case{Root: root, Policy: p}).Unnamed(s)
		if got := slices.Sorted(maps.Keys(marks)); !slices.Equal(got, c.want) {
			t.Errorf("%s %s: %q, want %q", c.action, c.args, got, c.want)
		}
		unread := (&Case{Root: &Origin{}, Policy: p}).Unnamed(s)
		if len(unread) != len(c.want) {
			t.Errorf("without its ask: %q", unread)
		}
	}
}
