package jmap

import (
	"net/url"
	"strings"

	"pulse/lib/fetch/https"
	"pulse/lib/fetch/source"
	"pulse/lib/shared/fault"
)

// Address says where a mailbox is: jmap:https://user@host[:port][/path][#MAILBOX], the URL of the
// session resource (RFC 8620 §2), the account's user, and the mailbox in it.
type Address struct {
	User    string
	Host    string // host:port
	Mailbox string // INBOX, or names with / between them
	session *url.URL
}

const addressHint = "pulse-fetch jmap:https://you%40example.com@jmap.example.com/#INBOX"

// wellKnown is where the session resource is if the URL has no path (RFC 8620 §2.2).
const wellKnown = "/.well-known/jmap"

// ParseAddress parses what follows "jmap:". Its errors are usage errors and never repeat a
// password.
func ParseAddress(s string) (Address, error) {
	u, err := source.ParseURL(s, addressHint)
	if err != nil {
		return Address{}, err
	}
	a := Address{User: u.User.Username(), Mailbox: strings.Trim(u.Fragment, "/")}
	if a.Mailbox == "" || strings.EqualFold(a.Mailbox, inbox) {
		a.Mailbox = inbox
	}
	what := ""
	a.Host, err = https.Address(u)
	switch {
	case err != nil:
		what = "it does not begin with https://host"
	case a.User == "":
		what = "it names no user, and two accounts of one host would be one source"
	case u.RawQuery != "" || u.ForceQuery:
		what = "it has a query"
	case strings.ContainsFunc(a.User+a.Mailbox, func(r rune) bool { return r < ' ' || r == 0x7f }):
		what = "it has control characters"
	}
	if what != "" {
		return Address{}, fault.Usagef(addressHint, "bad JMAP URL: %s", what)
	}
	a.session = &url.URL{Scheme: "https", Host: strings.TrimSuffix(a.Host, ":443"), Path: u.Path}
	if u.Path == "" || u.Path == "/" {
		a.session.Path = wellKnown
	}
	return a, nil
}

// inbox stands for the mailbox that has the role inbox (RFC 8621 §2), whatever its name is.
const inbox = "INBOX"

// String returns the source of the messages. One mailbox has one, however it was typed.
func (a Address) String() string {
	u := *a.session
	u.User, u.Fragment = url.User(a.User), a.Mailbox
	if u.Path == wellKnown {
		u.Path = "/"
	}
	return "jmap:" + u.String()
}
