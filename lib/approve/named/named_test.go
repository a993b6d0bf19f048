package named

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pulse/lib/shared/address"
)

const bob = "bob@partner.example"

// owner and stranger are who wrote what the tests look for a target in.
func owner(text string) Source    { return Source{Author: "me@example.com", Known: true, Text: text} }
func stranger(text string) Source { return Source{Author: "news@shop.example", Text: text} }

func find(target string, sources ...Source) By { return Of(address.Equal, sources...).Find(target) }

const (
	nobody   = "nobody in this conversation names "
	strange  = "only the text of news@shop.example names "
	passedOn = "only what me@example.com passed on names "
)

func TestOwnWords(t *testing.T) {
	for text, named := range map[string]bool{
		"write to bob@partner.example, please":                                  true,
		"write to Bob@Partner.EXAMPLE.":                                         true,
		"Bob <bob@partner.example>":                                             true,
		"to:bob@partner.example;carol@partner.example":                          true,
		"mailto:bob@partner.example":                                            true,
		"it is 'bob@partner.example'?":                                          true,
		"**bob@partner.example**: hi":                                           true,
		"\u300cbob@partner.example":                                             false,
		"bob@partner.example.evil.test":                                         false,
		"bob@partner.examples":                                                  false,
		"jacob@partner.example":                                                 false,
		"x+bob@partner.example":                                                 false,
		"o'bob@partner.example":                                                 false,
		"thief%bob@partner.example":                                             false,
		"bob@partner.example@evil.test":                                         false,
		"bob@partner.example\u200b.evil.test":                                   false,
		"bob@partner.example\u00e9":                                             false,
		"b\u043eb@partner.example":                                              false,
		"bob@part\nner.example":                                                 false,
		"bob@part=\nner.example":                                                false,
		"bob at partner.example":                                                false,
		"> bob@partner.example":                                                 false,
		"see below\n\n-----Original\nbob@partner.example":                       false,
		"From: N <news@shop.example>\nbob@partner.example":                      false,
		"De\u00a0: N\nbob@partner.example":                                      false,
		"==== Forwarded message ====\nbob@partner.example":                      false,
		"On Mon, Nov 2, 2026 at 3:00 PM News wrote:\nbob@partner.example":       false,
		"Le lun. 2 nov. 2026 \u00e0 15:00, N a dit :\nbob@partner.example":      false,
		"N <n@x.example>\nwrote:\nbob@partner.example":                          false,
		"write to these 2:\nbob@partner.example":                                true,
		"*Von:* N\nbob@partner.example":                                         false,
		"N\n<news@shop.example> wrote:\nbob@partner.example":                    false,
		"see\n\u241d part 2 of the text, text/plain\nbob@partner.example":       false,
		"bob@partner.example\n> is what they wrote":                             true,
		strings.Repeat("_", 1<<16) + "bob@partner.example":                      false,
		"bob@partner.example" + strings.Repeat(".", 1<<16) + "b":                false,
		strings.Repeat("bob@partner.example.b ", 1<<10) + "bob@partner.example": true,
	} {
		by := find(bob, owner(text))
		if by.Known != named {
			t.Errorf("%.60q: named is %v", text, by.Known)
		}
		if by := find(bob, stranger(text)); by.Known {
			t.Errorf("%.60q of a stranger names it", text)
		}
	}
}

func TestWarning(t *testing.T) {
	beside := func(s Source, text string) Source {
		s.Beside = append(s.Beside, text)
		return s
	}
	for name, c := range map[string]struct {
		of   []Source
		want string
	}{
		"nothing":                       {nil, nobody},
		"a stranger":                    {[]Source{stranger("bob@partner.example")}, strange},
		"in another case":               {[]Source{stranger("BOB@PARTNER.EXAMPLE")}, strange},
		"over lines":                    {[]Source{stranger("bob@part\r\n ner.example")}, strange},
		"over a soft line break":        {[]Source{stranger("bob@part=\r\nner.example")}, strange},
		"with what is not seen":         {[]Source{stranger("bob\u200b@part\u00adner.example")}, strange},
		"in HTML that is hidden":        {[]Source{beside(stranger("hi"), "<p style=...>bob@partner.example")}, strange},
		"in a display name":             {[]Source{beside(stranger("hi"), `"bob@partner.example" <news@shop.example>`)}, strange},
		"like another":                  {[]Source{owner("b\u043eb@partner.example")}, nobody},
		"other letters":                 {[]Source{stranger("b\u043eb@partner.example")}, nobody},
		"passed on":                     {[]Source{owner("do it\n> bob@partner.example")}, passedOn},
		"attached":                      {[]Source{beside(owner("do it"), "bob@partner.example")}, passedOn},
		"by a stranger and in a header": {[]Source{stranger(bob), {Author: "x", Writers: []string{"BOB@partner.example"}}}, ""},
		"by a stranger, then an owner":  {[]Source{stranger(bob), owner(bob)}, ""},
		"by two": {[]Source{stranger(bob), {Author: "eve@x.example", Text: bob}},
			"only the text of news@shop.example and eve@x.example names "},
		"passed on, and by a stranger": {[]Source{owner("do it\n> bob@partner.example"), stranger(bob)},
			"only what me@example.com passed on, and the text of news@shop.example, names "},
	} {
		want := c.want
		if want == nobody {
			want += bob + ": its agent has it from elsewhere"
		} else if want != "" {
			want += bob
		}
		if by := find(bob, c.of...); by.Warning(bob) != want {
			t.Errorf("%s: %q, want %q", name, by.Warning(bob), want)
		}
	}
}

func TestOtherTargets(t *testing.T) {
	for _, c := range []struct {
		target, text string
		named        bool
	}{
		{"tel:+15550100", "ring +1 (555) 01-00 now", true},
		{"tel:+15550100", "ring +1 555 01000", false},
		{"tel:+15550100", "ring 0+15550100", false},
		{"telegram:-100123", "tell -100123", true},
		{"telegram:42", "wait 42 minutes", false},
		{"telegram:42", "tell telegram:42", true},
		{"slack:C024BE7LH", "post in C024BE7LH", true},
		{"slack:C024BE7LH", "post in c024be7lh", false},
		{"matrix:@ann:example.org", "ask @ann:example.org.", true},
		{"matrix:@ann:example.org", "ask @joann:example.org", false},
		{"ops", "tell ops", true},
		{"ops", "tell Ops", false},
		{"https://example.com/a", "read https://example.com/a.", true},
		{"https://example.com/a", "read https://example.com/a/ first", true},
		{"https://example.com/a", "read https://example.com/A", false},
		{"https://example.com/a", "read https://example.com/a?b=c", false},
		{"https://example.com/a", "read Example.com, all of it", true},
		{"https://example.com/a", "read https://example.com/", true},
		{"https://example.com/a", "read https://example.com/b", false},
		{"https://example.com/a", "read example.com.evil.test", false},
		{"https://evil.test/?q=example.com", "read example.com", false},
		{"https://example.com@evil.test/", "read example.com", false},
		{"https://example.com:444/a", "read example.com", false},
	} {
		by := find(c.target, owner(c.text))
		if by.Known != c.named {
			t.Errorf("%q names %q: %v", c.text, c.target, by.Known)
		}
	}
}

// FuzzFind looks for the property that makes a mark worth something: whatever a stranger writes,
// and wherever, names nothing, and an address that does not stand in an owner's text is not
// named by it.
func FuzzFind(f *testing.F) {
	f.Add(bob, "write to bob@partner.example", "bob@partner.example")
	f.Add("https://example.com/a", "read example.com", "https://example.com/a")
	f.Add("tel:+15550100", "+1 555 0100", "")
	f.Fuzz(func(t *testing.T, target, text, other string) {
		s := stranger(text)
		s.Beside = []string{other}
		if by := find(target, s); by.Known {
			t.Fatal("a stranger names it")
		}
		by := find(target, owner(text), s)
		if (by.Warning(target) == "") != by.Known {
			t.Fatalf("known is %v, and %q", by.Known, by.Warning(target))
		}
		if _, _, err := address.Split(target); err == nil && by.Known && utf8.ValidString(text) &&
			!strings.Contains(address.Fold(text), address.Fold(target)) {
			t.Fatalf("%q does not have %q", text, target)
		}
		if by := find(target, owner("> "+strings.ReplaceAll(text, "\n", "\n> "))); by.Known {
			t.Fatalf("what is quoted in %q names %q", text, target)
		}
	})
}
