package source

import (
	"net/url"

	"pulse/lib/shared/fault"
)

// ParseURL parses the URL of a mailbox on a server. Its errors are usage errors and never
// repeat a password. hint is a URL as it should be.
func ParseURL(s, hint string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil { // url.Error repeats the URL, and any password in it
		return nil, fault.Usagef(hint, "not a URL that can be read")
	}
	if _, has := u.User.Password(); has {
		return nil, fault.Usagef("pulse-fetch --password-file FILE",
			"a password does not belong in the URL: other users see the command line")
	}
	return u, nil
}
