// Package address compares mail addresses and entries of address lists, the same way
// everywhere in the gate: ASCII letters fold, and no other characters do.
//
// Invariant: two addresses are equal only if their bytes are, except that A-Z equal
// a-z. Caveat: it does not parse header fields; package identity does.
package address

import (
	"errors"
	"strings"
)

// ErrInvalid reports an address that is not plain.
var ErrInvalid = errors.New("not a plain address local@domain")

// Fold returns s with A-Z in lower case. Unlike strings.ToLower it leaves every
// other character alone: U+212A (Kelvin) is not k.
func Fold(s string) string {
	for i := 0; i < len(s); i++ {
		if 'A' <= s[i] && s[i] <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if 'A' <= b[i] && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

// Equal reports whether a and b are equal under Fold.
func Equal(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := 0; i < len(a); i++ {
		x, y := a[i], b[i]
		if x != y && (x|0x20 != y|0x20 || x|0x20 < 'a' || x|0x20 > 'z') {
			return false
		}
	}
	return true
}

// Split splits a plain address at its only @: an RFC 5322 dot-atom on the left, a host
// name of at least one label on the right, at most 254 bytes in all. Quoted local parts,
// domain literals and characters other than ASCII are ErrInvalid.
func Split(addr string) (local, domain string, err error) {
	at := strings.IndexByte(addr, '@')
	if at < 0 || len(addr) > 254 || !dotAtom(addr[:at]) || !Domain(addr[at+1:]) {
		return "", "", ErrInvalid
	}
	return addr[:at], addr[at+1:], nil
}

// dotAtom reports whether s is a dot-atom (RFC 5322 §3.2.3) of at most 64 bytes (RFC
// 5321 §4.5.3.1.1).
func dotAtom(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '.' {
			if i == 0 || i == len(s)-1 || s[i-1] == '.' {
				return false
			}
			continue
		}
		if !alnum(c) && strings.IndexByte("!#$%&'*+-/=?^_`{|}~", c) < 0 {
			return false
		}
	}
	return true
}

func alnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// Domain reports whether s is a host name: labels of letters, digits, hyphens and
// underscores, without a dot at the end.
func Domain(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	start := 0 // of the label
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '.':
			if !label(s[start:i]) {
				return false
			}
			start = i + 1
		case !alnum(c) && c != '-' && c != '_':
			return false
		}
	}
	return label(s[start:])
}

// label reports whether a label has the right length, and no hyphen at its ends.
func label(s string) bool {
	return s != "" && len(s) <= 63 && s[0] != '-' && s[len(s)-1] != '-'
}

// Listed reports whether list has addr, or "@" followed by its domain.
func Listed(list []string, addr string) bool {
	_, domain, err := Split(addr)
	if err != nil {
		return false
	}
	for _, entry := range list {
		if entry != "" && entry[0] == '@' && Equal(entry[1:], domain) || Equal(entry, addr) {
			return true
		}
	}
	return false
}

// relaying are the characters by which a local part names another host: %, !, and @ itself, in
// a route or in quotes, which some servers take for the same. The others are their wide and
// small forms, which a program may fold to them.
const relaying = "%!@\"\\<>,\uff05\ufe6a\uff01\ufe57\uff20\ufe6b\uff02\uff3c"

// Relayed reports whether a mail server may take a target for an address of another host
// than the one after its last @, as in thief%evil.test@example.com: Postfix, which is at home
// in example.com, relays that to thief@evil.test. A local part in quotes or in an encoded word
// counts as one that does. What has no @ is no address.
func Relayed(target string) bool {
	at := strings.LastIndexAny(target, "@\uff20\ufe6b")
	return at > 0 && (strings.ContainsAny(target[:at], relaying) || strings.Contains(target[:at], "=?"))
}

// Names reports whether a person's name is an address or what stands before its @, both without a +
// and what follows it there.
func Names(name, addr string) bool {
	addr = untagged(addr)
	local, _, _ := strings.Cut(addr, "@")
	return Equal(untagged(name), addr) || Equal(untagged(name), local)
}

func untagged(name string) string {
	local, domain, at := strings.Cut(name, "@")
	local, _, _ = strings.Cut(local, "+")
	if at {
		return local + "@" + domain
	}
	return local
}
