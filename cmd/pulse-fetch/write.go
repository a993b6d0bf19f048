package main

import (
	"bufio"
	"context"
	"io"
	"sync"
	"time"

	"pulse/lib/envelope"
	"pulse/lib/mailbox"
	"pulse/lib/message"
	"pulse/lib/record"
	"pulse/lib/source"
)

// writer writes records.
type writer struct {
	w    *bufio.Writer
	opt  message.Options
	live bool // the source may pause after any message
	line []byte
	mu   sync.Mutex // held while a record is written

	verify func(*envelope.Message, message.Raw) error // fills in message.dkim; nil: nobody asked for it
}

func newWriter(w io.Writer, opt message.Options, src source.Source) *writer {
	_, live := src.(*mailbox.Mailbox)
	return &writer{w: bufio.NewWriterSize(w, 64<<10), opt: opt, live: live}
}

// each writes the records of a source until its end or that of ctx: a read of a pipe
// or a terminal can't be called back. No record is cut short by that.
func (w *writer) each(ctx context.Context, src source.Source) error {
	done := make(chan error, 1)
	go func() { done <- src.Each(ctx, w.message) }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		w.mu.Lock() // for good: what is being written is finished, nothing follows
		err = ctx.Err()
	}
	if flushErr := w.w.Flush(); err == nil {
		err = flushErr
	}
	return err
}

// message writes the record of one message.
func (w *writer) message(raw *source.Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := message.Parse(raw.Raw, w.opt)
	m.Source, m.UID, m.UIDValidity = raw.Source, raw.UID, raw.UIDValidity
	m.Fetched = time.Now().UTC().Truncate(time.Second)
	m.Received = raw.Received.UTC().Truncate(time.Second)
	if y := m.Received.Year(); raw.Received.IsZero() || y < 1970 || y > 9999 { // RFC 3339 ends there
		m.Received = m.Fetched
	}
	if h := raw.Hook; h != nil {
		m.Headers, m.ID, m.Digest, m.Size, m.Webhook = nil, h.ID, h.Digest, h.Size, &h.Verdict
	}
	if w.verify != nil {
		if err := w.verify(&m, raw.Raw); err != nil {
			return err
		}
	}
	w.line = append(w.line[:0], `{"`+envelope.Member+`":`...)
	w.line = append(m.Append(w.line), '}', '\n')
	if err := record.WriteLine(w.w, w.line); err != nil {
		return err
	}
	if w.live {
		return w.w.Flush()
	}
	return nil
}
