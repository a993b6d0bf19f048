package judge

import (
	"fmt"
	"strings"
	"testing"

	"pulse/lib/authorize/hook"
)

// TestBounds: what a program of the run may say as often as it likes takes no more room than
// there is for it, and what was not noted counts as not asked.
func TestBounds(t *testing.T) {
	j := seat(t, rules)
	say(j, `{"worker":"claude-code","version":"2.1.197"}`)
	say(j, `{"hook":"claude-code","event":{"hook_event_name":"SessionStart"}}`)
	for i := range maxUses + 1 {
		j.session.asked(&hook.Use{Client: hook.ClaudeCode, ID: fmt.Sprint(i), Name: "Read"})
	}
	if n := len(j.session.byID); n != maxUses {
		t.Errorf("%d uses are noted", n)
	}
	j.Count([]Used{{ID: fmt.Sprint(maxUses - 1), Tool: "Read"}})
	if left := j.Result(); left.Ungated != "" {
		t.Errorf("%+v", left)
	}
	j.Count([]Used{{ID: fmt.Sprint(maxUses), Tool: "Read"}})
	if left := j.Result(); left.Ungated == "" {
		t.Errorf("%+v", left)
	}
}

// TestTooManyTools: a server that lists without end is not heard.
func TestTooManyTools(t *testing.T) {
	list := func(n int) string {
		one := `{"name":"search","description":"Finds."}`
		return `{"server":"notes","tools":[` + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + `]}`
	}
	j := pinned(t)
	has(t, asks(t, j, list(maxTools+1)), "judge: the server lists too many tools")
	j = pinned(t)
	for range maxDefined / maxTools {
		has(t, asks(t, j, list(maxTools)), `{"tools":["search",`)
	}
	has(t, asks(t, j, list(1)), "judge: the server lists too many tools")
}
