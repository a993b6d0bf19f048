package message

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pulse/lib/shared/envelope"
)

func TestThread(t *testing.T) {
	many := ""
	for i := range 70 {
		many += fmt.Sprintf(" <%d@x>\r\n", i)
	}
	for _, tt := range []struct {
		name, header string
		in, refs     []string
	}{
		{"none", "Subject: Re: x\r\n", nil, nil},
		{"one", "In-Reply-To: <a@b>\r\n", []string{"<a@b>"}, nil},
		{"both", "In-Reply-To: <c@d>\r\nReferences: <a@b>\r\n\t<c@d>\r\n", []string{"<c@d>"}, []string{"<a@b>", "<c@d>"}},
		{"a name in other letters, a blank before the colon", "IN-REPLY-TO : <a@b>\r\n", []string{"<a@b>"}, nil},
		{"no blank between", "References: <a@b><c@d>,<e@f>\r\n", nil, []string{"<a@b>", "<c@d>", "<e@f>"}},
		{"words of the obsolete syntax", "In-Reply-To: Your message of Sat <a@b> thanks\r\n", []string{"<a@b>"}, nil},
		{"in a comment", "In-Reply-To: (a (<x@y>) \\) <x@y>) <a@b>\r\n", []string{"<a@b>"}, nil},
		{"in a quoted string", "In-Reply-To: \"<x@y> \\\" <x@y>\" <a@b>\r\n", []string{"<a@b>"}, nil},
		{"a comment that is never closed", "In-Reply-To: <a@b> ( <x@y>\r\n", []string{"<a@b>"}, nil},
		{"a quoted string that is never closed", "In-Reply-To: <a@b> \" <x@y>\r\n", []string{"<a@b>"}, nil},
		{"a field that is there twice", "In-Reply-To: <a@b>\r\nReferences: <c@d>\r\nin-reply-to: <e@f>\r\n", nil, []string{"<c@d>"}},
		{"no @", "In-Reply-To: <ab>\r\n", nil, nil},
		{"nothing before it", "In-Reply-To: <@b>\r\n", nil, nil},
		{"nothing after it", "In-Reply-To: <a@>\r\n", nil, nil},
		{"empty", "In-Reply-To: <>\r\nReferences:\r\n", nil, nil},
		{"never closed", "In-Reply-To: <a@b\r\n", nil, nil},
		{"never closed, then another", "In-Reply-To: <x@y <a@b>\r\n", []string{"<a@b>"}, nil},
		{"never opened", "In-Reply-To: x@y> <a@b>\r\n", []string{"<a@b>"}, nil},
		{"folded inside", "In-Reply-To: <a@\r\n b> <c@d>\r\n", []string{"<c@d>"}, nil},
		{"a control", "In-Reply-To: <a\x00@b> <a@b\x7f>\r\n", nil, nil},
		{"a bare CR", "In-Reply-To: <a@b\rBcc: x>\r\n", nil, nil},
		{"letters beyond ASCII", "In-Reply-To: <\u00e4@b> <a@\u202eb> <\xff@b>\r\n", nil, nil},
		{"no address", "In-Reply-To: <a@[127.0.0.1]> <$!'{}|~#\"\\(@x>\r\n", []string{"<a@[127.0.0.1]>", "<$!'{}|~#\"\\(@x>"}, nil},
		{"as long as it may be", "In-Reply-To: <a@" + strings.Repeat("b", 496) + ">\r\n", []string{"<a@" + strings.Repeat("b", 496) + ">"}, nil},
		{"too long", "In-Reply-To: <a@" + strings.Repeat("b", 497) + ">\r\n", nil, nil},
		{"in the body", "Subject: x\r\n\r\nIn-Reply-To: <a@b>\r\n", nil, nil},
	} {
		for _, scope := range []envelope.Scope{envelope.Headers, envelope.Full} {
			m := parse(tt.header, scope)
			if tt.in == nil && tt.refs == nil {
				if m.Thread != nil {
					t.Errorf("%s: %+v", tt.name, m.Thread)
				}
				continue
			}
			if m.Thread == nil || !slices.Equal(m.Thread.InReplyTo, tt.in) || !slices.Equal(m.Thread.References, tt.refs) {
				t.Errorf("%s: %+v", tt.name, m.Thread)
			}
		}
	}
	m := parse("In-Reply-To:"+many+"References:"+many, envelope.Headers)
	if got := m.Thread.References; len(got) != maxReferences || got[0] != "<0@x>" || got[1] != "<21@x>" || got[maxReferences-1] != "<69@x>" {
		t.Errorf("%d: %q", len(got), got)
	}
	if got := m.Thread.InReplyTo; len(got) != maxInReplyTo || got[0] != "<0@x>" || got[maxInReplyTo-1] != "<69@x>" {
		t.Errorf("%d: %q", len(got), got)
	}
}

// FuzzThread: any value gives a bounded list of plain ids, each of which stands in it.
// Those of a list of plain ids are all there.
func FuzzThread(f *testing.F) {
	for _, s := range []string{"<a@b> <c@d>", "(<a@b>", "\"<a@b>\\", "<<a@b>>", "<a@b\r\n c>", "(((((", "<a@b@c>", "<a(b@c>)<d@e>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		fields := []envelope.Field{{Name: "References", Value: value}}
		ids := messageIDs(fields, "references", maxReferences)
		if len(ids) > maxReferences {
			t.Fatalf("%d ids", len(ids))
		}
		for _, id := range ids {
			if !envelope.PlainID(id) || !strings.Contains(unfold(value), id) || strings.ContainsAny(id, " \t\r\n\x00") {
				t.Fatalf("%q of %q", id, value)
			}
		}
		again := messageIDs([]envelope.Field{{Name: "references", Value: strings.Join(ids, "\r\n ")}}, "references", maxReferences)
		if !slices.Equal(again, ids) {
			t.Fatalf("%q, then %q", ids, again)
		}
	})
}
