package address

import (
	"errors"
	"strings"
	"testing"
)

// TestTarget: two spellings of one target have one form, and what the table of pulse-policy(5)
// does not name has none.
func TestTarget(t *testing.T) {
	for _, c := range []struct {
		target, want string // want empty: ErrForm
	}{
		{"Bob@Partner.EXAMPLE", "bob@partner.example"},
		{"tel:+4930901820", "tel:+4930901820"}, {"TEL:+49-30-90.18(20)", "tel:+4930901820"},
		{"tel:4930901820", ""}, {"tel:+49(0)30901820", ""}, {"tel:+49(030)901820", "tel:+49030901820"}, {"tel:+49 30901820", ""}, {"tel:+030901820", ""}, {"tel:+49*", ""}, {"tel:+493090", ""},
		{"tel:+1234567890123456", ""}, {"tel:+4930901820;ext=1", ""}, {"tel: +4930901820", ""}, {" tel:+4930901820", ""},
		{"tel:+４9309018201", ""}, {"tel:++4930901820", ""}, {"tel:", ""},
		{"telegram:42", "telegram:42"}, {"Telegram:-100123", "telegram:-100123"}, {"telegram:042", ""}, {"telegram:+42", ""},
		{"telegram:0", ""}, {"telegram:-0", ""}, {"telegram:@bob", ""}, {"telegram:4.2e1", ""}, {"telegram:9223372036854775808", ""},
		{"slack:C024BE7LH", "slack:C024BE7LH"}, {"SLACK:U1A", "slack:U1A"}, {"slack:c024be7lh", ""}, {"slack:#ops", ""}, {"slack:T024BE7LH", ""},
		{"matrix:@bob:example.org", "matrix:@bob:example.org"}, {"Matrix:!Ab_c:example.org:8448", "matrix:!Ab_c:example.org:8448"},
		{"matrix:!31hneApxJ_1o-63DmFrpeqnkFfWppnzWso1JvH3ogLM", "matrix:!31hneApxJ_1o-63DmFrpeqnkFfWppnzWso1JvH3ogLM"},
		{"matrix:@Bob:example.org", ""}, {"matrix:@bob:Example.org", ""}, {"matrix:@bob", ""}, {"matrix:#ops:example.org", ""},
		{"matrix:@bob:example.org:0443", ""}, {"matrix:@b%6fb:example.org", ""}, {"matrix:", ""},
		{"https://hooks.example.com/T0/B0", "https://hooks.example.com/T0/B0"}, {"HTTPS://Hooks.Example.COM/T0", "https://hooks.example.com/T0"},
		{"https://hooks.example.com:8443/", "https://hooks.example.com:8443/"}, {"https://xn--mnchen-3ya.example/a", "https://xn--mnchen-3ya.example/a"},
		{"https://hooks.example.com/.well-known/a..b", "https://hooks.example.com/.well-known/a..b"},
		{"https://hooks.example.com", ""}, {"https://hooks.example.com:443/a", ""}, {"https://hooks.example.com:08443/a", ""},
		{"https://hooks.example.com/a//b", ""}, {"https://hooks.example.com/a/../b", ""}, {"https://hooks.example.com/./b", ""},
		{"https://hooks.example.com/a%2fb", ""}, {"https://hooks.example.com/%41", ""}, {"https://hooks.example.com/a?b", ""},
		{"https://hooks.example.com/a#b", ""}, {"https://hooks.example.com/a;x=1", ""}, {`https://hooks.example.com\a/`, ""},
		{"https://me@hooks.example.com/a", ""}, {"https://hooks.example.com./a", ""}, {"https://127.0.0.1/a", ""}, {"https://0x7f.1/a", ""},
		{"https://2130706433/a", ""}, {"https://[::1]/a", ""}, {"https://intranet/a", ""}, {"https://münchen.example/a", ""},
		{"https:/hooks.example.com/a", ""}, {"https://hooks.example.com/*", ""}, {"https://hooks.example.com/a ", ""},
		{"https://hooks.example.com/" + strings.Repeat("a", 300), ""},
		{"42", "telegram:42"}, {"-100123", "telegram:-100123"}, {"042", ""}, {"+42", ""}, {"0", ""}, {" 42", ""}, {"42 ", ""},
	} {
		got, err := Target(c.target, Telegram)
		if c.want == "" && !errors.Is(err, ErrForm) || c.want != "" && (err != nil || got != c.want) {
			t.Errorf("%q: %q, %v, want %q", c.target, got, err, c.want)
		}
	}
	for _, name := range []string{"42", "042", "#ops", "ops", "http://a.example/", "mailto:bob@x.example", "@x.example", "", "Bob <bob@x.example>"} {
		if got, err := Target(name, ""); !errors.Is(err, ErrName) {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
}

func TestLets(t *testing.T) {
	for _, c := range []struct {
		entry, target string
		want          bool
	}{
		{"@x.example", "bob@x.example", true}, {"Bob@X.example", "bob@x.example", true}, {"@x.example", "matrix:@bob:x.example", false},
		{"tel:+4930901820", "tel:+4930901820", true}, {"tel:+4930901820", "tel:+49309018201", false},
		{"slack:C024BE7LH", "slack:C024BE7LH", true}, {"telegram:42", "telegram:421", false}, {"telegram:42", "telegram:-42", false},
		{"https://h.example/a/*", "https://h.example/a/b", true}, {"https://h.example/a/*", "https://h.example/a/b/c", true},
		{"https://h.example/a/*", "https://h.example/a/", false}, {"https://h.example/a/*", "https://h.example/a", false},
		{"https://h.example/a/*", "https://h.example/ab", false}, {"https://h.example/a/*", "https://h.example:8443/a/b", false},
		{"https://h.example/a", "https://h.example/A", false}, {"https://h.example/*", "https://h.example.evil.test/a", false},
	} {
		if got := Lets(c.entry, c.target); got != c.want {
			t.Errorf("Lets(%q, %q) = %v", c.entry, c.target, got)
		}
	}
}

func TestEntry(t *testing.T) {
	for entry, want := range map[string]string{
		"HTTPS://H.example/a/*": "https://h.example/a/*", "https://h.example/*": "https://h.example/*", "https://h.example/a": "https://h.example/a",
		"https://h.example/a*": "", "https://h.example/*/b": "", "https://*/a": "", "https://*.example/*": "", "https://h.example/a/*/*": "",
		"https://h.example/../*": "", "https://h.example//*": "", "https://h.example*": "",
		"tel:+49*": "", "tel:*": "", "tel:/*": "", "telegram:*": "", "telegram:42/*": "", "slack:*": "", "slack:C024BE7LH/*": "", "matrix:*": "",
		"matrix:@*:h.example": "", "matrix:!a:h.example/*": "", "42": "telegram:42", "4*": "",
	} {
		if got, err := Entry(entry, Telegram); got != want && want != "" || (err == nil) != (want != "") {
			t.Errorf("Entry(%q) = %q, %v, want %q", entry, got, err, want)
		}
	}
}

// FuzzTarget: a form is its own form, whatever a bare number is, and an entry lets no target
// through that it does not name: every byte after what the entry says is one of a path.
func FuzzTarget(f *testing.F) {
	for _, s := range []string{
		"bob@x.example", "42", "tel:+49-30-901820", "telegram:-1", "slack:C024BE7LH", "matrix:!a:x.example", "https://X.example:1/a/b", " tel:+4930901820", "tel:+49*",
	} {
		f.Add(s, "https://x.example/a/*")
		f.Add(s, s)
	}
	f.Add("bob@x.example", "bob@x.exampLe")
	f.Fuzz(func(t *testing.T, target, entry string) {
		for _, numbers := range []string{"", Telegram} {
			canonical, err := Target(target, numbers)
			if err != nil {
				continue
			}
			for _, again := range []string{"", Telegram} {
				if twice, err := Target(canonical, again); err != nil || twice != canonical {
					t.Errorf("%q: %q, and of that %q, %v", target, canonical, twice, err)
				}
			}
			if strings.ContainsAny(canonical, " *%?#\\\"<>\t\n") && !strings.Contains(canonical, "@") {
				t.Errorf("%q: %q", target, canonical)
			}
			list, err := Entry(entry, numbers)
			if err != nil || !Lets(list, canonical) || list == canonical {
				continue
			}
			if s, _ := schemeOf(canonical); s == nil && Fold(list) == canonical { // an address, as it was written
				continue
			}
			rest, ok := strings.CutPrefix(canonical, strings.TrimSuffix(list, "*"))
			if !ok || !strings.HasSuffix(list, "/*") || strings.ContainsAny(rest, "@%") || strings.Contains("/"+rest+"/", "/../") || strings.Contains("/"+rest, "//") {
				t.Errorf("%q lets %q through as %q", entry, target, canonical)
			}
		}
	})
}
