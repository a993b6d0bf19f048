package secure

import (
	"crypto/x509"
	"errors"
	"os"

	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
)

// bundles are the files in which distributions keep the authorities that they trust, as
// crypto/x509 has them for Linux.
var bundles = []string{
	"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
	"/etc/pki/tls/cacert.pem", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem",
}

// Roots returns the authorities of the system: those of its first bundle, or of SSL_CERT_FILE instead,
// and a usage error if that has none. x509.SystemCertPool, which answers where there is no bundle or
// SSL_CERT_DIR is set, also reads each file beside a bundle, whatever SSL_CERT_FILE is: that trusts
// what nobody named, and costs a command that finds no new mail twice as much.
func Roots() (*x509.CertPool, error) {
	if os.Getenv("SSL_CERT_DIR") != "" {
		return x509.SystemCertPool()
	}
	if name := os.Getenv("SSL_CERT_FILE"); name != "" {
		pool, err := bundle(name)
		if err != nil {
			return nil, fault.Usagef("ls -l "+escape.Shell(name), "SSL_CERT_FILE: %w", err)
		}
		return pool, nil
	}
	for _, name := range bundles {
		if pool, err := bundle(name); err == nil {
			return pool, nil
		}
	}
	return x509.SystemCertPool()
}

func bundle(name string) (*x509.CertPool, error) {
	b, err := os.ReadFile(name)
	pool := x509.NewCertPool()
	if err == nil && !pool.AppendCertsFromPEM(b) {
		err = errors.New(name + ": no certificate in PEM form")
	}
	return pool, err
}
