package envelope

import (
	"time"

	"pulse/lib/shared/record"
)

// Shown is the part of a message that people are shown. A worker is given the same
// part and nothing more: no header fields, and no evidence about its sender.
type Shown struct {
	Source, ID          string
	Received            time.Time
	From, Subject, Text string
	Scope               Scope
	Truncated           bool
	Attachments         []Attachment
	Thread              *Thread // nil: it names no other message
	Sender              *Sender // chat platforms only

	Left Left // people only: what of the body Text does not have
}

// Show decodes the part of the member that is shown.
func Show(v record.Value) (Shown, error) {
	var s Shown
	return s, s.decode(nil, v)
}

// Read is Show for the member of a record.
func (s *Shown) Read(rec *record.Record) error {
	*s = Shown{}
	return s.decode(rec, "")
}

// evidence lists the members that nobody is shown, and that can be long.
var evidence = []string{"headers", "dkim"}

func (s *Shown) decode(rec *record.Record, v record.Value) error {
	to := record.To(
		"source", &s.Source, "id", &s.ID, "received", &s.Received, "from", &s.From, "subject", &s.Subject,
		"text", &s.Text, "scope", (*string)(&s.Scope), "truncated", &s.Truncated,
		"attachments", func(v record.Value) error { return v.Elements(s.attachment) },
		"left_out", s.Left.decodeBytes, "left_text", s.Left.decodeText,
		"thread", made(&s.Thread), "sender", made(&s.Sender),
	)
	if rec == nil {
		return v.Each(to)
	}
	return rec.Each(Member, to, evidence...)
}

func (s *Shown) attachment(_ int, v record.Value) error {
	a, err := decodeAttachment(v)
	s.Attachments = append(s.Attachments, a)
	return err
}

// Append appends the member's value as workers are given it.
func (s *Shown) Append(dst []byte) []byte {
	var o record.Object
	o.Str("source", s.Source)
	o.Str("id", s.ID)
	o.Time("received", s.Received)
	o.Str("from", s.From)
	o.Str("subject", s.Subject)
	o.Str("text", s.Text)
	o.StrIf("scope", string(s.Scope))
	o.Bool("truncated", s.Truncated)
	o.Raw("attachments", appendAttachments(nil, s.Attachments))
	if s.Thread != nil {
		o.Raw("thread", s.Thread.bytes())
	}
	if s.Sender != nil {
		o.Raw("sender", s.Sender.bytes())
	}
	return append(dst, o.Bytes()...)
}
