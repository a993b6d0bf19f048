package way

import (
	"bytes"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// model is a server that says what name a client has meant. Its certificate is for any of two.
type model struct {
	address string
	roots   *x509.CertPool
	heard   atomic.Int32 // connections
}

func serve(t *testing.T) *model {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost", "evil.example"},
		IsCA: true, BasicConstraintsValid: true, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	m := &model{address: fmt.Sprintf("localhost:%d", l.Addr().(*net.TCPAddr).Port), roots: x509.NewCertPool()}
	m.roots.AddCert(cert)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			m.heard.Add(1)
			go func() {
				defer c.Close()
				secure := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
				if secure.Handshake() == nil {
					_, _ = io.WriteString(secure, secure.ConnectionState().ServerName)
				}
			}()
		}
	}()
	return m
}

// said are the lines of a way.
type said struct {
	mu    sync.Mutex
	lines []string
}

func (s *said) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}

func to(t *testing.T, address string, plain bool) *Way {
	t.Helper()
	w, err := To(address, plain)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// lead serves a way at a socket, and returns how to connect to it, and what it says.
func lead(t *testing.T, w *Way) (dial func() *net.UnixConn, says *said) {
	t.Helper()
	says = &said{}
	w.Say = says.say
	dir, err := os.MkdirTemp("", "way-")
	if err != nil {
		t.Fatal(err)
	}
	l, err := Listen(dir+"/s", "")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- Serve(l, 0, w.Lead) }()
	t.Cleanup(func() {
		l.Close()
		<-ended
		os.RemoveAll(dir)
	})
	return func() *net.UnixConn {
		t.Helper()
		c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: dir + "/s", Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}, says
}

// The host is reached by its name alone, however it is written, and what is refused reaches
// nothing: another name, or none.
func TestNames(t *testing.T) {
	m := serve(t)
	dial, says := lead(t, to(t, m.address, false))
	for _, c := range []struct {
		name   string
		config *tls.Config
		fault  string
	}{
		{"right", &tls.Config{ServerName: "localhost"}, ""},
		{"capitals", &tls.Config{ServerName: "LocalHost"}, ""},
		{"TLS 1.2", &tls.Config{ServerName: "localhost", MaxVersion: tls.VersionTLS12}, ""},
		{"other", &tls.Config{ServerName: "evil.example"}, "names evil.example"},
		{"longer", &tls.Config{ServerName: "localhost.evil.example"}, "names localhost.evil.example"},
		{"above", &tls.Config{ServerName: "a.localhost"}, "names a.localhost"},
		{"Kelvin", &tls.Config{ServerName: "localho\u017ft"}, "names localho\u017ft"},
		{"none", &tls.Config{InsecureSkipVerify: true}, "names no server"},
		{"address", &tls.Config{ServerName: "127.0.0.1"}, "names no server"},
	} {
		before := m.heard.Load()
		c.config.RootCAs = m.roots
		client := tls.Client(dial(), c.config)
		got, err := io.ReadAll(client)
		switch {
		case c.fault == "" && (err != nil || !strings.EqualFold(string(got), c.config.ServerName)):
			t.Errorf("%s: %q, %v", c.name, got, err)
		case c.fault != "" && (err == nil || !strings.Contains(err.Error(), "unrecognized name")):
			t.Errorf("%s: %q, %v, want an alert", c.name, got, err)
		case c.fault != "" && m.heard.Load() != before:
			t.Errorf("%s: the host heard of it", c.name)
		case !strings.Contains(says.String(), c.fault):
			t.Errorf("%s: it says %s", c.name, says)
		}
	}
}

// A name that is encrypted is refused, even if the one that is not is the host's.
func TestEncryptedName(t *testing.T) {
	const host = "api.example.com"
	dial, says := lead(t, to(t, host+":443", false))
	err := tls.Client(dial(), &tls.Config{ServerName: "evil.example", EncryptedClientHelloConfigList: echList(t, host)}).Handshake()
	if err == nil || !strings.Contains(err.Error(), "unrecognized name") || !strings.Contains(says.String(), "encrypted (ECH)") {
		t.Errorf("%v, it says %s", err, says)
	}
}

// echList returns a list of one configuration of ECH (RFC 9849, section 4), whose outer
// ClientHello names a server.
func echList(t *testing.T, outer string) []byte {
	t.Helper()
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	content := []byte{1, 0, 0x20} // config_id, DHKEM(X25519, HKDF-SHA256)
	content = append(binary.BigEndian.AppendUint16(content, 32), key.PublicKey().Bytes()...)
	content = append(content, 0, 4, 0, 1, 0, 1, 32, byte(len(outer))) // HKDF-SHA256, AES-128-GCM; longest name
	content = append(append(content, outer...), 0, 0)
	config := binary.BigEndian.AppendUint16([]byte{0xfe, 0x0d}, uint16(len(content)))
	config = append(config, content...)
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(config))), config...)
}

// first returns the ClientHello of a client for a name.
func first(name string) []byte {
	ours, theirs := net.Pipe()
	go func() {
		_ = tls.Client(theirs, &tls.Config{ServerName: name, InsecureSkipVerify: name == ""}).Handshake()
		theirs.Close()
	}()
	head := make([]byte, 5)
	_, _ = io.ReadFull(ours, head)
	body := make([]byte, binary.BigEndian.Uint16(head[3:]))
	_, _ = io.ReadFull(ours, body)
	ours.Close()
	return append(head, body...)
}

// split returns a record of TLS as several, of n bytes each.
func split(record []byte, n int) (records []byte) {
	for body := record[5:]; len(body) > 0; body = body[min(n, len(body)):] {
		records = binary.BigEndian.AppendUint16(append(records, record[:3]...), uint16(min(n, len(body))))
		records = append(records, body[:min(n, len(body))]...)
	}
	return records
}

// What is no ClientHello, or not all of one in time, is refused without a word to the host.
func TestNoHello(t *testing.T) {
	m := serve(t)
	const late = "i/o timeout"
	whole := first("localhost")
	long := []byte{22, 3, 1, 0x40, 0, 1, 0, 0xff, 0xff} // a handshake of 65535 bytes in records of 16384
	for _, c := range []struct {
		name, fault string
		text        []byte
		end         bool // else the client waits
	}{
		{"HTTP", "first record does not look like a TLS handshake", []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), false},
		{"nothing", late, nil, false},
		{"slow", late, whole[:1], false},
		{"half", "EOF", whole[:len(whole)/2], true},
		{"half, slow", late, whole[:len(whole)-1], false},
		{"long", "more than 16384 bytes", append(long, make([]byte, maxHello)...), false},
		{"SSL 2", "no ClientHello", []byte{0x80, 0x2e, 1, 3, 1, 0, 0x15, 0, 0, 0, 0x10}, true},
		{"alert", "no ClientHello", []byte{21, 3, 1, 0, 2, 2, 40}, true},
	} {
		w := to(t, m.address, false)
		if w.wait = 10 * time.Minute; c.fault == late { // else the machine may be as busy as it likes
			w.wait = 50 * time.Millisecond
		}
		dial, says := lead(t, w)
		client := dial()
		_, _ = client.Write(c.text)
		if c.end {
			_ = client.CloseWrite()
		}
		if got, err := io.ReadAll(client); len(got) > 0 || err != nil && !errors.Is(err, os.ErrClosed) && !strings.Contains(err.Error(), "reset by peer") {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
		if !strings.Contains(says.String(), c.fault) {
			t.Errorf("%s: it says %s", c.name, says)
		}
	}
	if n := m.heard.Load(); n > 0 {
		t.Errorf("the host heard of %d", n)
	}
}

// A ClientHello in several records, and in several writes, is one.
func TestHelloInPieces(t *testing.T) {
	dial, _ := lead(t, to(t, serve(t).address, false))
	whole := first("localhost")
	for _, n := range []int{1, 50, 500} {
		client := dial()
		for _, b := range split(whole, n) {
			if _, err := client.Write([]byte{b}); err != nil {
				t.Fatal(err)
			}
		}
		head := make([]byte, 3)
		if _, err := io.ReadFull(client, head); err != nil || !bytes.Equal(head, []byte{22, 3, 3}) {
			t.Errorf("records of %d: % x, %v, want the handshake of a server", n, head, err)
		}
	}
}

// Without TLS, and at the ports of mail, nothing is looked at: what one says the other hears, to
// the end of each.
func TestPlain(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		all, _ := io.ReadAll(c)
		_, _ = c.Write(bytes.ToUpper(all))
	}()
	dial, _ := lead(t, to(t, l.Addr().String(), true))
	client := dial()
	text := bytes.Repeat([]byte("hello\n"), 1<<18)
	go func() {
		_, _ = client.Write(text)
		_ = client.CloseWrite()
	}()
	if got, err := io.ReadAll(client); err != nil || !bytes.Equal(got, bytes.ToUpper(text)) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for address, want := range map[string]bool{"smtp.example.com:25": true, "smtp.example.com:587": true, "smtp.example.com:465": false, "imap.example.com:993": false} {
		if w, err := To(address, false); err != nil || w.plain != want {
			t.Errorf("%s: %v, %v", address, w.plain, err)
		}
	}
}

// If the host can't be reached, or hangs up, the client hears its end.
func TestNoHost(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	dial, says := lead(t, to(t, address, true))
	if got, err := io.ReadAll(dial()); len(got) > 0 || err != nil || !strings.Contains(says.String(), "refused") {
		t.Errorf("%q, %v, it says %s", got, err, says)
	}
}

func TestTo(t *testing.T) {
	for _, address := range []string{"", "localhost", "localhost:", ":443", "localhost:0", "localhost:https", "localhost:65536", "localhost:0443", "127.0.0.1:443", "[::1]:443", "a:b:443"} {
		if w, err := To(address, false); err == nil {
			t.Errorf("%s: %+v", address, w)
		}
	}
	for _, address := range []string{"localhost:443", "localhost.:443", "127.0.0.1:25"} {
		if w, err := To(address, false); err != nil || strings.HasSuffix(w.host, ".") {
			t.Errorf("%s: %v", address, err)
		}
	}
	if w, err := To("127.0.0.1:11434", true); err != nil || w.Port() != 11434 {
		t.Error(err)
	}
}

// Lines are bounded.
func TestSays(t *testing.T) {
	var s said
	w := Way{Say: s.say, host: "localhost"}
	for range 3 * maxSaid {
		w.say("refused")
	}
	if len(s.lines) != maxSaid+1 || s.lines[maxSaid] != "no more is said of connections to localhost" {
		t.Errorf("%d lines, %q", len(s.lines), s.lines[len(s.lines)-1])
	}
}

// A way ends once nobody has been there for a while, and not while somebody is.
func TestIdle(t *testing.T) {
	l := &told{comes: make(chan net.Conn), late: make(chan bool)}
	leave, ended := make(chan bool), make(chan error)
	go func() { ended <- Serve(l, time.Hour, func(Conn) { <-leave }) }()
	ours, theirs := net.Pipe()
	defer ours.Close()
	l.comes <- struct {
		net.Conn
		closes
	}{Conn: theirs}
	for range 3 {
		select {
		case l.late <- true:
		case err := <-ended:
			t.Fatalf("it ended: %v", err)
		}
	}
	leave <- true
	for {
		select {
		case l.late <- true: // until it is seen that nobody is there
		case err := <-ended:
			if left := time.Until(l.until); err != nil || left <= 0 || left > time.Hour {
				t.Errorf("%v, with %s left", err, left)
			}
			return
		}
	}
}

// A socket's own deadline ends a way, too.
func TestNobodyComes(t *testing.T) {
	l, err := Listen(filepath.Join(t.TempDir(), "s"), "")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := Serve(l, 10*time.Millisecond, func(Conn) { t.Error("somebody came") }); err != nil {
		t.Error(err)
	}
}

// told is a listener to whom a test says who comes, and when the time is over.
type told struct {
	net.Listener
	comes chan net.Conn
	late  chan bool
	until time.Time
}

func (l *told) SetDeadline(t time.Time) error {
	l.until = t
	return nil
}

func (l *told) Accept() (net.Conn, error) {
	select {
	case c := <-l.comes:
		return c, nil
	case <-l.late:
		return nil, os.ErrDeadlineExceeded
	}
}

// closes makes a Conn of a net.Conn.
type closes struct{}

func (closes) CloseWrite() error { return nil }

// There are so many connections at once, and those that come then wait.
func TestMany(t *testing.T) {
	l, err := Listen(filepath.Join(t.TempDir(), "s"), "")
	if err != nil {
		t.Fatal(err)
	}
	var now atomic.Int32
	came, leave, ended := make(chan bool), make(chan bool), make(chan error)
	go func() {
		ended <- Serve(l, 0, func(Conn) {
			if n := now.Add(1); n > maxConns {
				t.Errorf("%d at once", n)
			}
			came <- true
			<-leave
			now.Add(-1)
		})
	}()
	const all = maxConns + 10
	for range all {
		c, err := net.Dial("unix", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	for range maxConns {
		<-came
	}
	go func() {
		for range all {
			leave <- true
		}
	}()
	for range all - maxConns {
		<-came
	}
	l.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// The socket is for one account, and takes the place of one that was left, but of no other file.
func TestListen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	for range 2 {
		l, err := Listen(path, "")
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
		l.Close()
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(file, ""); err == nil {
		t.Error("a file was replaced")
	}
	if _, err := Listen(path, "no-such-account"); err == nil || !strings.Contains(err.Error(), "--owner") {
		t.Error(err)
	}
	if _, err := Handed(); err == nil {
		t.Error("systemd has handed over nothing")
	}
}
