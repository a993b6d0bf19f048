// Package secure connects to a server of mail and does the TLS handshake with it.
//
// Invariant: TLS 1.2 or later, and the server proves its name; nothing switches that off.
// What a server sends before it is read takes a bounded part of the kernel's memory.
// Caveat: which authorities are trusted is the caller's choice.
package secure

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"

	"pulse/lib/shared/fault"
)

// Client returns conn with TLS on top, which speaks the protocol (RFC 7301). If roots is nil,
// the system's authorities are trusted. If the handshake fails, conn is closed.
func Client(
	ctx context.Context, conn net.Conn, host, protocol string, roots *Roots,
) (*tls.Conn, error) {
	secure := tls.Client(conn, &tls.Config{
		ServerName: host,
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{protocol},
		// crypto/tls would want all authorities before it knows which of them matter.
		InsecureSkipVerify: true,
		VerifyConnection:   func(s tls.ConnectionState) error { return verify(s.PeerCertificates, host, roots) },
	})
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, explain(err)
	}
	return secure, nil
}

// verify demands what crypto/tls does of a client's server: a chain of certificates from a trusted
// authority to one for the host. The error is the same.
func verify(chain []*x509.Certificate, host string, roots *Roots) error {
	if len(chain) == 0 || host == "" {
		return errors.New("no certificate, or no name that it must be for")
	}
	opt := x509.VerifyOptions{DNSName: host, Intermediates: x509.NewCertPool()}
	if roots != nil {
		opt.Roots = roots.vouching(chain)
	}
	for _, cert := range chain[1:] {
		opt.Intermediates.AddCert(cert)
	}
	if _, err := chain[0].Verify(opt); err != nil {
		return &tls.CertificateVerificationError{UnverifiedCertificates: chain, Err: err}
	}
	return nil
}

// ErrStalled reports a server that does not answer in time.
var ErrStalled = errors.New("the server keeps us waiting")

// explain tells a certificate that is not trusted, and will not be next time, from a network
// that fails.
func explain(err error) error {
	var cert *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &unknown):
		return fault.Failedf("--tls-ca FILE trusts the authority in FILE", "TLS: %w", err)
	case errors.As(err, &name):
		return fault.Failedf("use the host name that the certificate is for", "TLS: %w", err)
	case errors.As(err, &cert):
		return fault.Failedf("", "TLS: %w", err)
	case errors.As(err, &record):
		return fault.Temporaryf("the port must be one that begins with TLS; imap:// is for one with STARTTLS",
			"TLS: the server sends something else")
	case errors.Is(err, context.DeadlineExceeded):
		return fault.Temporaryf("", "TLS: %w", ErrStalled)
	}
	return fault.Temporaryf("", "TLS: %w", err)
}
