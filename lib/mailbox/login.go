package mailbox

import (
	"encoding/base64"
	"errors"
	"regexp"
	"strings"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
	"github.com/emersion/go-sasl"

	"pulse/lib/fault"
)

// Auth is how the password or token is sent.
type Auth string

// The ways to log in. AuthAny takes PLAIN where the server offers it, else LOGIN.
const (
	AuthAny         Auth = ""
	AuthPlain       Auth = "plain"       // SASL PLAIN, RFC 4616
	AuthLogin       Auth = "login"       // the LOGIN command, RFC 9051 §6.2.3
	AuthXOAuth2     Auth = "xoauth2"     // SASL XOAUTH2, of Google and Microsoft
	AuthOAuthBearer Auth = "oauthbearer" // SASL OAUTHBEARER, RFC 7628
)

// token is what an OAuth access token is made of (RFC 6750 §2.1).
var token = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)

// Check checks that there is such a way to log in, and that it can send the secret.
// Its errors are usage errors.
func (a Auth) Check(secret string) error {
	switch a {
	case AuthAny, AuthPlain, AuthLogin:
		return nil
	case AuthXOAuth2, AuthOAuthBearer:
		if secret != "" && !token.MatchString(secret) {
			return fault.Usagef("the password command must print the access token and nothing else", "--auth %s: that is no OAuth token", a)
		}
		return nil
	}
	return fault.Usagef("--auth plain", "--auth %s: want plain, login, xoauth2 or oauthbearer", a)
}

// login greets the server and proves who we are.
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
	case AuthLogin:
		err = c.Login(s.Address.User, s.Password).Wait()
	case AuthPlain:
		err = c.Authenticate(sasl.NewPlainClient("", s.Address.User, s.Password))
	default:
		oauth = newBearer(how, s.Address, s.Password)
		err = c.Authenticate(oauth)
	}
	return s.loginError(err, caps, oauth)
}

// choose settles how to log in with what a server offers.
func (a Auth) choose(caps imap.CapSet) (Auth, error) {
	password := !caps.Has(imap.CapLoginDisabled)
	switch {
	case a == AuthAny && caps.Has(imap.AuthCap("PLAIN")):
		return AuthPlain, nil
	case (a == AuthAny || a == AuthLogin) && password:
		return AuthLogin, nil
	case a == AuthAny || a == AuthLogin:
		return a, fault.Failedf(tokenHint(caps), "the server allows no LOGIN")
	case !caps.Has(imap.AuthCap(strings.ToUpper(string(a)))):
		return a, fault.Failedf("leave --auth out for what the server offers", "the server does not offer AUTH=%s", strings.ToUpper(string(a)))
	}
	return a, nil
}

// tokenHint says how to go on where a password is of no use.
func tokenHint(caps imap.CapSet) string {
	for _, a := range []Auth{AuthXOAuth2, AuthOAuthBearer} {
		if caps.Has(imap.AuthCap(strings.ToUpper(string(a)))) {
			return "--auth " + string(a) + " logs in with an OAuth token in place of a password"
		}
	}
	return ""
}

// loginError makes a refused login a failure, for it would be refused again.
func (s *Mailbox) loginError(err error, caps imap.CapSet, oauth *bearer) error {
	var refused *imap.Error
	if !errors.As(err, &refused) || refused.Code == imap.ResponseCodeUnavailable || refused.Code == imap.ResponseCodeLimit {
		return err
	}
	hint, said := "check user name and password; many providers want a password made for this program", refused.Text
	switch {
	case oauth != nil:
		hint = "get a new token; it must be for IMAP and for this user"
		if oauth.problem != "" {
			said = oauth.problem + ": " + said
		}
	case tokenHint(caps) != "":
		hint += "; " + tokenHint(caps)
	}
	return fault.Failedf(hint, "%s refuses the login of %s: %s", s.Address.Host, s.Address.User, s.silent(said))
}

// bearer is the client's side of XOAUTH2 and OAUTHBEARER: it sends a token, and
// takes what a server says of one that it refuses.
type bearer struct {
	name, first, agree string
	refused            bool
	problem            string // the server's words
}

func newBearer(how Auth, a Address, token string) *bearer {
	if how == AuthXOAuth2 {
		return &bearer{name: "XOAUTH2", first: "user=" + a.User + "\x01auth=Bearer " + token + "\x01\x01"}
	}
	user := strings.NewReplacer("=", "=3D", ",", "=2C").Replace(a.User) // RFC 5801 §4
	return &bearer{name: "OAUTHBEARER", agree: "\x01",                  // RFC 7628 §3.2.3
		first: "n,a=" + user + ",\x01host=" + a.Host + "\x01port=" + a.Port + "\x01auth=Bearer " + token + "\x01\x01"}
}

// Start implements sasl.Client.
func (b *bearer) Start() (mech string, first []byte, err error) { return b.name, []byte(b.first), nil }

// Next implements sasl.Client. There is one challenge at most, the reason for a
// refusal, and it must be answered before the server says NO.
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
		newBearer(AuthXOAuth2, s.Address, s.Password).first, newBearer(AuthOAuthBearer, s.Address, s.Password).first,
	} {
		list = append(list, base64.StdEncoding.EncodeToString([]byte(first)))
	}
	return list
}

// silent returns what the server says, or the library of it, as it may be shown:
// short, and without any piece of the secret, for a server may well repeat what it
// did not understand.
func (s *Mailbox) silent(text string) string { return redact(text, s.secrets()) }
