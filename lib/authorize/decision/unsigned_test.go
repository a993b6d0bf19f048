package decision

import (
	"fmt"
	"strings"
	"testing"

	"pulse/lib/classify/identity"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/terms"
)

// unsigned is an owner's identity in which fields are unsigned.
func unsigned(t *testing.T, fields ...string) *identity.Identity {
	t.Helper()
	list := ""
	if len(fields) > 0 {
		list = fmt.Sprintf(`,"unsigned":["%s"]`, strings.Join(fields, `","`))
	}
	id, err := identity.Decode(record.Value(`{"sender":"me@example.com","trust":"owner_verified_email","verified":true,"stale":false,"automatic":false` + list + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return &id
}

// If the policy relies on a field that no signature covers, nothing is done unseen, nor
// on a yes that does not know about the field.
func TestUnsigned(t *testing.T) {
	plain := func(p *policy.Policy) { p.MaxAge = 0 }
	for name, c := range map[string]struct {
		policy func(*policy.Policy)
		fields []string
		want   Reason // for read_public
	}{
		"nothing":                   {plain, nil, allowed},
		"no rule relies on it":      {plain, []string{"To", "Cc", "Date", "Message-ID"}, allowed},
		"every worker reads it":     {plain, []string{"Subject"}, FieldUnsigned},
		"and it is accepted":        {func(p *policy.Policy) { plain(p); p.AcceptUnsigned = []string{"Subject"} }, []string{"Subject"}, allowed},
		"max_age":                   {func(*policy.Policy) {}, []string{"Date"}, FieldUnsigned},
		"max_age, and To":           {func(*policy.Policy) {}, []string{"To"}, allowed},
		"max_age, accepted":         {func(p *policy.Policy) { p.AcceptUnsigned = []string{"Date"} }, []string{"Date"}, allowed},
		"max_age, another accepted": {func(p *policy.Policy) { p.AcceptUnsigned = []string{"To", "Cc"} }, []string{"To", "Date"}, FieldUnsigned},
		"recipients":                {func(p *policy.Policy) { plain(p); p.Recipients = []string{"agent@example.com"} }, []string{"To"}, FieldUnsigned},
		"recipients, Cc":            {func(p *policy.Policy) { plain(p); p.Recipients = []string{"agent@example.com"} }, []string{"Cc"}, FieldUnsigned},
		"recipients, Date":          {func(p *policy.Policy) { plain(p); p.Recipients = []string{"agent@example.com"} }, []string{"Date", "Message-ID"}, allowed},
		"recipients, one accepted":  {func(p *policy.Policy) { plain(p); p.Recipients, p.AcceptUnsigned = []string{"a@b.c"}, []string{"To"} }, []string{"To", "Cc"}, FieldUnsigned},
		"recipients, both accepted": {func(p *policy.Policy) {
			plain(p)
			p.Recipients, p.AcceptUnsigned = []string{"a@b.c"}, []string{"Cc", "To"}
		}, []string{"To", "Cc"}, allowed},
		"an action by recipient": {func(p *policy.Policy) {
			plain(p)
			p.ActionRules = []policy.ActionRule{{To: "agent+send@example.com", Action: terms.ExternalSend}}
		}, []string{"To"}, FieldUnsigned},
		"an action by source": {func(p *policy.Policy) {
			plain(p)
			p.ActionRules = []policy.ActionRule{{Source: "mbox:*", Action: terms.ReadPublic}}
		}, []string{"To"}, allowed},
		"an action by both, further": {func(p *policy.Policy) {
			plain(p)
			p.ActionRules = []policy.ActionRule{{Source: "x", Action: terms.ReadPublic}, {To: "a@b.c", Source: "y", Action: terms.ReadPublic}}
		}, []string{"Cc"}, FieldUnsigned},
	} {
		p := policy.Default()
		c.policy(p)
		in := Input{Identity: unsigned(t, c.fields...), Policy: p, Action: terms.ReadPublic}
		d := Decide(in)
		if d.Reason != c.want || (d.Outcome == terms.Review) != (c.want == FieldUnsigned) {
			t.Errorf("%s: %+v", name, d)
		}
		for action, without := range map[terms.Action]terms.Outcome{terms.ExternalSend: terms.Confirm, terms.ReadPrivate: terms.Reject, terms.WriteLocal: terms.Allow} {
			want := without
			if c.want == FieldUnsigned && without != terms.Reject {
				want = terms.Review
			}
			if in.Action = action; Decide(in).Outcome != want {
				t.Errorf("%s: %s: %+v", name, action, Decide(in))
			}
		}
		if in.Identity.Via, in.Action = identity.ViaAgent, terms.WriteLocal; Decide(in).Reason == FieldUnsigned {
			t.Errorf("%s: an effect has no fields", name)
		}
	}
}

func TestUnsignedIsAClosedList(t *testing.T) {
	for _, v := range []string{`["to"]`, `["From"]`, `["To","Reply-To"]`, `"To"`, `[1]`, `[""]`} {
		if _, err := identity.Decode(record.Value(`{"trust":"unknown","unsigned":` + v + `}`)); err == nil {
			t.Errorf("%s is accepted", v)
		}
	}
}

// Where no signature covers how a mail reads, nothing is done unseen, whatever the policy.
func TestTextUnproven(t *testing.T) {
	p := policy.Default()
	p.MaxAge, p.AcceptUnsigned = 0, []string{"To", "Cc", "Subject", "Date", "Message-ID"}
	for action, want := range map[terms.Action]terms.Outcome{
		terms.ReadPublic: terms.Review, terms.WriteLocal: terms.Review, terms.ExternalSend: terms.Review, terms.ReadPrivate: terms.Reject,
	} {
		id := unsigned(t, "Content-Transfer-Encoding")
		d := Decide(Input{Identity: id, Policy: p, Action: action})
		if d.Outcome != want || (d.Reason == TextUnproven) != (want == terms.Review) {
			t.Errorf("%s: %+v", action, d)
		}
		id.Via = identity.ViaSubmit
		if d := Decide(Input{Identity: id, Policy: p, Action: action}); d.Reason == TextUnproven {
			t.Errorf("%s: a request that no mail made has no text", action)
		}
	}
}
