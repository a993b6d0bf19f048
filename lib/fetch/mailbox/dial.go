package mailbox

import (
	"context"
	"errors"
	"net"
	"time"

	"pulse/lib/fetch/secure"
	"pulse/lib/shared/fault"
)

// dial connects. TLS is done here and not by the library, so that the guard stands above
// it. Only Plain does without TLS, and never leaves this machine.
func (s *Mailbox) dial(ctx context.Context, again bool) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.limits().dial)
	defer cancel()
	reach := s.Address.Dial
	if again && s.Redial != nil {
		reach = s.Redial
	}
	conn, err := reach(ctx)
	if err != nil {
		return nil, fault.Temporaryf("", "%w", err)
	}
	if s.testOnlyConn != nil {
		conn = s.testOnlyConn(conn)
	}
	conn = newAhead(conn, s.Pause)
	if s.Connected != nil && !again {
		if err := s.Connected(); err != nil {
			conn.Close()
			return nil, err
		}
	}
	switch {
	case s.Address.TLS:
		return s.secure(ctx, conn)
	case s.Plain:
		return loopbackOnly(conn)
	}
	return s.startTLS(ctx, conn)
}

// Dial connects to the server, without TLS.
func (a Address) Dial(ctx context.Context) (net.Conn, error) {
	return secure.Dial(ctx, net.JoinHostPort(a.Host, a.Port))
}

// secure does the TLS handshake. The server must always prove its name.
func (s *Mailbox) secure(ctx context.Context, conn net.Conn) (net.Conn, error) {
	c, err := secure.Client(ctx, conn, s.Address.Host, "imap", s.RootCAs)
	if err != nil { // a nil *tls.Conn is not a nil net.Conn
		return nil, err
	}
	return c, nil
}

// loopbackOnly refuses a connection that leaves this machine, whatever the host is called.
func loopbackOnly(conn net.Conn) (net.Conn, error) {
	if addr, ok := conn.RemoteAddr().(*net.TCPAddr); ok && addr.IP.IsLoopback() {
		return conn, nil
	}
	conn.Close()
	return nil, fault.Usagef("use imaps://", "%s is not this machine", conn.RemoteAddr())
}

// startTLS asks for TLS on a connection that begins without (RFC 9051 §6.2.1). What
// is said before is believed as little as possible: the answer to STARTTLS decides
// whether there is TLS, and nothing else is kept. One byte is read at a time. So what an
// attacker sends in the clear after that answer makes the handshake fail, and can't be
// taken for the server's words later.
func (s *Mailbox) startTLS(ctx context.Context, conn net.Conn) (net.Conn, error) {
	l := s.limits()
	l.chatter = 64 << 10
	g := newGuard(byteReader{conn}, l)
	g.out.only = "STARTTLS"
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	err := askTLS(g)
	if !stop() {
		err = errStalled
	}
	if err != nil {
		conn.Close()
		return nil, noTLS(g, err)
	}
	conn.SetDeadline(time.Time{}) // removes the guard's; from here on ctx bounds the time
	secure, err := s.secure(ctx, conn)
	if err != nil {
		return nil, err
	}
	return newGreeted(secure), nil
}

// askTLS returns once the server waits for the handshake.
func askTLS(g *guard) error {
	const hint = "use imaps://, with its port"
	status, err := g.await()
	switch {
	case err != nil:
		return err
	case status == "BYE":
		return errParted
	case status != "OK":
		return fault.Failedf(hint, "the server begins with %s instead of asking who we are", status)
	}
	if _, err := g.Write([]byte("S1 STARTTLS\r\n")); err != nil {
		return err
	}
	status, err = g.await()
	if err == nil && status != "OK" {
		return fault.Failedf(hint, "the server offers no TLS: it answers %s to STARTTLS", status)
	}
	return err
}

var errParted = fault.Temporaryf("", "the server ends the session before TLS")

// noTLS names the reason why there is no TLS. It repeats nothing that was said in the clear.
func noTLS(g *guard, err error) error {
	var classed *fault.Error
	switch {
	case errors.As(err, &classed):
		return err
	case g.Err() != nil:
		return fault.Temporaryf("", "before TLS: %w", g.Err())
	case g.farewell() != "":
		return errParted
	}
	return fault.Temporaryf("", "before TLS: %w", err)
}

// byteReader reads one byte at a time.
type byteReader struct{ net.Conn }

func (r byteReader) Read(p []byte) (int, error) { return r.Conn.Read(p[:min(1, len(p))]) }

// greeted is a connection on which the greeting was read already. The library waits for a
// greeting, so it gets one that names no capabilities: it asks for them again, under TLS.
type greeted struct {
	net.Conn
	greeting string // the part that is still to be read
}

func newGreeted(conn net.Conn) *greeted {
	return &greeted{conn, "* OK TLS\r\n"}
}

// Read implements net.Conn.
func (c *greeted) Read(p []byte) (int, error) {
	if c.greeting == "" {
		return c.Conn.Read(p)
	}
	n := copy(p, c.greeting)
	c.greeting = c.greeting[n:]
	return n, nil
}
