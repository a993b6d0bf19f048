package mailbox

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"pulse/lib/fetch/message"
	"pulse/lib/fetch/secure"
)

// The reasons for which a guard ends a connection.
var (
	errProtocol  = errors.New("the server breaks the IMAP protocol")
	errStalled   = secure.ErrStalled
	errReadWrite = errors.New("the server opens the mailbox read-write")
	errReplaced  = errors.New("the mailbox was replaced while it was read")
	errCommand   = errors.New("a command that pulse-fetch must not send (this is a bug)")
)

// errFlood is an errProtocol: the server says more than any message could make it say.
var errFlood = fmt.Errorf("%w", errProtocol)

// limits bound what a server may cost. Those that are not times or depth are in bytes.
type limits struct {
	dial    time.Duration // connecting and the TLS handshake, together
	idle    time.Duration // without a byte while a command waits
	command time.Duration // of waiting for one command, besides what pace allows
	pace    int64         // bytes that earn a command another second
	line    int64         // of a response, including its short literals
	search  int64         // of a SEARCH response, which names every match
	depth   int           // of parentheses
	literal int64         // of a body section
	chatter int64         // of everything except body sections, for one command
	renew   time.Duration // after which an IDLE ends and there is a search
	pause   time.Duration // between two searches that the server gives cause for, at least
}

var defaultLimits = limits{
	dial:    30 * time.Second,
	idle:    30 * time.Second,
	command: time.Minute,
	pace:    16 << 10,
	line:    64 << 10,
	search:  8 << 20,
	depth:   32,
	literal: message.MaxMessage + 1,
	chatter: 9 << 20,
	renew:   9 * time.Minute,
	pause:   time.Second,
}

// guard stands on an IMAP connection, above TLS and below the IMAP library. It lets only
// reading commands out (RFC 9051 §6), each as a whole line. It lets responses in only as
// far as it has found them bounded, because the library's parser recurses, buffers and
// waits without limit. It reads responses more strictly than that parser, so that both
// always agree where a literal begins. Where they could differ, the connection ends.
type guard struct {
	net.Conn
	limits limits

	in   responses // the reading side
	buf  []byte
	rest []byte // the part of buf that is checked and not yet handed on
	next error  // ends the connection once rest is handed on

	sending sync.Mutex // guards out
	out     commands

	mu       sync.Mutex        // guards what follows
	err      error             // why the guard ended the connection
	pending  map[string]string // commands in flight: tag -> verb
	since    time.Time         // when the last command was sent, or the connection began
	waited   time.Duration     // by the commands in flight
	received int64             // for them
	status   string            // of the last answer
	owed     bool              // the server waits for our part of a login
	idle     idleState
	answer   *answer // takes FETCH responses while a UID FETCH is in flight; may be nil
	bye      string  // what the server said when it ended the session
}

// greeting stands for the server's greeting among the commands in flight.
const greeting = ""

// idleState says how far an IDLE has got (RFC 2177).
type idleState int

const (
	notIdle     idleState = iota
	idleAsked             // IDLE was sent
	idleGranted           // the server agreed: it owes nothing until we send DONE
	idleEnding            // DONE was sent
)

func newGuard(conn net.Conn, l limits) *guard {
	g := &guard{Conn: conn, limits: l, buf: make([]byte, 64<<10), since: time.Now()}
	g.pending = map[string]string{greeting: greeting}
	g.in = responses{limits: &g.limits, done: g.answered, asked: g.asked, busy: g.busy, parted: g.parted, takes: g.takes}
	return g
}

// Err returns why the guard ended the connection, or nil.
func (g *guard) Err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// fail ends the connection, and returns the first reason for which it was ended.
func (g *guard) fail(err error) error {
	g.mu.Lock()
	if g.err == nil {
		g.err = err
	}
	err = g.err
	g.mu.Unlock()
	g.Conn.Close()
	return err
}

// Read implements net.Conn. It returns only bytes that were checked, and none once the
// guard has ended the connection.
func (g *guard) Read(p []byte) (int, error) {
	if err := g.Err(); err != nil {
		return 0, err
	}
	for len(g.rest) == 0 {
		if err := g.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

// fill reads and checks the next bytes. None may be left to hand on.
func (g *guard) fill() error {
	if err := cmp.Or(g.next, g.arm()); err != nil {
		return g.fail(err)
	}
	begin := time.Now()
	n, err := g.Conn.Read(g.buf)
	g.account(begin, n)
	if n > 0 {
		g.rest, g.next = g.in.check(g.buf[:n])
		return nil
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return g.fail(fmt.Errorf("%w: nothing for %v", errStalled, g.limits.idle))
	}
	if g.in.skip > 0 && err == io.EOF {
		return g.fail(broken("a literal of %d bytes that ends after %d", g.in.size, g.in.size-g.in.skip))
	}
	if err == nil || err == io.EOF {
		// A plain EOF would look like the end of a literal to the library.
		err = io.ErrUnexpectedEOF
	}
	return err
}

// arm sets the time by which the next bytes must be here. Only a server that owes an answer
// must hurry. While we wait for the next program in the pipe, or for new mail, nothing is
// late.
func (g *guard) arm() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.pending) == 0 || g.idle == idleGranted {
		g.Conn.SetReadDeadline(time.Time{}) // if it fails, so does the read
		return nil
	}
	budget := g.limits.command + time.Duration(g.received/g.limits.pace)*time.Second - g.waited
	if budget <= 0 {
		return fmt.Errorf("%w: %d bytes in %v", errStalled, g.received, g.waited.Round(time.Second))
	}
	g.Conn.SetReadDeadline(time.Now().Add(min(g.limits.idle, budget)))
	return nil
}

// account adds up the bytes, and the time that reads wait while a command is in flight.
func (g *guard) account(begin time.Time, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if begin.Before(g.since) {
		begin = g.since
	}
	if len(g.pending) > 0 && g.idle != idleGranted {
		g.waited += time.Since(begin)
	}
	g.received += int64(n)
}

// Write implements net.Conn. Bytes leave once they are whole lines of allowed
// commands.
func (g *guard) Write(p []byte) (int, error) {
	g.sending.Lock()
	defer g.sending.Unlock()
	ready, err := g.out.check(p, g.sent)
	if err != nil {
		return 0, g.fail(err)
	}
	if len(ready) > 0 {
		if err := g.arm(); err != nil {
			return 0, g.fail(err)
		}
		g.Conn.SetWriteDeadline(time.Now().Add(g.limits.idle))
		if _, err := g.Conn.Write(ready); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// sent notes that a command is in flight, or that our part of a login or DONE was sent.
// During an IDLE nothing may be sent except DONE, and that only if the server has agreed.
func (g *guard) sent(tag, verb string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if done := verb == "DONE"; done != (g.idle == idleGranted) || !done && g.idle != notIdle {
		return fmt.Errorf("%w: %s during IDLE or DONE without", errCommand, verb)
	}
	switch g.owed = false; {
	case verb == "DONE":
		g.idle = idleEnding
	case tag == "":
		return nil
	case verb == "IDLE":
		g.idle = idleAsked
	}
	if len(g.pending) == 0 || g.idle == idleEnding {
		g.waited, g.received = 0, 0
	}
	g.since = time.Now()
	if tag != "" {
		g.pending[tag] = verb
	}
	return nil
}

// answered takes a completed status response: a tagged one, or the greeting.
func (g *guard) answered(tag, status, code string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	verb, ok := g.pending[tag]
	switch {
	case !ok:
		return broken("an answer to no command")
	case verb == "AUTHENTICATE" && g.owed: // the library would wait for ever
		return broken("the end of a login in the middle of it")
	case verb == "IDLE" && (g.idle == idleGranted || g.idle == idleAsked && status == "OK"):
		return broken("the end of IDLE without DONE")
	case verb == "IDLE":
		g.idle = notIdle
	}
	delete(g.pending, tag)
	g.waited, g.received, g.status = 0, 0, status
	if verb == "EXAMINE" && status == "OK" && code != "READ-ONLY" {
		return errReadWrite
	}
	return nil
}

// asked notes that the server waits for our part of a login, or agrees to an IDLE.
func (g *guard) asked() error {
	login := g.busy("AUTHENTICATE")
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.idle == idleAsked:
		g.idle = idleGranted
	case g.idle != notIdle:
		return broken("a question during IDLE")
	case login && g.owed:
		return broken("a question before the last one was answered")
	case login:
		g.owed = true
	}
	return nil
}

// await reads until no command is in flight, and returns how the last one was answered:
// OK, NO, BAD, or what the greeting was. Only startTLS uses it; the library does not.
func (g *guard) await() (status string, err error) {
	for {
		g.mu.Lock()
		n, status := len(g.pending), g.status
		g.mu.Unlock()
		if n == 0 {
			return status, nil
		}
		if _, err := g.Read(make([]byte, 1)); err != nil {
			return "", err
		}
	}
}

// expect lets a take the FETCH responses from now on; nil leaves them to the library.
func (g *guard) expect(a *answer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answer = a
}

// takes returns what takes a FETCH response that begins now, or nil.
func (g *guard) takes() *answer {
	if !g.busy("UID FETCH") {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.answer
}

// busy reports whether such a command is in flight. A body may come only during a UID
// FETCH, a UIDVALIDITY only during EXAMINE.
func (g *guard) busy(verb string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, v := range g.pending {
		if v == verb {
			return true
		}
	}
	return false
}

// The guard sets the deadlines; the library's own would undo them.

// SetDeadline does nothing.
func (g *guard) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing.
func (g *guard) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (g *guard) SetWriteDeadline(time.Time) error { return nil }

// parted takes the server's words when it ends the session. During an IDLE no answer would
// follow for a long time, so the connection ends at once.
func (g *guard) parted(text string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.bye = text; g.idle == idleGranted {
		return fmt.Errorf("the server ends the session: %s", text)
	}
	return nil
}

// farewell returns what the server said when it ended the session itself.
func (g *guard) farewell() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.bye
}

// hurry leaves the server little time from now on, because nothing that it still owes us
// matters.
func (g *guard) hurry() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limits.idle = min(g.limits.idle, 2*time.Second)
}
