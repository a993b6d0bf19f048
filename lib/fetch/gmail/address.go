package gmail

import (
	"net/url"
	"strings"

	"pulse/lib/shared/fault"
	"pulse/lib/shared/lazy"
)

// Address says where a mailbox is: gmail:USER[/LABEL].
type Address struct{ User, Label string }

const addressHint = "pulse-fetch gmail:you@gmail.com/INBOX"

// user matches an address as Google has them.
var user = lazy.Regexp(`^[A-Za-z0-9._+'-]+@[A-Za-z0-9.-]+$`)

// ParseAddress parses what follows "gmail:". Its errors are usage errors and repeat nothing.
func ParseAddress(s string) (Address, error) {
	name, label, _ := strings.Cut(s, "/")
	switch {
	case strings.Contains(name, ":"):
		return Address{}, fault.Usagef("pulse-fetch --password-command CMD",
			"a password does not belong in the source: other users see the command line")
	case !user().MatchString(name):
		return Address{}, fault.Usagef(addressHint, "bad Gmail source: want the address of the account")
	case strings.ContainsFunc(label, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return Address{}, fault.Usagef(addressHint, "bad Gmail source: control characters")
	}
	if label == "" || strings.EqualFold(label, inbox) {
		label = inbox
	}
	return Address{strings.ToLower(name), label}, nil
}

const inbox = "INBOX" // the id of a label that every account has

// String returns the source of the messages. One mailbox has one, however it was typed.
func (a Address) String() string { return "gmail:" + a.User + "/" + a.Label }

// Host is the only one that is asked.
const Host = "gmail.googleapis.com:443"

// API returns where the account is (Gmail API, v1, REST reference).
func (a Address) API() *url.URL {
	return &url.URL{Scheme: "https", Host: strings.TrimSuffix(Host, ":443"), Path: "/gmail/v1/users/" + a.User}
}
