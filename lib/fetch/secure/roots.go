package secure

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// bundles are the files of authorities of distributions, of which the first one counts, and
// directories are those of which every file does: as crypto/x509 has them for Linux.
var (
	bundles = []string{
		"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
		"/etc/pki/tls/cacert.pem", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem",
	}
	directories = []string{"/etc/ssl/certs", "/etc/pki/tls/certs"}
)

// Roots returns the authorities that x509.SystemCertPool returns. On Debian each of them
// stands in a bundle, in a file of its own beside it, and so does the bundle.
// SystemCertPool takes them apart three times, Roots once: most of what a command
// costs that finds no new mail.
func Roots() (*x509.CertPool, error) {
	l := loader{pool: x509.NewCertPool(), seen: map[string]bool{}}
	files, dirs := bundles, directories
	if f := os.Getenv("SSL_CERT_FILE"); f != "" {
		files = []string{f}
	}
	if d := os.Getenv("SSL_CERT_DIR"); d != "" {
		dirs = strings.Split(d, ":")
	}
	for _, name := range files {
		if l.file(name) == nil {
			break
		}
	}
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		l.note(err)
		for _, e := range entries {
			if name := filepath.Join(dir, e.Name()); err == nil && !within(name, e) {
				_ = l.read(name)
			}
		}
	}
	if l.pool.Equal(x509.NewCertPool()) && l.first != nil {
		return nil, l.first
	}
	return l.pool, nil
}

// within reports whether an entry is a symbolic link to another one of the same directory.
func within(name string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return false
	}
	target, err := os.Readlink(name)
	return err == nil && !strings.Contains(target, "/")
}

// loader collects authorities.
type loader struct {
	pool  *x509.CertPool
	seen  map[string]bool // the texts that are in the pool
	text  []byte          // of the last file
	first error           // why something could not be read that is there
}

func (l *loader) file(name string) error {
	err := l.read(name)
	l.note(err)
	return err
}

func (l *loader) note(err error) {
	if !errors.Is(err, fs.ErrNotExist) {
		l.first = cmp.Or(l.first, err)
	}
}

// The lines around a certificate.
var (
	firstLine = []byte("-----BEGIN CERTIFICATE-----\n")
	lastLine  = []byte("-----END CERTIFICATE-----\n")
)

// read adds the certificates of a file. A text that was added before adds nothing.
func (l *loader) read(name string) error {
	b, err := content(name, l.text[:0])
	if l.text = b; err != nil || l.seen[string(b)] {
		return err
	}
	for len(b) > 0 {
		n, ended := end(b)
		text := b[:n]
		b = b[n:]
		if !l.seen[string(text)] {
			l.seen[string(text)] = true
			l.add(text, ended)
		}
	}
	return nil
}

// end returns where the first certificate ends. Its own lines have no hyphen.
func end(b []byte) (n int, ended bool) {
	for ; ; n++ {
		i := bytes.IndexByte(b[n:], '-')
		if i < 0 {
			return len(b), false
		}
		if n += i; bytes.HasPrefix(b[n:], lastLine) {
			return n + len(lastLine), true
		}
	}
}

// add adds the certificate of a text, or several if it is not ended. What is written as
// everybody writes it needs no search for what may stand around it.
func (l *loader) add(text []byte, ended bool) {
	body, plain := bytes.CutPrefix(text, firstLine)
	body = bytes.TrimSuffix(body, lastLine)
	if plain = plain && ended && bytes.HasSuffix(body, []byte("\n")); plain {
		der, err := base64.StdEncoding.AppendDecode(nil, body)
		if plain = err == nil; plain {
			if c, err := x509.ParseCertificate(der); err == nil {
				l.pool.AddCert(c)
			}
		}
	}
	if !plain {
		l.pool.AppendCertsFromPEM(text)
	}
}

// content appends what a file holds.
func content(name string, b []byte) ([]byte, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return b, err
	}
	defer unix.Close(fd)
	for {
		b = slices.Grow(b, 32<<10)
		n, err := unix.Read(fd, b[len(b):cap(b)])
		switch {
		case err == unix.EINTR:
		case err != nil || n == 0:
			return b, err
		default:
			b = b[:len(b)+n]
		}
	}
}
