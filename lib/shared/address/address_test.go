package address

import (
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	for addr, want := range map[string]bool{
		"me@example.com":                         true,
		"a.b+c=d@sub.example.com":                true,
		"x@localhost":                            true,
		"":                                       false,
		"me":                                     false,
		"@example.com":                           false,
		"me@":                                    false,
		"a@b@c":                                  false,
		".a@example.com":                         false,
		"a..b@example.com":                       false,
		"a.@example.com":                         false,
		`"a b"@example.com`:                      false,
		"a@[192.0.2.1]":                          false,
		"a@example.com.":                         false,
		"a@-x.example":                           false,
		"a b@example.com":                        false,
		"m\u00e9@example.com":                    false,
		"me@ex\u0430mple.com":                    false,
		"a\x00@example.com":                      false,
		strings.Repeat("a", 65) + "@example.com": false,
		"a@" + strings.Repeat("a", 64) + ".com":  false,
		"a@" + strings.Repeat("a.", 130) + "com": false,
		strings.Repeat("a", 64) + "@example.com": true,
		"a@" + strings.Repeat("b", 63) + ".com":  true,
		"a@" + strings.Repeat("bbb.", 61) + "com": true,
	} {
		if _, _, err := Split(addr); (err == nil) != want {
			t.Errorf("Split(%q): %v, want ok=%v", addr, err, want)
		}
	}
}

func TestEqualFoldsASCIIOnly(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"Me@Example.COM", "mE@eXAMPLE.com", true},
		{"k", "\u212a", false},
		{"s", "\u017f", false},
		{"@", "`", false},
		{"[", "{", false},
		{"a", "ab", false},
	} {
		if got := Equal(c.a, c.b); got != c.want {
			t.Errorf("Equal(%q, %q) = %v", c.a, c.b, got)
		}
		if got := Fold(c.a) == Fold(c.b); got != c.want {
			t.Errorf("Fold(%q) == Fold(%q) is %v", c.a, c.b, got)
		}
	}
}

func TestListed(t *testing.T) {
	list := []string{"Friend@partner.example", "@supplier.example"}
	for addr, want := range map[string]bool{
		"friend@PARTNER.example":     true,
		"other@partner.example":      false,
		"any@supplier.example":       true,
		"any@sub.supplier.example":   false,
		"any@xsupplier.example":      false,
		"@supplier.example":          false,
		"a@b@supplier.example":       false,
		"friend@partner.example ":    false,
		"friend@partner.example\x00": false,
	} {
		if got := Listed(list, addr); got != want {
			t.Errorf("Listed(%q) = %v", addr, got)
		}
	}
}

func TestRelayed(t *testing.T) {
	for target, want := range map[string]bool{
		"thief%evil.test@example.com":               true,
		"evil.test!thief@example.com":               true,
		`"thief%evil.test"@example.com`:             true,
		`"thief evil"@example.com`:                  true,
		`thief\%evil.test@example.com`:              true,
		"thief@evil.test@example.com":               true,
		"@relay.test:thief@example.com":             true,
		"<@a.test,@b.test:c@example.com>":           true,
		"thief\uff05evil.test@example.com":          true,
		"evil.test\uff01thief@example.com":          true,
		"thief\ufe6aevil.test@example.com":          true,
		"thief%evil.test\uff20example.com":          true,
		"thief\uff20evil.test@example.com":          true,
		"=?utf-8?q?thief=25evil.test?=@example.com": true,
		"thief%25evil.test@example.com":             true,
		"Bob <bob@example.com>":                     true,
		"bob@example.com":                           false,
		"bob+a=b.c/d@example.com":                   false,
		"@example.com":                              false,
		"#general":                                  false,
		"50% off!":                                  false,
		"tel:+15550100":                             false,
		"https://example.com/a%20b":                 false,
	} {
		if got := Relayed(target); got != want {
			t.Errorf("Relayed(%q) = %v", target, got)
		}
	}
}
