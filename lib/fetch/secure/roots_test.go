package secure

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pulse/lib/shared/fault"
)

// authority returns a certificate in PEM form.
func authority(t *testing.T, name string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// TestRoots: the first bundle that has an authority counts, and crypto/x509 where none has.
func TestRoots(t *testing.T) {
	t.Setenv("SSL_CERT_FILE", "")
	t.Setenv("SSL_CERT_DIR", "")
	defer func(of []string) { bundles = of }(bundles)
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	a, b := authority(t, "a"), authority(t, "b")
	none, empty, first, second := filepath.Join(dir, "none"), write("empty", "text\n"), write("first", "of a:\n"+a), write("second", a+b)
	pool := func(text string) *x509.CertPool {
		p := x509.NewCertPool()
		p.AppendCertsFromPEM([]byte(text))
		return p
	}
	system, err := x509.SystemCertPool()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		files []string
		want  *x509.CertPool
	}{
		"the first":           {[]string{first, second}, pool(a)},
		"of two":              {[]string{second, first}, pool(a + b)},
		"not one without":     {[]string{none, dir, empty, second}, pool(a + b)},
		"those of the system": {[]string{none, empty}, system},
	} {
		bundles = c.files
		if got, err := Roots(); err != nil || !got.Equal(c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	bundles = []string{second}
	t.Setenv("SSL_CERT_FILE", first)
	if got, err := Roots(); err != nil || !got.Equal(pool(a)) {
		t.Errorf("with SSL_CERT_FILE: %v", err)
	}
	for _, name := range []string{none, empty} {
		t.Setenv("SSL_CERT_FILE", name)
		if got, err := Roots(); fault.KindOf(err) != fault.Usage || got != nil {
			t.Errorf("with SSL_CERT_FILE=%s: %v", name, err)
		}
	}
	t.Setenv("SSL_CERT_DIR", dir)
	if got, err := Roots(); err != nil || !got.Equal(system) {
		t.Errorf("with SSL_CERT_DIR: %v", err)
	}
}
