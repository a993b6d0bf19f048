package source

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
	"github.com/emersion/go-sasl"

	"pulse/lib/fault"
)

// Auth is how the password is sent.
type Auth string

// The ways to log in. AuthAny takes PLAIN where the server offers it, else LOGIN.
const (
	AuthAny   Auth = ""
	AuthPlain Auth = "plain" // SASL PLAIN, RFC 4616
	AuthLogin Auth = "login" // the LOGIN command, RFC 9051 §6.2.3
)

// dialTimeout bounds connecting and the TLS handshake, each.
const dialTimeout = 30 * time.Second

// dial connects; TLS is done here and not by the library, so that the guard stands
// above it.
func (s *IMAP) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(s.Address.Host, s.Address.Port))
	if err != nil {
		return nil, fault.Temporaryf("", "%w", err)
	}
	if !s.Address.TLS {
		return loopbackOnly(conn)
	}
	secure := tls.Client(conn, &tls.Config{
		ServerName: s.Address.Host,
		MinVersion: tls.VersionTLS12,
		RootCAs:    s.RootCAs,
		NextProtos: []string{"imap"},
	})
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, handshakeError(err)
	}
	return secure, nil
}

// loopbackOnly refuses a connection that left this machine, whatever the name said.
func loopbackOnly(conn net.Conn) (net.Conn, error) {
	if addr, ok := conn.RemoteAddr().(*net.TCPAddr); ok && addr.IP.IsLoopback() {
		return conn, nil
	}
	conn.Close()
	return nil, fault.Usagef("use imaps://", "%s is not this machine", conn.RemoteAddr())
}

// handshakeError tells a certificate that is not trusted, which stays so, from a
// network that fails.
func handshakeError(err error) error {
	var cert *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &unknown):
		return fault.Failedf("--tls-ca FILE trusts the authority in FILE", "TLS: %w", err)
	case errors.As(err, &cert):
		return fault.Failedf("use the host name that the certificate is for", "TLS: %w", err)
	}
	return fault.Temporaryf("", "TLS: %w", err)
}

// login greets the server and proves who we are.
func (s *IMAP) login(c *imapclient.Client) error {
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
	how := s.Auth
	if how == AuthAny {
		how = AuthLogin
		if caps.Has(imap.AuthCap("PLAIN")) {
			how = AuthPlain
		}
	}
	if how == AuthLogin && caps.Has(imap.CapLoginDisabled) {
		return fault.Failedf("", "the server allows no LOGIN, and offers no AUTH=PLAIN")
	}
	var err error
	if how == AuthPlain {
		err = c.Authenticate(sasl.NewPlainClient("", s.Address.User, s.Password))
	} else {
		err = c.Login(s.Address.User, s.Password).Wait()
	}
	return s.loginError(err)
}

// loginError makes a refused login a failure, for it would be refused again.
func (s *IMAP) loginError(err error) error {
	var refused *imap.Error
	if !errors.As(err, &refused) || refused.Code == imap.ResponseCodeUnavailable || refused.Code == imap.ResponseCodeLimit {
		return err
	}
	return fault.Failedf("check user name and password; many providers want a password made for this program",
		"%s refuses the login of %s: %s", s.Address.Host, s.Address.User, s.silent(refused.Text))
}

// silent removes the password from what the server says, who may well repeat it.
func (s *IMAP) silent(text string) string {
	return strings.ReplaceAll(text, s.Password, "…")
}

// explain names the reason for an error of the library, which says of a closed
// connection only that it is closed.
func (s *IMAP) explain(ctx context.Context, g *guard, err error) error {
	var classed *fault.Error
	var refused *imap.Error
	cause := err
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case g.Err() != nil:
		cause = g.Err()
	}
	switch {
	case errors.As(cause, &classed):
		return fmt.Errorf("%s: %w", s.Address, cause)
	case errors.Is(cause, ErrReadWrite), errors.Is(cause, ErrCommand):
		return fault.Failedf("", "%s: %w", s.Address, cause)
	case errors.As(cause, &refused):
		return fault.Temporaryf("", "%s: the server says %s: %s", s.Address, refused.Type, s.silent(refused.Text))
	case g.farewell() != "" && g.Err() == nil:
		return fault.Temporaryf("", "%s: the server ends the session: %s", s.Address, s.silent(g.farewell()))
	case errors.Is(cause, io.ErrUnexpectedEOF), errors.Is(cause, io.EOF):
		return fault.Temporaryf("", "%s: the server ends the connection", s.Address)
	}
	if text := cause.Error(); s.silent(text) != text {
		cause = errors.New(s.silent(text))
	}
	return fault.Temporaryf("", "%s: %w", s.Address, cause)
}
