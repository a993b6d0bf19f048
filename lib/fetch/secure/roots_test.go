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
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestMain compares, in a process of its own, because crypto/x509 reads the authorities of
// the system once.
func TestMain(m *testing.M) {
	if os.Getenv("COMPARE_ROOTS") == "" {
		os.Exit(m.Run())
	}
	got, err := Roots()
	want, wrong := x509.SystemCertPool()
	if (err == nil) != (wrong == nil) || err == nil && !got.Equal(want) {
		os.Exit(1)
	}
	if want == nil || want.Equal(x509.NewCertPool()) {
		os.Exit(2)
	}
	os.Exit(0)
}

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

// TestRoots: Roots returns what crypto/x509 does, whatever lies there.
func TestRoots(t *testing.T) {
	dir, empty := t.TempDir(), t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	a, b, c := authority(t, "a"), authority(t, "b"), authority(t, "c")
	bundle := write("bundle", a+b)
	write("each/a.pem", a)
	write("each/b.pem", "of b:\n"+b+"\n")
	write("each/c.pem", c)
	write("each/bundle.crt", a+b)
	for link, target := range map[string]string{"each/hash.0": "c.pem", "each/out.pem": "../bundle", "each/loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	each := filepath.Join(dir, "each")
	key := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}))
	const some, none = 0, 2 // authorities
	for name, c := range map[string]struct {
		file, dirs string
		want       int
	}{
		"of this system":       {"", "", some},
		"a bundle alone":       {bundle, empty, some},
		"and each beside it":   {bundle, each, some},
		"each alone":           {filepath.Join(dir, "none"), each, some},
		"two directories":      {bundle, empty + ":" + each, some},
		"the same twice":       {bundle, each + ":" + each, some},
		"no such directory":    {bundle, filepath.Join(dir, "none"), some},
		"nothing":              {filepath.Join(dir, "none"), filepath.Join(dir, "none"), none},
		"a directory as file":  {dir, empty, none},
		"and as one with some": {dir, each, some},
		"words between":        {write("words", "one\n"+a+"two\n"+key+b+"three"), empty, some},
		"cut short":            {write("cut", a+b[:len(b)/2]), empty, some},
		"cut before another":   {write("middle", a[:len(a)/2]+b), empty, none},
		"not a certificate":    {write("garbage", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"+a), empty, some},
		"with CR":              {write("cr", "\r\n"+a+"\r\n"+a), empty, some},
		"two on a line":        {write("line", a[:len(a)-1]+b), empty, none},
		"no newline at all":    {write("bare", a[:len(a)-1]), empty, some},
	} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "COMPARE_ROOTS=1", "SSL_CERT_FILE="+c.file, "SSL_CERT_DIR="+c.dirs)
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != c.want {
			t.Errorf("%s: %v, want %d", name, err, c.want)
		}
	}
}
