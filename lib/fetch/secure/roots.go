package secure

import (
	"crypto/x509"
	"os"
)

// bundles are the files in which distributions keep the authorities that they trust, as
// crypto/x509 has them for Linux.
var bundles = []string{
	"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
	"/etc/pki/tls/cacert.pem", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem",
}

// Roots returns the authorities of the system: those of its first bundle. x509.SystemCertPool,
// which answers where there is none or SSL_CERT_FILE or SSL_CERT_DIR is set, also reads
// each file beside a bundle, which costs a command that finds no new mail a third more.
func Roots() (*x509.CertPool, error) {
	if os.Getenv("SSL_CERT_FILE") != "" || os.Getenv("SSL_CERT_DIR") != "" {
		return x509.SystemCertPool()
	}
	for _, name := range bundles {
		b, err := os.ReadFile(name)
		if pool := x509.NewCertPool(); err == nil && pool.AppendCertsFromPEM(b) {
			return pool, nil
		}
	}
	return x509.SystemCertPool()
}
