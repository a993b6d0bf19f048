package identity

import (
	"slices"
	"strings"

	"pulse/lib/shared/address"
)

// posted refuses what a user of the receiving server submitted (RFC 3848). A server
// that checks mail from outside often neither writes verdicts on submitted mail nor
// removes those it finds there. So that user may have written the verdict, and the
// pinned name in it.
//
// It reads the topmost Received fields for as long as the receiver's own hosts wrote
// them. A sender may forge more of them below, which only harms that sender.
func (e *evidence) posted() finding {
	own := hosts{own: e.hosts}
	var memory [4]string
	free := memory[:] // for the hosts of the topmost field
	for i := range e.m.Headers {
		f := &e.m.Headers[i]
		if called(f.Name, "authentication-results") {
			own.below = true
		}
		if !called(f.Name, "received") {
			continue
		}
		by, login := readReceived(free[:0], f.Value)
		if !own.begun {
			own.begun, own.top, free = true, by, nil
		} else if !own.wrote(by) {
			break
		}
		if login != "" {
			return finding{submittedWithLogin, login}
		}
	}
	return finding{}
}

// hosts tells the receiver's hosts from others.
type hosts struct {
	own   []string // names and domains of the receiver
	top   []string // hosts in the topmost Received field
	begun bool     // the topmost Received field was seen
	below bool     // the verdict was seen: what follows is below it
}

// wrote reports whether the receiver wrote a Received field, which names the hosts by.
// The known hosts, and names below an authserv-id, always count. Above the verdict so
// do a host in the same domain, such as its submission server, and a field that names
// no host. Below the verdict these don't, because a sender in the same domain has
// servers too.
func (h *hosts) wrote(by []string) bool {
	near := func(host string) bool {
		is := func(t string) bool { return beside(t, host) }
		return slices.ContainsFunc(h.own, is) || slices.ContainsFunc(h.top, is)
	}
	return slices.ContainsFunc(by, func(host string) bool {
		return h.same(host) || loopback(host) || !h.below && near(host)
	}) || !h.below && len(by) == 0
}

// same reports whether a host is known, or lies below a name of the receiver.
func (h *hosts) same(host string) bool {
	return slices.ContainsFunc(h.own, func(name string) bool { return within(host, name) }) ||
		slices.ContainsFunc(h.top, func(t string) bool { return address.Equal(t, host) })
}

// beside reports whether two hosts belong to one domain of at least two labels.
func beside(a, b string) bool {
	_, domain, _ := strings.Cut(a, ".")
	_, other, _ := strings.Cut(b, ".")
	return nearby(a, b) || strings.Contains(domain, ".") && address.Equal(domain, other)
}

func loopback(host string) bool {
	return address.Equal(host, "localhost") || strings.HasPrefix(host, "127.") || host == "::1" || address.Equal(host, "ipv6:::1")
}

// readReceived appends the hosts that a Received field (RFC 5321 §4.4) seems to be by.
// login holds the words that say that a user logged in, or called a program on the
// server itself; it is empty if no word does. Comments count like the rest: the field
// also holds what the client says in HELO, and that must not hide a login.
func readReceived(by []string, value string) (_ []string, login string) {
	before, last, with := "", "", false
	for word, rest := nextWord(value); word != ""; word, rest = nextWord(rest) {
		afterBy, afterWith, afterFrom := false, false, false
		switch len(last) {
		case 2:
			afterBy = address.Equal(last, "by")
		case 4:
			afterWith, afterFrom = address.Equal(last, "with"), address.Equal(last, "from")
		}
		with = with || afterWith
		switch {
		case afterBy:
			if !address.Equal(before, "invoked") { // "(qmail 1 invoked by uid 89)" names no host
				by = append(by, strings.TrimRight(word, "."))
			}
		case afterWith && local(word), afterFrom && address.Equal(word, "userid"):
			login = last + " " + word
		case with && loginProtocol(word): // "with (AES256-SHA encrypted) ESMTPSA" (qmail)
			login = "with " + word
		case loginWord(word):
			login = word
		}
		before, last = last, word
	}
	return by, login
}

// nextWord returns the first of what can be a host name, an address or a keyword, and what
// follows it. It returns nothing if there is no more.
func nextWord(s string) (word, rest string) {
	i := 0
	for i < len(s) && !inWord[s[i]] {
		i++
	}
	start := i
	for i < len(s) && inWord[s[i]] {
		i++
	}
	return s[start:i], s[i:]
}

// inWord has the bytes of words.
var inWord = func() (list [256]bool) {
	for c := range byte(128) {
		list[c] = 'a' <= c|0x20 && c|0x20 <= 'z' || '-' <= c && c <= ':' || c == '_' // - . / 0 to 9 :
	}
	return list
}()

func hasPrefix(s, prefix string) bool {
	return len(s) >= len(prefix) && address.Equal(s[:len(prefix)], prefix)
}

func hasSuffix(s, suffix string) bool {
	return len(s) >= len(suffix) && address.Equal(s[len(s)-len(suffix):], suffix)
}

// loginProtocol reports whether a word is a protocol with a login: ESMTPA, ESMTPSA,
// UTF8SMTPA and the like (RFC 3848, RFC 6531 §4.3). LMTPA is not one: users do not
// submit by LMTP, and Cyrus writes it on all mail, because its MTA logs in to deliver.
func loginProtocol(w string) bool {
	if end := w[len(w)-1] | 0x20; end != 'a' && end != 'p' {
		return false
	}
	return (hasSuffix(w, "mtpa") || hasSuffix(w, "mtpsa")) && !strings.Contains(address.Fold(w), "lmtp") || address.Equal(w, "asmtp")
}

// loginWord reports whether a word says by itself that a user logged in.
func loginWord(w string) bool {
	switch w[0] | 0x20 {
	case 'a':
		if hasPrefix(w, "authenticated") || address.Equal(w, "auth:") {
			return true
		}
	case 's':
		if address.Equal(w, "smtp-auth") {
			return true
		}
	}
	return w[len(w)-1]|0x20 == 't' && hasSuffix(w, "/submit")
}

// local reports whether the word after "with" stands for a pipe on the server.
func local(w string) bool { return address.Equal(w, "local") || hasPrefix(w, "local-") }
