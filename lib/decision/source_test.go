package decision

import (
	"testing"

	"pulse/lib/identity"
	"pulse/lib/policy"
	"pulse/lib/request"
	"pulse/lib/terms"
)

// platform.actions bounds what may be asked for, however it is asked, and is asked
// again before each start. It says nothing of effects.
func TestSourceActions(t *testing.T) {
	p := policy.Default()
	p.Platforms = []policy.Platform{
		{Source: "webhook:/a", Trust: terms.OwnerVerifiedEmail, Actions: []terms.Action{terms.ReadPublic}},
		{Source: "webhook:/b", Trust: terms.OwnerVerifiedEmail},
	}
	p.ActionRules = []policy.ActionRule{{Source: "webhook:*", Action: terms.WriteLocal}}
	who := &identity.Identity{Trust: terms.OwnerVerifiedEmail}
	read := &request.Request{Action: terms.ReadPublic}
	for _, c := range []struct {
		source  string
		request *request.Request
		want    Reason
	}{
		{"webhook:/a", nil, SourceNotAllowed},
		{"webhook:/a", read, Allowed},
		{"webhook:/a", &request.Request{Action: terms.Destructive}, SourceNotAllowed},
		{"webhook:/b", nil, Allowed},
		{"webhook:/b", &request.Request{Action: terms.Destructive}, NeedsConfirm},
		{"webhook:/a/", nil, Allowed}, // another source: its trust is another matter
	} {
		d := Decide(Input{Identity: who, Request: c.request, Source: c.source, Policy: p})
		if d.Reason != c.want || (d.Outcome == terms.Reject) != (c.want == SourceNotAllowed) {
			t.Errorf("%s %+v: %+v, want %s", c.source, c.request, d, c.want)
		}
	}
	if d := Again(Input{Identity: who, Source: "webhook:/a", Policy: p}, terms.WriteLocal); d.Outcome != terms.Reject {
		t.Errorf("a start that the policy no longer lists: %+v", d)
	}
}
