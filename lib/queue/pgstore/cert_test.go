package pgstore_test

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"pulse/lib/queue/pgstore"
	"pulse/lib/queue/store"
	"pulse/lib/shared/fault"
)

// greeter is a server that speaks TLS, and then ends the connection.
func greeter(t *testing.T, cfg *tls.Config) (port string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = io.ReadFull(c, make([]byte, 8)) // SSLRequest
			_, _ = c.Write([]byte("S"))
			s := tls.Server(c, cfg)
			if s.Handshake() == nil {
				_, _ = s.Read(make([]byte, 1))
			}
			c.Close()
		}
	}()
	_, port, _ = net.SplitHostPort(ln.Addr().String())
	return port
}

// TestCertificate: a certificate that is not good is a matter of configuration; a server that
// ends the connection is away.
func TestCertificate(t *testing.T) {
	web := httptest.NewUnstartedServer(nil) // for its certificate, which is of 127.0.0.1 and example.com
	web.StartTLS()
	defer web.Close()
	own := web.TLS.Certificates
	root := filepath.Join(t.TempDir(), "root.crt")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})
	if err := os.WriteFile(root, block, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PGSSLMODE", "verify-full")
	t.Setenv("PGSSLROOTCERT", root)
	kind := func(host string, cfg *tls.Config) (fault.Kind, error) {
		t.Helper()
		_, err := pgstore.Open(context.Background(), "postgres://ann@"+host+":"+greeter(t, cfg)+"/q")
		if err == nil {
			t.Fatal("it is open")
		}
		return fault.KindOf(err), err
	}
	good := &tls.Config{Certificates: own}
	if k, err := kind("127.0.0.1", good); k != fault.Temporary || !errors.Is(err, store.ErrAway) {
		t.Errorf("a server that is away: %v", err)
	}
	if k, err := kind("localhost", good); k != fault.Usage {
		t.Errorf("another name: %v", err)
	}
	if k, err := kind("127.0.0.1", &tls.Config{Certificates: own, ClientAuth: tls.RequireAnyClientCert}); k != fault.Usage {
		t.Errorf("no certificate of the login: %v", err)
	}
	t.Setenv("PGSSLROOTCERT", "/etc/ssl/certs/ca-certificates.crt")
	if k, err := kind("127.0.0.1", good); k != fault.Usage {
		t.Errorf("of no authority that is known: %v", err)
	}
}
