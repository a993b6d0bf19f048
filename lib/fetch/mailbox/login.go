package mailbox

import (
	"encoding/base64"
	"errors"
	"strings"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
	"github.com/emersion/go-sasl"

	"pulse/lib/fetch/source"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/lazy"
)

// Auth says how the password or token is sent.
type Auth string

// The ways to log in. authAny takes PLAIN if the server offers it, otherwise LOGIN.
const (
	authAny         Auth = ""
	authPlain       Auth = "plain"       // SASL PLAIN, RFC 4616
	authLogin       Auth = "login"       // the LOGIN command, RFC 9051 §6.2.3
	authXOAuth2     Auth = "xoauth2"     // SASL XOAUTH2, of Google and Microsoft
	authOAuthBearer Auth = "oauthbearer" // SASL OAUTHBEARER, RFC 7628
)

// token matches an OAuth access token (RFC 6750 §2.1).
var token = lazy.Regexp(`^[A-Za-z0-9._~+/-]+=*$`)

// Check checks that a is one of the ways to log in, and that it can send the secret.
// Its errors are usage errors.
func (a Auth) Check(secret string) error {
	switch a {
	case authAny, authPlain, authLogin:
		return nil
	case authXOAuth2, authOAuthBearer:
		if secret != "" && !token().MatchString(secret) {
			return fault.Usagef("the password command must print the access token and nothing else",
				"--auth %s: that is not an OAuth token", a)
		}
		return nil
	}
	return fault.Usagef("--auth plain", "--auth %s: want plain, login, xoauth2 or oauthbearer", a)
}

// login waits for the server's greeting and logs in.
func (s *Mailbox) login(c *imapclient.Client) error {
	if err := c.WaitGreeting(); err != nil {
		return err
	}
	if c.State() != imap.ConnStateNotAuthenticated {
		return broken("the server does not ask who we are")
	}
	caps := c.Caps()
	if caps == nil {
		return broken("no capabilities")
	}
	how, err := s.Auth.choose(caps)
	if err != nil {
		return err
	}
	var oauth *bearer
	switch how {
	case authLogin:
		err = c.Login(s.Address.User, s.Password).Wait()
	case authPlain:
		err = c.Authenticate(sasl.NewPlainClient("", s.Address.User, s.Password))
	default:
		oauth = newBearer(how, s.Address, s.Password)
		err = c.Authenticate(oauth)
	}
	return s.loginError(err, caps, oauth)
}

// choose returns the way to log in, given what the server offers.
func (a Auth) choose(caps imap.CapSet) (Auth, error) {
	password := !caps.Has(imap.CapLoginDisabled)
	switch {
	case a == authAny && caps.Has(imap.AuthCap("PLAIN")):
		return authPlain, nil
	case (a == authAny || a == authLogin) && password:
		return authLogin, nil
	case a == authAny || a == authLogin:
		return a, fault.Failedf(tokenHint(caps), "the server allows no LOGIN")
	case !caps.Has(imap.AuthCap(strings.ToUpper(string(a)))):
		return a, fault.Failedf("leave --auth out for what the server offers",
			"the server does not offer AUTH=%s", strings.ToUpper(string(a)))
	}
	return a, nil
}

// tokenHint says how to log in with a token, if the server offers that.
func tokenHint(caps imap.CapSet) string {
	for _, a := range []Auth{authXOAuth2, authOAuthBearer} {
		if caps.Has(imap.AuthCap(strings.ToUpper(string(a)))) {
			return "--auth " + string(a) + " logs in with an OAuth token in place of a password"
		}
	}
	return ""
}

// loginError makes a refused login a failure, because it would be refused again.
func (s *Mailbox) loginError(err error, caps imap.CapSet, oauth *bearer) error {
	var refused *imap.Error
	if !errors.As(err, &refused) ||
		refused.Code == imap.ResponseCodeUnavailable || refused.Code == imap.ResponseCodeLimit {
		return err
	}
	hint := "check user name and password; many providers want a password made for this program"
	said := refused.Text
	switch {
	case oauth != nil:
		hint = "get a new token; it must be for IMAP and for this user"
		if oauth.problem != "" {
			said = oauth.problem + ": " + said
		}
	case tokenHint(caps) != "":
		hint += "; " + tokenHint(caps)
	}
	return source.Refused{Err: fault.Failedf(hint, "%s refuses the login of %s: %s", s.Address.Host, s.Address.User, s.silent(said))}
}

// bearer is the client's side of XOAUTH2 and OAUTHBEARER. It sends a token, and takes the
// reason if the server refuses it.
type bearer struct {
	name, first, agree string
	refused            bool
	problem            string // the server's words
}

func newBearer(how Auth, a Address, token string) *bearer {
	if how == authXOAuth2 {
		return &bearer{name: "XOAUTH2", first: "user=" + a.User + "\x01auth=Bearer " + token + "\x01\x01"}
	}
	user := strings.NewReplacer("=", "=3D", ",", "=2C").Replace(a.User) // RFC 5801 §4
	return &bearer{name: "OAUTHBEARER", agree: "\x01",                  // RFC 7628 §3.2.3
		first: "n,a=" + user + ",\x01host=" + a.Host + "\x01port=" + a.Port +
			"\x01auth=Bearer " + token + "\x01\x01"}
}

// Start implements sasl.Client.
func (b *bearer) Start() (mech string, first []byte, err error) { return b.name, []byte(b.first), nil }

// Next implements sasl.Client. There is at most one challenge, the reason for a refusal. It
// must be answered before the server says NO.
func (b *bearer) Next(challenge []byte) ([]byte, error) {
	if b.refused {
		return nil, broken("a login without end")
	}
	b.refused, b.problem = true, string(challenge)
	return []byte(b.agree), nil
}

// secrets are the forms in which a server might repeat the password or token: as it
// is, quoted, and as SASL sends it.
func (s *Mailbox) secrets() []string {
	list := []string{s.Password, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s.Password)}
	for _, first := range []string{
		s.Password, "\x00" + s.Address.User + "\x00" + s.Password,
		newBearer(authXOAuth2, s.Address, s.Password).first,
		newBearer(authOAuthBearer, s.Address, s.Password).first,
	} {
		list = append(list, base64.StdEncoding.EncodeToString([]byte(first)))
	}
	return list
}

// silent returns what the server, or the library, says in a form that may be shown: short,
// and without any piece of the secret, because a server may repeat what it did not
// understand.
func (s *Mailbox) silent(text string) string { return redact(text, s.secrets()) }
