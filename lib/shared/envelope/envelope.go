// Package envelope holds the `message` member of a record: what arrived, all of it
// untrusted (pulse-record(5)). pulse-fetch writes it, and every later stage reads it.
// No other package knows its member names.
//
// Invariant: Read accepts what Append writes, and returns it unchanged. Header
// fields stand in the order received, name and value as they came, so that a
// forgery stays visible. Caveat: Read leaves out Text, From and Subject, which
// no decision may look at. Show decodes those for people and workers.
package envelope

import (
	"encoding/base64"
	"slices"
	"time"

	"pulse/lib/shared/peer"
	"pulse/lib/shared/record"
)

// Member is the name of the member in a record.
const Member = "message"

// Field is one header field. Name is untrimmed; Value keeps its folding (CRLF and
// blanks), and one space after the colon is not part of it (RFC 5322 §2.2).
type Field struct {
	Name, Value string
}

// Attachment describes a part that is not in the text.
type Attachment struct {
	Name, Type string
	Size       int64  // decoded bytes, as far as they were fetched
	Digest     string // "sha256:" and the digest of these bytes; empty if they are not all there
	Data       []byte // these bytes; nil: they are not in the record
	Omitted    bool   // they were asked for, and are not in the record
}

// Sender is the sender of a message on a chat platform, as the platform says. Its
// server vouches for the ids, whereas anyone can write a mail's header.
type Sender struct {
	ID        peer.ID
	Chat      peer.ID // empty, or ID itself: a conversation of two
	Bot       bool
	Mentioned bool // the message addresses the agent by name
}

// Scope says how much text was asked for.
type Scope string

// The scopes of pulse-fetch.
const (
	Headers Scope = "headers" // no text
	Snippet Scope = "snippet" // the first 1,000 characters
	Full    Scope = "full"    // up to --max-text characters

	Attachments Scope = "attachments" // as Full, and what is attached
)

// Message is the `message` member.
type Message struct {
	Source      string    // URL without a password, or kind:path
	UID         uint32    // IMAP, and the position of jmap: and gmail:; else 0
	UIDValidity uint32    // as UID
	ID          string    // Message-ID field, or Digest
	Digest      string    // sha256: of the raw header block
	Received    time.Time // as the source says; UTC
	Fetched     time.Time // UTC
	Size        int64     // of the whole message, bytes
	Body        string    // sha256: of the whole body, as a signature with relaxed canonicalization has it; empty: it was not fetched whole
	Headers     []Field
	From        string // decoded, for people
	Subject     string // decoded, for people
	Text        string
	Scope       Scope
	Truncated   bool // Text is only the beginning of the text
	Attachments []Attachment
	Thread      *Thread // nil: it names no other message
	Defects     []Defect
	Sender      *Sender  // chat platforms only
	DKIM        *DKIM    // nil: pulse-fetch was not asked to verify
	Webhook     *Webhook // HTTP requests only
	Left        Left     // what of the body Text does not have
}

// Has reports whether the message has the defect.
func (m *Message) Has(d Defect) bool { return slices.Contains(m.Defects, d) }

// Unverifiable returns the first defect that bars the message from ever being
// verified, or the empty string.
func (m *Message) Unverifiable() Defect {
	for _, d := range m.Defects {
		if !harmless[d] {
			return d
		}
	}
	return ""
}

// Fields yields name and value of every header field in order.
func (m *Message) Fields(yield func(name, value string) bool) {
	for _, f := range m.Headers {
		if !yield(f.Name, f.Value) {
			return
		}
	}
}

// Append appends the member's value.
func (m *Message) Append(dst []byte) []byte { return m.append(dst, false) }

// AppendBare is Append without the text and the attachments.
func (m *Message) AppendBare(dst []byte) []byte { return m.append(dst, true) }

func (m *Message) append(dst []byte, bare bool) []byte {
	o := record.ObjectAfter(dst)
	o.Str("source", m.Source)
	if m.UID != 0 {
		o.Int("uid", int64(m.UID))
		o.Int("uidvalidity", int64(m.UIDValidity))
	}
	o.Str("id", m.ID)
	o.Str("digest", m.Digest)
	o.Time("received", m.Received)
	o.Time("fetched", m.Fetched)
	o.Int("size", m.Size)
	o.StrIf("body", m.Body)
	o.Nested("headers", m.appendHeaders)
	o.Str("from", m.From)
	o.Str("subject", m.Subject)
	if bare {
		o.Str("scope", string(Headers))
	} else {
		o.Str("text", m.Text)
		o.Str("scope", string(m.Scope))
		o.Bool("truncated", m.Truncated)
		o.Raw("attachments", appendAttachments(nil, m.Attachments))
	}
	m.Left.add(&o)
	if m.Thread != nil {
		o.Raw("thread", m.Thread.bytes())
	}
	defects := make([]string, len(m.Defects))
	for i, d := range m.Defects {
		defects[i] = string(d)
	}
	o.Strs("defects", defects)
	if m.Sender != nil {
		o.Raw("sender", m.Sender.bytes())
	}
	if m.DKIM != nil {
		o.Raw("dkim", m.DKIM.bytes())
	}
	if m.Webhook != nil {
		o.Raw("webhook", m.Webhook.bytes())
	}
	return o.Bytes()
}

func (m *Message) appendHeaders(dst []byte) []byte {
	return record.List(dst, m.Headers, func(f *Field, dst []byte) []byte {
		dst = record.AppendString(append(dst, '['), f.Name)
		return append(record.AppendString(append(dst, ','), f.Value), ']')
	})
}

func appendAttachments(dst []byte, list []Attachment) []byte {
	return record.List(dst, list, func(a *Attachment, dst []byte) []byte {
		o := record.ObjectAfter(dst)
		o.Str("name", a.Name)
		o.Str("type", a.Type)
		o.Int("size", a.Size)
		o.StrIf("digest", a.Digest)
		if a.Data != nil {
			o.Str("data", base64.StdEncoding.EncodeToString(a.Data))
		}
		o.BoolIf("omitted", a.Omitted)
		return o.Bytes()
	})
}

func (s *Sender) bytes() []byte {
	var o record.Object
	o.Raw("id", []byte(s.ID.JSON()))
	o.Raw("chat", []byte(s.Chat.JSON()))
	o.Bool("bot", s.Bot)
	o.Bool("mentioned", s.Mentioned)
	return o.Bytes()
}

func (s *Sender) decode(v record.Value) error {
	return v.Each(record.To(
		"bot", &s.Bot, "mentioned", &s.Mentioned,
		"id", func(v record.Value) (err error) { s.ID, err = peer.Decode(v); return err },
		"chat", func(v record.Value) (err error) { s.Chat, err = peer.Decode(v); return err },
	))
}

// Read reads what decisions may look at: everything but From, Subject and Text. What is not
// there counts as what allows least, as pulse-record(5) lists it. It uses the memory of the message
// that m was. The places that members go to are listed where they are used, so that the list lies on
// the stack.
func (m *Message) Read(rec *record.Record) error {
	*m = Message{Headers: m.Headers[:0], Defects: unstatedDefects}
	return rec.Each(Member, record.To(
		"source", &m.Source, "uid", &m.UID, "uidvalidity", &m.UIDValidity, "id", &m.ID, "digest", &m.Digest,
		"received", &m.Received, "fetched", &m.Fetched, "size", &m.Size, "body", &m.Body,
		"headers", func(v record.Value) error { return m.decodeHeaders(rec, v) }, "from", nil, "subject", nil,
		"scope", nil, "truncated", nil, "attachments", nil, "left_out", m.Left.decodeBytes, "left_text", m.Left.decodeText,
		"thread", made(&m.Thread), "defects", m.decodeDefects, "sender", made(&m.Sender),
		"dkim", made(&m.DKIM), "webhook", made(&m.Webhook),
	), unread...)
}

var unstatedDefects = []Defect{Unstated}

// unread lists the members that Read leaves out, and that can be long.
var unread = []string{"text", "subject", "from", "attachments"}

// SourceOf reads message.source alone.
func SourceOf(rec *record.Record) (source string, err error) {
	err = rec.Each(Member, record.To("source", &source))
	return source, err
}

// made decodes an object, and lets a pointer lead to it.
func made[T any, P interface {
	*T
	decode(v record.Value) error
}](to *P) func(record.Value) error {
	return func(v record.Value) error {
		*to = new(T)
		return (*to).decode(v)
	}
}

func (m *Message) decodeHeaders(rec *record.Record, v record.Value) error {
	if m.Headers == nil {
		m.Headers = make([]Field, 0, 32)
	}
	return rec.Pairs(v, func(name, value string) { m.Headers = append(m.Headers, Field{name, value}) })
}

// decodeDefects keeps unknown words, so that a defect of a later version still bars
// verification.
func (m *Message) decodeDefects(v record.Value) error {
	m.Defects = nil
	return v.Elements(func(_ int, v record.Value) error {
		s, err := v.String()
		m.Defects = append(m.Defects, Defect(s))
		return err
	})
}
