// Package way is the one way out of an account: it takes connections at a Unix socket and joins
// each to a connection to one host and port. What shares the address of that host, as behind a
// CDN, is not reached: of a client that speaks TLS it reads the ClientHello, and that must name
// the host.
//
// Invariant: until the ClientHello has named the host, no byte leaves, and no name server is
// asked. Caveat: what is in the TLS connection is not seen. A host that serves other names in a
// connection to this one (the field Host of HTTP: domain fronting), or that heeds another name
// in a second ClientHello, is reached by those, too.
package way

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"pulse/lib/shared/fault"
)

// dialTime is how long a connection to the host may take.
const dialTime = 30 * time.Second

// maxSaid is how many lines a way says at most.
const maxSaid = 100

// later are the ports of mail at which TLS begins after some plain lines (STARTTLS, RFC 3207),
// so that no ClientHello comes first.
var later = []string{"25", "587"}

// Way leads to one host and port.
type Way struct {
	Say   func(format string, args ...any) // tells what was refused; unset: nobody
	host  string
	port  string
	plain bool          // the clients speak no TLS, or not at first
	wait  time.Duration // for a ClientHello
	said  atomic.Int32
}

// To returns the way to a host and port, "host:port". If plain, the clients speak no TLS, and
// nothing they say is looked at; so it is with the ports at which mail is submitted.
func To(address string, plain bool) (*Way, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return nil, fault.Usagef("api.example.com:443", "%s: want HOST:PORT", address)
	}
	w := &Way{host: strings.TrimSuffix(host, "."), port: port, wait: helloTime}
	if n := w.Port(); n == 0 || strconv.Itoa(int(n)) != port {
		return nil, fault.Usagef("api.example.com:443", "%s: the port is no number from 1 to 65535", address)
	}
	w.plain = plain || port == later[0] || port == later[1]
	if _, err := netip.ParseAddr(w.host); err == nil && !w.plain {
		return nil, fault.Usagef("the name of the host; or --plain, for what speaks no TLS", "%s: no ClientHello names an address", address)
	}
	return w, nil
}

// Port returns the port.
func (w *Way) Port() uint16 {
	n, _ := strconv.ParseUint(w.port, 10, 16)
	return uint16(n)
}

// Plain reports whether clients begin without TLS.
func (w *Way) Plain() bool { return w.plain }

// Lead joins a client to the host, once it has said that it means that host.
func (w *Way) Lead(client Conn) {
	var first []byte
	if !w.plain {
		_ = client.SetReadDeadline(time.Now().Add(w.wait))
		h, read, err := hello(client)
		if err == nil {
			err = judge(h, w.host)
		}
		if err != nil {
			w.say("refused: %v; this way leads to %s alone", err, w.host)
			if h != nil {
				_, _ = client.Write(unrecognizedName)
			}
			return
		}
		_ = client.SetReadDeadline(time.Time{})
		first = read
	}
	host, err := net.DialTimeout("tcp", net.JoinHostPort(w.host, w.port), dialTime)
	if err != nil {
		w.say("%v", err)
		return
	}
	defer host.Close()
	if _, err := host.Write(first); err == nil {
		Join(client, host.(*net.TCPConn))
	}
}

// say tells something, and in the end that it says no more.
func (w *Way) say(format string, args ...any) {
	n := w.said.Add(1)
	if w.Say == nil || n > maxSaid {
		return
	}
	w.Say(format, args...)
	if n == maxSaid {
		w.Say("no more is said of connections to %s", w.host)
	}
}
