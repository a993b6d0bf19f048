package decision

import (
	"testing"

	"pulse/lib/classify/identity"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

// platform.actions bounds what may be asked for, in whatever form. It is checked again
// before each start, and does not apply to effects.
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
		{"webhook:/a", nil, sourceNotAllowed},
		{"webhook:/a", read, allowed},
		{"webhook:/a", &request.Request{Action: terms.Destructive}, sourceNotAllowed},
		{"webhook:/b", nil, allowed},
		{"webhook:/b", &request.Request{Action: terms.Destructive}, NeedsConfirm},
		{"webhook:/a/", nil, allowed}, // another source, to which the platform does not apply
	} {
		d := Decide(Input{Identity: who, Request: c.request, Source: c.source, Policy: p})
		if d.Reason != c.want || (d.Outcome == terms.Reject) != (c.want == sourceNotAllowed) {
			t.Errorf("%s %+v: %+v, want %s", c.source, c.request, d, c.want)
		}
	}
	if d := Again(Input{Identity: who, Source: "webhook:/a", Policy: p}, terms.WriteLocal); d.Outcome != terms.Reject {
		t.Errorf("a start that the policy no longer lists: %+v", d)
	}
}
