package mailbox

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"pulse/lib/fetch/source"
	"pulse/lib/shared/address"
	"pulse/lib/shared/fault"
)

// Address says where a mailbox is: imaps://user@host[:port]/MAILBOX, which is part of what
// RFC 5092 allows.
type Address struct {
	User, Host, Port, Mailbox string
	TLS                       bool // imaps; otherwise STARTTLS follows
}

const addressHint = "pulse-fetch imaps://you%40example.com@imap.example.com/INBOX"

// ParseAddress parses an imap or imaps URL. Its errors are usage errors and never
// repeat a password.
func ParseAddress(s string) (Address, error) {
	u, err := source.ParseURL(s, addressHint)
	if err != nil {
		return Address{}, err
	}
	a := Address{
		User: u.User.Username(), Host: address.Fold(u.Hostname()), Port: u.Port(),
		Mailbox: strings.TrimPrefix(u.Path, "/"), TLS: u.Scheme == "imaps",
	}
	if a.Port == "" {
		a.Port = map[bool]string{true: "993", false: "143"}[a.TLS]
	}
	if a.Mailbox == "" || upper(a.Mailbox) == "INBOX" {
		a.Mailbox = "INBOX"
	}
	return a, a.check(u)
}

func (a Address) check(u *url.URL) error {
	what := ""
	switch {
	case u.Scheme != "imap" && u.Scheme != "imaps":
		what = "its scheme is neither imaps nor imap"
	case a.User == "":
		what = "it names no user"
	case a.Host == "":
		what = "it names no host"
	case !validPort(a.Port):
		what = "its port is not 1 to 65535"
	case u.Opaque != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		what = "it has a query or a fragment"
	case strings.ContainsFunc(a.User+a.Mailbox, func(r rune) bool { return r < ' ' || r == 0x7f }):
		what = "it has control characters"
	}
	if what != "" {
		return fault.Usagef(addressHint, "bad mailbox URL: %s", what)
	}
	return nil
}

func validPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

// String returns the URL as it stands in message.source. It leaves out the default port, so
// that one mailbox has one name.
func (a Address) String() string {
	u := url.URL{Scheme: "imaps", User: url.User(a.User), Host: a.Host, Path: "/" + a.Mailbox}
	standard := "993"
	if !a.TLS {
		u.Scheme, standard = "imap", "143"
	}
	if strings.Contains(a.Host, ":") {
		u.Host = "[" + a.Host + "]"
	}
	if a.Port != standard {
		u.Host += ":" + a.Port
	}
	return u.String()
}

// Loopback checks that the host can only be this machine, where others can't listen in.
func (a Address) Loopback() error {
	if ip := net.ParseIP(a.Host); a.Host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("%s is not this machine", a.Host)
}
