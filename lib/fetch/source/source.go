// Package source reads raw messages from where they lie on this machine: a Maildir,
// an mbox, files, standard input, a spool of webhook requests. lib/fetch/message parses them.
// Source is the interface of all of them; lib/fetch/mailbox has the source on a server.
//
// Invariant: it only reads. Nothing is written, renamed or flagged anywhere. Memory
// is bounded by one message. Caveat: the time at which a message came is that of its file
// or in its From_ line, which anyone who may write there can set.
package source

import (
	"context"
	"io"
	"time"

	"pulse/lib/fetch/message"
	"pulse/lib/shared/envelope"
)

// Message is one message as its source has it. Its bytes are valid only during the call
// of yield that gets it.
type Message struct {
	message.Raw
	Source           string          // as message.source in the record
	UID, UIDValidity uint32          // IMAP (RFC 9051 §2.3.1.1), or a position of lib/fetch/pull
	Name             string          // what the source calls it, if that is not its UID
	Received         time.Time       // zero if the source does not know
	Hook             *Hook           // requests only
	Defect           envelope.Defect // a defect that follows from the source alone, or empty
	Unavailable      error           // why the source can't give it; there are no bytes then
}

// Source yields its messages, oldest first. Each ends, and returns the error as it is, when
// yield fails or ctx ends.
type Source interface {
	Each(ctx context.Context, yield func(*Message) error) error
}

// beginning returns how many bytes of a message file are read for a body window: more
// header than is kept, so that message.Parse sees that it is too long.
func beginning(window int64) int64 { return message.MaxHeader + 2 + window }

// Reader reads one message after the other into the same memory, for sources elsewhere.
type Reader struct{ reader }

// NewReader returns a Reader that keeps so many bytes of a body.
func NewReader(window int64) *Reader { return &Reader{reader{window: window}} }

// Read reads a message from r, which holds size bytes, or an unknown number if size is -1.
// What it returns is valid until the next call.
func (rd *Reader) Read(r io.Reader, size int64) (message.Raw, error) { return rd.read(r, size) }

// reader reads one message after the other into the same memory.
type reader struct {
	window int64
	buf    []byte
}

// read reads the beginning of r, which holds size bytes. If size is -1, it is unknown, and
// r is read further, up to message.MaxMessage, to find it out. If the message is too large,
// only its header is read: nothing else of it is used.
func (rd *reader) read(r io.Reader, size int64) (message.Raw, error) {
	limit := beginning(rd.window)
	if size > message.MaxMessage {
		limit = beginning(0)
	}
	if size >= 0 {
		limit = min(size, limit)
		rd.grow(int(limit))
	}
	if err := rd.fill(r, int(limit)); err != nil {
		return message.Raw{}, err
	}
	got := int64(len(rd.buf))
	if size < 0 && got == limit {
		n, err := io.Copy(io.Discard, io.LimitReader(r, max(message.MaxMessage+1-got, 1)))
		if err != nil {
			return message.Raw{}, err
		}
		size = got + n
	}
	size = max(size, got)
	return message.Raw{Header: rd.buf, Size: size, Partial: got < size}, nil
}

// grow makes room for n bytes and drops what was there.
func (rd *reader) grow(n int) {
	if cap(rd.buf) < n {
		rd.buf = nil // free it first: there is room for one large message, not two
		rd.buf = make([]byte, 0, n)
	}
}

// fill reads up to n bytes into rd.buf.
func (rd *reader) fill(r io.Reader, n int) error {
	rd.buf = rd.buf[:0]
	for len(rd.buf) < n {
		if len(rd.buf) == cap(rd.buf) {
			size := max(64<<10, 4*cap(rd.buf))
			if size > 1<<20 {
				size = n // all of it at once: doubling would hold the message twice
			}
			rd.buf = append(make([]byte, 0, min(size, n)), rd.buf...)
		}
		got, err := r.Read(rd.buf[len(rd.buf):min(cap(rd.buf), n)])
		rd.buf = rd.buf[:len(rd.buf)+got]
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Refused is an error of a server that refuses the login: it would be refused again.
type Refused struct{ Err error }

func (r Refused) Error() string { return r.Err.Error() }
func (r Refused) Unwrap() error { return r.Err }
