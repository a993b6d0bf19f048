package main

import (
	"bufio"
	"io"
	"time"

	"pulse/lib/envelope"
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

	verify func(*envelope.Message, message.Raw) error // fills in message.dkim; nil: nobody asked for it
}

func newWriter(w io.Writer, opt message.Options, src source.Source) *writer {
	_, live := src.(*source.IMAP)
	return &writer{w: bufio.NewWriterSize(w, 64<<10), opt: opt, live: live}
}

// message writes the record of one message.
func (w *writer) message(raw *source.Message) error {
	m := message.Parse(raw.Raw, w.opt)
	m.Source, m.UID, m.UIDValidity = raw.Source, raw.UID, raw.UIDValidity
	m.Fetched = time.Now().UTC().Truncate(time.Second)
	m.Received = raw.Received.UTC().Truncate(time.Second)
	if y := m.Received.Year(); raw.Received.IsZero() || y < 1970 || y > 9999 { // RFC 3339 ends there
		m.Received = m.Fetched
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
