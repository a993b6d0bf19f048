package way

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

// maxHello is how long a ClientHello may be, in bytes.
const maxHello = 16 << 10

// helloTime is how long a client may take for it.
const helloTime = 10 * time.Second

// encryptedName is the extension in which a client hides the name that it means,
// encrypted_client_hello (RFC 9849).
const encryptedName = 0xfe0d

// unrecognizedName is the alert of that name (RFC 6066, section 3), fatal, as a record of TLS.
var unrecognizedName = []byte{21, 3, 1, 0, 2, 2, 112}

var (
	errRead = errors.New("it was read")
	errLong = fmt.Errorf("it has more than %d bytes", maxHello)
)

// recorder keeps what is read of a connection, which is maxHello bytes at most, and sends
// nothing: what Go's server would answer is not for this client.
type recorder struct {
	net.Conn
	read bytes.Buffer
}

func (r *recorder) Read(p []byte) (int, error) {
	left := maxHello - r.read.Len()
	if left == 0 {
		return 0, errLong
	}
	n, err := r.Conn.Read(p[:min(len(p), left)])
	r.read.Write(p[:n])
	return n, err
}

func (r *recorder) Write(p []byte) (int, error) { return len(p), nil }

// hello reads a ClientHello (RFC 8446, section 4.1.2) and returns it with the bytes that were
// read. crypto/tls reads it, as the server whose handshake ends there.
func hello(conn net.Conn) (*tls.ClientHelloInfo, []byte, error) {
	var seen *tls.ClientHelloInfo
	r := &recorder{Conn: conn}
	err := tls.Server(r, &tls.Config{GetConfigForClient: func(info *tls.ClientHelloInfo) (*tls.Config, error) {
		seen = info
		return nil, errRead
	}}).Handshake()
	if seen == nil {
		return nil, nil, fmt.Errorf("no ClientHello: %w", err)
	}
	return seen, r.read.Bytes(), nil
}

// judge returns why a ClientHello may not go to a host, or nil.
func judge(h *tls.ClientHelloInfo, host string) error {
	switch {
	case slices.Contains(h.Extensions, encryptedName):
		return errors.New("the name in the ClientHello is encrypted (ECH)")
	case h.ServerName == "":
		return errors.New("the ClientHello names no server")
	case !same(h.ServerName, host):
		return fmt.Errorf("the ClientHello names %s", h.ServerName)
	}
	return nil
}

// same reports whether two names of hosts are the same in ASCII. A letter that EqualFold takes
// for one of ASCII has more bytes.
func same(a, b string) bool { return len(a) == len(b) && strings.EqualFold(a, b) }
