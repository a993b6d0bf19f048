package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"pulse/lib/fetch/message"
	"pulse/lib/fetch/webhook"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/safefile"
)

// Webhook reads a spool of HTTP requests, one a file, as a web server received them. A
// file's modification time is when the request came. Any program that can write to the
// directory passes for the web server: only the signature counts (lib/fetch/webhook).
type Webhook struct {
	Dir  string
	Keys webhook.Keys
}

// Hook is what a request has besides the text, which is in Raw.
type Hook struct {
	ID, Digest string
	Size       int64 // of the body, or of the whole file if that is over its bounds
	Verdict    envelope.Webhook

	Sender        *envelope.Sender // whom a platform names; nil: nobody who is proven
	From, Subject string
}

// OpenWebhook reads the secrets, and checks that dir is a directory to which not everyone
// may write.
func OpenWebhook(dir, secrets string) (*Webhook, error) {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return nil, fault.Usagef("", "%w", err)
	case !info.IsDir():
		return nil, fault.Usagef("", "%s: is not a directory", dir)
	case info.Mode().Perm()&0o002 != 0:
		return nil, fault.Usagef("chmod o-w "+dir, "%s: %w", dir, safefile.ErrWritable)
	case secrets == "":
		return nil, fault.Usagef("--webhook-secret-file FILE",
			"no secret: without one no request could be verified")
	}
	b, err := safefile.ReadSecret(secrets, webhook.MaxKeyFile)
	if err != nil {
		return nil, SecretError("--webhook-secret-file", secrets, err)
	}
	keys, err := webhook.ParseKeys(b)
	if err != nil {
		return nil, fault.Usagef("", "--webhook-secret-file %s: %w", secrets, err)
	}
	return &Webhook{dir, keys}, nil
}

// SecretError returns the error for a file with a secret that could not be read, with what
// to type. A name that leads nowhere is not repeated unless its directory exists, because
// it may be the secret itself, typed in place of a name.
func SecretError(flag, path string, err error) error {
	switch {
	case errors.Is(err, safefile.ErrReadable):
		return fault.Usagef("chmod 600 "+path, "%s: %w", flag, err)
	case !isThere(path) && !inDirectory(path):
		return fault.Usagef(flag+" wants the name of a FILE; to make one: (umask 077; cat >./NAME)",
			"%s: %w", flag, syscall.ENOENT)
	case errors.Is(err, fs.ErrNotExist):
		return fault.Usagef("(umask 077; cat >"+path+")", "%s: %w", flag, err)
	}
	return fault.Usagef("", "%s: %w", flag, err)
}

func inDirectory(path string) bool {
	dir := filepath.Dir(path)
	return strings.Contains(path, "/") && dir != "/" && isThere(dir)
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// spooled is a request that lies in the spool.
type spooled struct {
	name     string
	received time.Time
}

// errOdd reports a name in the spool that is not a file. It does not hold up the others.
var errOdd = errors.New("it is not a regular file")

// Each implements Source, by time, then name. A file that is gone again was removed by the
// program that keeps the spool. What is not a file, or may not be read, is skipped and
// reported at the end, because a person has to look.
func (s *Webhook) Each(ctx context.Context, yield func(*Message) error) error {
	files, odd, err := s.list()
	if err != nil {
		return err
	}
	buf := make([]byte, 0, 64<<10)
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		var received time.Time
		buf, received, err = s.read(f.name, buf)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case errors.Is(err, errOdd) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ELOOP):
			odd = cmp.Or(odd, f.name)
			continue
		case err != nil:
			return err
		}
		m := s.message(buf, received)
		if m == nil {
			continue
		}
		if err := yield(m); err != nil {
			return err
		}
	}
	if odd != "" {
		return fault.Failedf("ls -l "+filepath.Join(s.Dir, odd),
			"webhook:%s: %s is not a file that can be read", s.Dir, odd)
	}
	return nil
}

// list returns the requests in the spool, oldest first, and the first name that is not a
// regular file. Names that begin with a dot or end with .tmp are passed over: under such a
// name a writer makes a file, before it renames it.
func (s *Webhook) list() (files []spooled, odd string, err error) {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return nil, "", err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || strings.HasSuffix(e.Name(), ".tmp") {
			continue
		}
		info, err := e.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, "", err
		case !info.Mode().IsRegular():
			odd = cmp.Or(odd, e.Name())
		default:
			files = append(files, spooled{e.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(files, func(a, b spooled) int {
		return cmp.Or(a.received.Compare(b.received), strings.Compare(a.name, b.name))
	})
	return files, odd, nil
}

// maxRequest is more than a request may hold, so lib/fetch/webhook refuses one that is cut here.
const maxRequest = webhook.MaxHeader + webhook.MaxBody + 8

// read reads a file into buf, and returns its time. If a link or a FIFO was put in its
// place since it was listed, read neither follows it nor waits for it.
func (s *Webhook) read(name string, buf []byte) (b []byte, received time.Time, err error) {
	path := filepath.Join(s.Dir, name)
	flags := os.O_RDONLY | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	f, err := os.OpenFile(path, flags|syscall.O_NOATIME, 0)
	if errors.Is(err, syscall.EPERM) {
		f, err = os.OpenFile(path, flags, 0)
	}
	if err != nil {
		return buf, received, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return buf, received, err
	}
	if !info.Mode().IsRegular() {
		return buf, received, fmt.Errorf("%s: %w", path, errOdd)
	}
	rd := reader{buf: buf}
	err = rd.fill(f, maxRequest)
	return rd.buf, info.ModTime(), err
}

// message turns a request into a message. Its body is rendered like that of a mail of the
// same type. Its header is not handed on. It returns nil for what a platform has signed and
// is not an ask.
func (s *Webhook) message(b []byte, received time.Time) *Message {
	r := webhook.Read(b)
	m := &Message{Source: policy.WebhookPrefix + s.Dir, Received: received}
	m.Hook = &Hook{
		ID: r.MessageID(), Digest: r.Digest(), Size: int64(len(r.Body)), Verdict: r.Verify(s.Keys, received),
	}
	if r.Body == nil {
		m.Hook.Size = int64(len(b))
	}
	text, kind := r.Body, rendered(r.Type)
	if s.Keys.Platform() {
		m.Hook.ID = r.Digest()
		a, err := r.Ask(s.Keys, &m.Hook.Verdict)
		switch {
		case err != nil:
		case a == nil:
			return nil
		default:
			m.Hook.named(a)
			text, kind = []byte(a.Text), rendered("")
		}
	}
	head := "Content-Type: " + kind + "\r\n\r\n"
	m.Raw = message.Raw{
		Header: []byte(head), Body: text, Partial: r.Body == nil,
		Size: int64(len(head) + len(text)),
	}
	return m
}

// named fills in what the body of a platform's request says.
func (h *Hook) named(a *webhook.Ask) {
	h.ID, h.Sender, h.From, h.Subject = a.ID, &a.Sender, a.From, a.Subject
	if !a.At.IsZero() {
		h.Verdict.Timestamp = a.At
	}
}

// rendered returns the type as which a body is read. What programs write as text is read
// as text. A multipart body, or one of an unknown type, is listed and not read.
func rendered(kind string) string {
	switch {
	case kind == "text/html":
		return "text/html; charset=utf-8"
	case kind == "", strings.HasPrefix(kind, "text/"),
		strings.HasSuffix(kind, "+json"), strings.HasSuffix(kind, "+xml"),
		kind == "application/json", kind == "application/xml", kind == "application/x-www-form-urlencoded":
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}
