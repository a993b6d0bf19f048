package policy

import "testing"

// TestOutbound: what lists, grants and intervals go by is one form of each target.
func TestOutbound(t *testing.T) {
	p, err := Parse("p.toml", []byte("[outbound]\nscheme = \"telegram\"\nallow = [42, \"TEL:+49-30-90182000\", \"Bob@Partner.example\", \"@x.example\", \"https://H.example/a/*\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	o := &p.Outbound
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"42", "telegram:42", true}, {"Telegram:42", "42", true}, {"42", "-42", false}, {"42", "telegram:421", false},
		{"tel:+493090182000", "TEL:+49(30)9018-2000", true}, {"BOB@partner.example", "bob@Partner.EXAMPLE", true},
		{"https://H.example/a", "https://h.example/a", true}, {"https://h.example/a", "https://h.example/A", false},
		{"slack:C024BE7LH", "slack:c024be7lh", false}, {"#Ops", "#ops", false}, {"AbC=", "abc=", false}, {"#ops", "#ops", true},
		{"matrix:@Bob:x.example", "matrix:@bob:x.example", false}, {"", "42", false},
	} {
		if o.Same(c.a, c.b) != c.same || o.Same(c.b, c.a) != c.same {
			t.Errorf("Same(%q, %q) is not %v", c.a, c.b, c.same)
		}
		if c.same && !o.Close(c.a, c.b) {
			t.Errorf("%q and %q are one, and not close", c.a, c.b)
		}
		if c.same && o.Lists(c.a) != o.Lists(c.b) {
			t.Errorf("%q and %q are listed differently", c.a, c.b)
		}
	}
	if !o.Close("#Ops", "#ops") || o.Close("#ops", "#dev") || o.Close("42", "telegram:421") {
		t.Error("names that differ in case are close, and no others")
	}
	if p.Outbound.Scheme = ""; o.Same("42", "telegram:42") || o.Lists("42") {
		t.Error("without a scheme a bare number is only a name")
	}
}
