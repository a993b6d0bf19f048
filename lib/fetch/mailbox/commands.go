package mailbox

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"pulse/lib/shared/lazy"
)

// maxCommand is how long a line of a command, and each of its literals, may be, in bytes.
const maxCommand = 64 << 10

// commands checks what goes to the server, one line after the other.
type commands struct {
	line     []byte // not yet whole
	literal  int64  // bytes of a literal that are still to come
	verb     string // of the command that a literal interrupts
	exchange bool   // an AUTHENTICATE was sent: its answers follow
	only     string // the one verb that is allowed; empty for all that allowed has
	waits    bool   // IDLE and DONE are allowed, too
}

// sentFunc is called before a line leaves: for each command; for each answer in a SASL
// exchange, with no tag and no verb; and for DONE, which has no tag. Its error stops the
// line.
type sentFunc func(tag, verb string) error

// check takes the next bytes and returns those that may leave.
func (c *commands) check(b []byte, sent sentFunc) (ready []byte, err error) {
	for len(b) > 0 {
		if c.literal > 0 {
			n := min(c.literal, int64(len(b)))
			ready = append(ready, b[:n]...)
			b, c.literal = b[n:], c.literal-n
			continue
		}
		i := bytes.IndexByte(b, '\n') + 1
		if i == 0 {
			i = len(b)
		}
		c.line = append(c.line, b[:i]...)
		b = b[i:]
		if len(c.line) > maxCommand {
			return nil, fmt.Errorf("%w: longer than %d bytes", errCommand, maxCommand)
		}
		if c.line[len(c.line)-1] != '\n' {
			break
		}
		if err := c.whole(string(c.line), sent); err != nil {
			return nil, err
		}
		ready = append(ready, c.onWire()...)
		c.line = c.line[:0]
	}
	return ready, nil
}

// onWire returns a line as it must be sent. The library writes an empty answer like an
// empty initial response, "=" (RFC 9051 §6.2.2), which is not base64 in an answer.
func (c *commands) onWire() []byte {
	if c.exchange && string(c.line) == "=\r\n" {
		return c.line[1:]
	}
	return c.line
}

// whole checks a line. It is a command, or what follows a literal in one, or an answer in a
// SASL exchange, which is base64 and so can't be a command, or DONE, which ends an IDLE.
func (c *commands) whole(line string, sent sentFunc) error {
	line, ok := strings.CutSuffix(line, "\r\n")
	if !ok {
		return fmt.Errorf("%w: a line without CRLF", errCommand)
	}
	if c.exchange && saslAnswer().MatchString(line) {
		return sent("", "")
	}
	if c.waits && c.verb == "" && line == "DONE" {
		return sent("", line)
	}
	verb := c.verb
	if c.verb = ""; verb == "" {
		tag, v, args := splitCommand(line)
		idle := c.waits && v == "IDLE" && args == ""
		if !allowed(v, args) && !idle || c.only != "" && v != c.only {
			return fmt.Errorf("%w: %s", errCommand, v) // never the arguments: one may be a password
		}
		verb, c.exchange = v, v == "AUTHENTICATE"
		if err := sent(tag, verb); err != nil {
			return err
		}
	}
	return c.announced(line, verb)
}

var (
	saslAnswer     = lazy.Regexp(`^(\*|[A-Za-z0-9+/]*={0,2})$`)
	literalAtEnd   = lazy.Regexp(`\{([0-9]{1,5})\+?\}$`)
	fetchArguments = lazy.Regexp(`^[0-9,:]+ \(` +
		`((UID|INTERNALDATE|RFC822\.SIZE|BODY\.PEEK\[(HEADER|TEXT)\]<0\.[0-9]+>) ?)+\)$`)
)

// announced notes the literal that the end of a line announces (RFC 9051 §4.3).
func (c *commands) announced(line, verb string) error {
	m := literalAtEnd().FindStringSubmatch(line)
	if m == nil {
		return nil
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil || n > maxCommand {
		return fmt.Errorf("%w: %s with a literal of %s bytes", errCommand, verb, m[1])
	}
	c.literal, c.verb = n, verb
	return nil
}

// splitCommand returns the tag, the verb ("UID FETCH" is one) and the arguments.
func splitCommand(line string) (tag, verb, args string) {
	tag, rest, _ := strings.Cut(line, " ")
	verb, args, _ = strings.Cut(rest, " ")
	if verb == "UID" {
		sub, more, _ := strings.Cut(args, " ")
		verb, args = verb+" "+sub, more
	}
	return tag, verb, args
}

// allowed reports whether pulse-fetch may send a command to a server. The only other one is
// IDLE, where it waits.
func allowed(verb, args string) bool {
	switch verb {
	case "CAPABILITY", "NOOP", "LOGOUT", "STARTTLS":
		return args == ""
	case "ID", "LOGIN", "AUTHENTICATE", "ENABLE", "EXAMINE", "UID SEARCH":
		return args != ""
	case "UID FETCH": // BODY without PEEK would set \Seen
		return fetchArguments().MatchString(args)
	}
	return false
}
