package decision

import (
	"testing"

	"pulse/lib/classify/identity"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// TestUnchecked: a listed sender who could not be checked is never rejected for that
// reason, and never allowed anything either. What the sender may not ask for even when
// proven is still rejected.
func TestUnchecked(t *testing.T) {
	p := policy.Default()
	p.Owners, p.AllowedExternal = []string{"me@example.com"}, []string{"friend@partner.example", "@supplier.example"}
	narrow := *p
	narrow.Matrix = map[terms.Trust]policy.Row{terms.OwnerVerifiedEmail: {}}
	for _, c := range []struct {
		policy *policy.Policy
		sender string
		reason identity.Reason
		want   Reason
	}{
		{p, "me@example.com", identity.SignatureTempError, Unchecked},
		{p, "ME@example.com", identity.DMARCRecordError, Unchecked},
		{p, "friend@partner.example", identity.SignatureTempError, Unchecked},
		{p, "anybody@supplier.example", identity.DMARCRecordError, Unchecked},
		{p, "friend@partner.example", identity.NotListed, Unchecked},
		{p, "stranger@evil.example", identity.NotListed, NotPermitted},
		{p, "stranger@evil.example", identity.SignatureTempError, NotPermitted},
		{p, "", identity.SignatureTempError, NotPermitted},
		{p, "me@example.com", identity.SignatureBad, NotPermitted},
		{p, "me@example.com", identity.Defective, NotPermitted},
		{p, "me@example.com", identity.DMARCFail, NotPermitted},
		{p, "me@example.com", identity.NoLongerListed, NotPermitted},
		{&narrow, "me@example.com", identity.SignatureTempError, NotPermitted},
	} {
		who := identity.Identity{Sender: c.sender, Trust: terms.Unknown, Reason: c.reason}
		d := Decide(Input{Identity: &who, Policy: c.policy})
		if d.Reason != c.want || (d.Outcome == terms.Review) != (c.want == Unchecked) || (d.Outcome == terms.Reject) == (c.want == Unchecked) {
			t.Errorf("%s, %s: %+v", c.sender, c.reason, d)
		}
		who.Automatic = true
		if d := Decide(Input{Identity: &who, Policy: c.policy}); d.Outcome != terms.Reject {
			t.Errorf("%s, automatic: %+v", c.sender, d)
		}
	}
}

// TestCheckedIsNotUnchecked: what strangers may ask for says nothing about a sender who
// could be checked and may not.
func TestCheckedIsNotUnchecked(t *testing.T) {
	p := policy.Default()
	p.Owners = []string{"me@example.com"}
	p.Matrix[terms.Unknown] = policy.Row{terms.ReadPrivate: terms.Review}
	who := identity.Identity{Sender: "me@example.com", Trust: terms.OwnerVerifiedEmail, Verified: true}
	if d := Decide(Input{Identity: &who, Policy: p, Action: terms.ReadPrivate}); d.Reason != NotPermitted {
		t.Errorf("%+v", d)
	}
}
