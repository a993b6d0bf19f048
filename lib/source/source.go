// Package source reads raw messages from where they lie on this machine: a Maildir,
// an mbox, files, standard input, a spool of webhook requests. It understands no
// message; lib/message does. What all sources have in common is here as well;
// lib/mailbox is the one on a server.
//
// Invariant: it only reads. Nothing is written, renamed or flagged anywhere. Memory
// is bounded by one message. Caveat: when a message came is what the file or the
// From_ line says, and whoever may write there may say anything.
package source

import (
	"context"
	"io"
	"time"

	"pulse/lib/envelope"
	"pulse/lib/message"
)

// Message is one message as its source has it. The bytes are valid until the
// function that was handed it returns.
type Message struct {
	message.Raw
	Source           string          // as message.source in the record
	UID, UIDValidity uint32          // IMAP only (RFC 9051 §2.3.1.1)
	Received         time.Time       // zero where the source does not know
	Hook             *Hook           // requests only
	Defect           envelope.Defect // what its source alone makes of it, or empty
	Unavailable      error           // why the source can't give it: then there are no bytes
}

// Source yields its messages, oldest first. An error of yield ends Each and is
// returned as it is; so does the end of ctx.
type Source interface {
	Each(ctx context.Context, yield func(*Message) error) error
}

// beginning is how many bytes of a message file are read for a body window: more
// header than is kept, so that message.Parse sees that it is too much.
func beginning(window int64) int64 { return message.MaxHeader + 2 + window }

// reader reads one message after the other into the same memory.
type reader struct {
	window int64
	buf    []byte
}

// read reads the beginning of r, which holds size bytes; -1 means unknown, and
// then r is read on, up to message.MaxMessage, to learn it. Of a message that is
// too large only the header is of use.
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

// grow makes room for n bytes and forgets what was there.
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
				size = n // at once: doubling would hold the message twice
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
