package main

import (
	"bufio"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/fetch/mailbox"
	"pulse/lib/fetch/message"
	"pulse/lib/fetch/pull"
	"pulse/lib/fetch/source"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/record"
)

type writer struct {
	w    *bufio.Writer
	opt  message.Options
	line []byte
	mu   sync.Mutex // so that the end of the time cuts no record short

	warn   func(format string, args ...any)
	verify func(*envelope.Message, message.Raw) error // fills in message.dkim; nil if no message needs it
}

func newWriter(c *cli.Context, opt message.Options, src source.Source) *writer {
	warn := func(format string, args ...any) { cmdline.Warn(c, format, args...) }
	w := &writer{w: bufio.NewWriterSize(c.App.Writer, 64<<10), opt: opt, warn: warn}
	switch box := src.(type) {
	case *mailbox.Mailbox:
		box.Pause = w.flush
	case *pull.Mailbox:
		box.Pause = w.flush
	}
	return w
}

// flush writes out what was written so far.
func (w *writer) flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.w.Flush()
}

// each writes the records of a source until its end or that of ctx. A read of a pipe or a
// terminal can't be interrupted, so it is left behind; no record is cut short by that.
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

// parse returns the message that the source gave. A message that it could not give has a
// record all the same, or the mailbox would stop there.
func (w *writer) parse(raw *source.Message) envelope.Message {
	if raw.Unavailable == nil {
		m := message.Parse(raw.Raw, w.opt)
		if raw.Defect != "" {
			m.Defects = append(m.Defects, raw.Defect)
		}
		return m
	}
	name := raw.Name
	if name == "" {
		name = fmt.Sprintf("UID %d", raw.UID)
	}
	w.warn("%s is unavailable, its record holds nothing of it: %v", name, raw.Unavailable)
	return message.Unavailable(raw.Source, raw.Name, raw.UIDValidity, raw.UID, w.opt.Scope)
}

func (w *writer) message(raw *source.Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.parse(raw)
	m.Source, m.UID, m.UIDValidity = raw.Source, raw.UID, raw.UIDValidity
	m.Fetched = time.Now().UTC().Truncate(time.Second)
	m.Received = raw.Received.UTC().Truncate(time.Second)
	if y := m.Received.Year(); raw.Received.IsZero() || y < 1970 || y > 9999 { // RFC 3339 ends there
		m.Received = m.Fetched
	}
	if h := raw.Hook; h != nil {
		m.Headers, m.Thread, m.ID, m.Digest, m.Body, m.Size, m.Webhook = nil, nil, h.ID, h.Digest, "", h.Size, &h.Verdict
		m.Sender, m.From, m.Subject = h.Sender, h.From, h.Subject
	}
	if w.verify != nil {
		if err := w.verify(&m, raw.Raw); err != nil {
			return err
		}
	}
	if w.record(&m); w.opt.Scope == envelope.Attachments && w.opt.Shorten(&m, len(w.line)) {
		w.record(&m)
	}
	return record.WriteLine(w.w, w.line)
}

// record writes the record of a message into w.line.
func (w *writer) record(m *envelope.Message) {
	w.line = append(w.line[:0], `{"`+envelope.Member+`":`...)
	w.line = append(m.Append(w.line), '}', '\n')
}
