package way

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"
)

// given is a connection from which bytes are read.
type given struct {
	net.Conn
	io.Reader
}

func (g given) Read(p []byte) (int, error) { return g.Reader.Read(p) }

// What is read of a client is passed on as it was, and never more of it than a ClientHello may
// have. A name that is accepted stands there.
func FuzzHello(f *testing.F) {
	for _, name := range []string{"api.example.com", "evil.example", ""} {
		whole := first(name)
		f.Add(whole)
		f.Add(split(whole, 100))
		f.Add(whole[:len(whole)/2])
	}
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte{22, 3, 1, 0x40, 0, 1, 0, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, text []byte) {
		h, read, err := hello(given{Reader: bytes.NewReader(text)})
		if err != nil {
			if h != nil || read != nil {
				t.Errorf("%v, and %+v", err, h)
			}
			return
		}
		if len(read) > maxHello || !bytes.HasPrefix(text, read) {
			t.Errorf("%d bytes were read of %d", len(read), len(text))
		}
		const host = "api.example.com"
		inOne := 5+int(binary.BigEndian.Uint16(text[3:])) >= len(read) // record, else the name may be split
		if judge(h, host) == nil && inOne && !bytes.Contains(bytes.ToLower(read), []byte(host)) {
			t.Errorf("%q is not there", host)
		}
	})
}
