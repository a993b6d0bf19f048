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

// everything returns all authorities in r.
func everything(r *Roots) *x509.CertPool {
	all := x509.NewCertPool()
	if r.pool != nil {
		all = r.pool.Clone()
	}
	for _, b := range r.pem {
		all.AppendCertsFromPEM(b)
	}
	return all
}

// issued returns a certificate for a.example, signed by one that is an authority or, if nil, by itself.
func issued(t *testing.T, name string, by *issuer, serial int64) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: name != "leaf", BasicConstraintsValid: true, DNSNames: []string{"a.example"},
	}
	if name != "" {
		c.Subject.CommonName = name
	}
	parent, signer := c, key
	if by != nil {
		parent, signer = by.Certificate, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return &issuer{c, key}
}

type issuer struct {
	*x509.Certificate
	key *ecdsa.PrivateKey
}

func (i *issuer) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.Raw}))
}

// TestVouching: whatever a server shows, what is found of the authorities decides as all of them do.
func TestVouching(t *testing.T) {
	root, twin, other, nameless := issued(t, "root", nil, 1), issued(t, "root", nil, 2), issued(t, "other", nil, 3), issued(t, "", nil, 4)
	between := issued(t, "between", root, 5)
	leaf, own, direct, bare := issued(t, "leaf", between, 6), issued(t, "leaf", nil, 7), issued(t, "leaf", root, 8), issued(t, "leaf", nameless, 9)
	certs := []*issuer{root, twin, other, nameless, between, leaf, own, direct, bare}
	chains := [][]*x509.Certificate{
		{leaf.Certificate, between.Certificate}, {leaf.Certificate, between.Certificate, root.Certificate}, {leaf.Certificate},
		{leaf.Certificate, other.Certificate, between.Certificate}, {own.Certificate}, {direct.Certificate}, {direct.Certificate, twin.Certificate},
		{bare.Certificate}, {root.Certificate}, {between.Certificate, leaf.Certificate},
	}
	trusted := 0
	for bits := range 1 << len(certs) {
		text := "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
		for i, c := range certs {
			if bits>>i&1 == 1 {
				text += c.pem()
			}
		}
		roots, all := &Roots{}, x509.NewCertPool()
		if roots.AppendPEM([]byte(text)) != all.AppendCertsFromPEM([]byte(text)) {
			t.Fatalf("%b: not as many", bits)
		}
		for n, chain := range chains {
			for _, host := range []string{"a.example", "b.example"} {
				between := x509.NewCertPool()
				for _, c := range chain[1:] {
					between.AddCert(c)
				}
				_, want := chain[0].Verify(x509.VerifyOptions{DNSName: host, Roots: all, Intermediates: between})
				got := verify(chain, host, roots)
				if want == nil && got == nil {
					trusted++
				}
				if (want == nil) != (got == nil) || want != nil && got.Error() != "tls: failed to verify certificate: "+want.Error() {
					t.Fatalf("%b, chain %d, %s: %v, want %v", bits, n, host, got, want)
				}
			}
			if verify(chain, "", roots) == nil || verify(nil, "a.example", roots) == nil {
				t.Fatal("without a name, or without a certificate")
			}
		}
	}
	if trusted == 0 {
		t.Error("nothing is trusted")
	}
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
		if got, err := System(); err != nil || !everything(got).Equal(c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	bundles = []string{second}
	t.Setenv("SSL_CERT_FILE", first)
	if got, err := System(); err != nil || !everything(got).Equal(pool(a)) {
		t.Errorf("with SSL_CERT_FILE: %v", err)
	}
	for _, name := range []string{none, empty} {
		t.Setenv("SSL_CERT_FILE", name)
		if got, err := System(); fault.KindOf(err) != fault.Usage || got != nil {
			t.Errorf("with SSL_CERT_FILE=%s: %v", name, err)
		}
	}
	t.Setenv("SSL_CERT_DIR", dir)
	if got, err := System(); err != nil || !everything(got).Equal(system) {
		t.Errorf("with SSL_CERT_DIR: %v", err)
	}
}
