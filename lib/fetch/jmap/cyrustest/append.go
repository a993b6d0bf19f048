package cyrustest

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
)

// Dial logs in over IMAP, by which tests put mail into the mailbox.
func (s *Server) Dial(t testing.TB) *imapclient.Client {
	t.Helper()
	pemBytes, err := os.ReadFile(s.CA)
	check(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pemBytes)
	c, err := imapclient.DialTLS(s.IMAP, &imapclient.Options{TLSConfig: &tls.Config{RootCAs: roots}})
	check(t, err)
	t.Cleanup(func() { c.Close() })
	check(t, c.Login(User, Password).Wait())
	return c
}

// Append puts a message into a mailbox. Cyrus refuses some that are broken.
func Append(c *imapclient.Client, mailbox string, message []byte, received time.Time) error {
	cmd := c.Append(mailbox, int64(len(message)), &imap.AppendOptions{Time: received})
	if _, err := cmd.Write(message); err != nil {
		return err
	}
	if err := cmd.Close(); err != nil {
		return err
	}
	_, err := cmd.Wait()
	return err
}
