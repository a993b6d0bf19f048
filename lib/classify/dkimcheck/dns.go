package dkimcheck

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"pulse/lib/shared/fault"
)

// Resolver answers questions for TXT records. The name is fully qualified, without a
// dot at its end. Each string of the answer is one record, its parts joined. For a name
// or record that does not exist the answer is no records, or a *net.DNSError with
// IsNotFound set. Every other error counts as temporary.
type Resolver interface {
	LookupTXT(ctx context.Context, name string) ([]string, error)
}

// DNS asks name servers: the one at Server, a host and a port, or those of this machine
// (resolv.conf(5)) if that is empty. It asks over UDP with EDNS, and over TCP if the answer
// does not fit. A reply counts only if it has the id and the question.
type DNS struct{ Server string }

// LookupTXT implements Resolver. It appends a dot so that the search list of
// resolv.conf is not used. Otherwise the owner of a domain in that list could answer
// for any other domain.
func (d DNS) LookupTXT(ctx context.Context, name string) ([]string, error) {
	r := net.Resolver{PreferGo: true, Dial: d.dial}
	return r.LookupTXT(ctx, name+".")
}

func (d DNS) dial(ctx context.Context, network, server string) (net.Conn, error) {
	if d.Server != "" {
		server = d.Server
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, server)
	if err == nil { // net.Resolver heeds the deadline of ctx, but no earlier end
		context.AfterFunc(ctx, func() { conn.Close() })
	}
	if udp, ok := conn.(*net.UDPConn); ok {
		return datagrams{udp}, err
	}
	return conn, err
}

// datagrams may get lost, so half of the time is left to ask again.
type datagrams struct{ *net.UDPConn }

// SetDeadline implements net.Conn.
func (d datagrams) SetDeadline(t time.Time) error {
	return d.UDPConn.SetDeadline(time.Now().Add(time.Until(t) / 2))
}

// The bounds of an answer.
const (
	maxRecords = 20
	maxRecord  = 4096 // bytes; a 4096-bit key takes 750
)

// The errors of a question besides that of the resolver.
var (
	errOversized = errors.New("the DNS record is too large")
	errMany      = errors.New("the message asks for too many names")
)

// lookups asks the questions about one message, each of them once.
type lookups struct {
	resolver Resolver
	each     time.Duration
	ctx      context.Context // ends with the time for the message
	cancel   context.CancelFunc
	known    map[string]answer
	failed   error // the first ErrTemporary
}

type answer struct {
	records []string
	err     error
}

func (c *Checker) begin(ctx context.Context) *lookups {
	l := &lookups{resolver: c.Resolver, each: c.Lookup, known: map[string]answer{}}
	if l.each == 0 {
		l.each = defaultLookup
	}
	l.ctx, l.cancel = context.WithTimeout(ctx, c.budget())
	return l
}

// txt returns the TXT records of a name, which may have none. The errors are
// ErrTemporary and errOversized.
func (l *lookups) txt(name string) ([]string, error) {
	a, ok := l.known[name]
	if !ok {
		a.records, a.err = l.ask(name)
		l.known[name] = a
	}
	if l.failed == nil && errors.Is(a.err, ErrTemporary) {
		l.failed = a.err
	}
	return a.records, a.err
}

func (l *lookups) ask(name string) ([]string, error) {
	if len(l.known) >= maxLookups {
		return nil, fault.Temporaryf("", "dkimcheck: %w: %s: %w", ErrTemporary, name, errMany)
	}
	ctx, cancel := context.WithTimeout(l.ctx, l.each)
	defer cancel()
	records, err := l.resolver.LookupTXT(ctx, name)
	switch {
	case notFound(err):
		return nil, nil
	case err != nil:
		return nil, fault.Temporaryf("", "dkimcheck: %w: %s: %w", ErrTemporary, name, reason(err))
	case len(records) > maxRecords:
		return nil, errOversized
	}
	for _, r := range records {
		if len(r) > maxRecord {
			return nil, errOversized
		}
	}
	return records, nil
}

// answers reports whether DNS answers a question that no sender chose: what there is at the
// root. It is asked when a domain's name servers are silent, to find out whether all are.
func (l *lookups) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, l.each)
	defer cancel()
	_, err := l.resolver.LookupTXT(ctx, "")
	return err == nil || notFound(err)
}

func notFound(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound
}

// reason returns the error without the name, which the caller's message has already,
// and without the server and the ports, which differ from one run to the next.
func reason(err error) error {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return errors.New(dns.Err[strings.LastIndex(": "+dns.Err, ": "):])
	}
	return err
}
