package secure

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"iter"
	"os"
	"slices"

	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
)

// Roots are the authorities that are trusted; the zero value trusts none. Those in PEM form are read
// once a server has shown its certificates, and only those that these name: a system has 150, which
// took a command that finds no new mail a sixth of its time.
type Roots struct {
	pool *x509.CertPool // may be nil
	pem  [][]byte
}

// Pool returns the authorities of a pool.
func Pool(p *x509.CertPool) *Roots { return &Roots{pool: p} }

// AppendPEM adds the certificates in b, which stays as it is, and reports whether there are any.
func (r *Roots) AppendPEM(b []byte) bool {
	for der := range certificates(b) {
		if _, err := x509.ParseCertificate(der); err == nil {
			r.pem = append(r.pem, b)
			return true
		}
	}
	return false
}

// certificates returns what crypto/x509 takes for certificates in b, in DER form.
func certificates(b []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for block, rest := pem.Decode(b); block != nil; block, rest = pem.Decode(rest) {
			if block.Type == "CERTIFICATE" && len(block.Headers) == 0 && !yield(block.Bytes) {
				return
			}
		}
	}
}

// vouching returns those of r that a verification of chain can look at: authorities have the name
// of an issuer in it, or are its first certificate. There may be others among them.
func (r *Roots) vouching(chain []*x509.Certificate) *x509.CertPool {
	pool := x509.NewCertPool()
	if r.pool != nil {
		pool = r.pool.Clone()
	}
	names := [][]byte{chain[0].RawSubject}
	for _, cert := range chain {
		names = append(names, cert.RawIssuer)
	}
	for _, b := range r.pem {
		for der := range certificates(b) {
			if !slices.ContainsFunc(names, func(name []byte) bool { return bytes.Contains(der, name) }) {
				continue
			}
			if cert, err := x509.ParseCertificate(der); err == nil {
				pool.AddCert(cert)
			}
		}
	}
	return pool
}

// bundles are the files in which distributions keep the authorities that they trust, as
// crypto/x509 has them for Linux.
var bundles = []string{
	"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
	"/etc/pki/tls/cacert.pem", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem",
}

// System returns the authorities of the system: those of its first bundle, or of SSL_CERT_FILE instead,
// and a usage error if that has none. x509.SystemCertPool, which answers where there is no bundle or
// SSL_CERT_DIR is set, also reads each file beside a bundle, whatever SSL_CERT_FILE is: that trusts
// what nobody named, and costs a command that finds no new mail twice as much.
func System() (*Roots, error) {
	if os.Getenv("SSL_CERT_DIR") != "" {
		return system()
	}
	if name := os.Getenv("SSL_CERT_FILE"); name != "" {
		roots, err := bundle(name)
		if err != nil {
			return nil, fault.Usagef("ls -l "+escape.Shell(name), "SSL_CERT_FILE: %w", err)
		}
		return roots, nil
	}
	for _, name := range bundles {
		if roots, err := bundle(name); err == nil {
			return roots, nil
		}
	}
	return system()
}

func system() (*Roots, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, err
	}
	return Pool(pool), nil
}

func bundle(name string) (*Roots, error) {
	b, err := os.ReadFile(name)
	roots := &Roots{}
	if err == nil && !roots.AppendPEM(b) {
		err = errors.New(name + ": no certificate in PEM form")
	}
	return roots, err
}
