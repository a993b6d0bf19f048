// Package message turns the raw bytes of one message into the members of a record that
// describe it: header fields as they came, text that is safe to read, defects (RFC 5322,
// RFC 2045 to 2047; pulse-record(5)).
//
// Invariant: any bytes give a message, in bounded memory and linear time. Whatever was
// cut, guessed or unreadable has a name among its defects, or the text counts as
// truncated. Nothing here decides whether a sender is believed. Caveat: text that common
// mail clients would hide is left out, by inline styles and simple style sheets. There are
// tricks left, and text is never safe to obey.
package message

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"pulse/lib/shared/envelope"
)

// The bounds of what is read of a message.
const (
	MaxHeader  = 256 << 10 // bytes of the header block; a line end counts as two
	MaxMessage = 25 << 20  // bytes of the whole message
	maxFields  = 1000      // header fields
	maxDepth   = 20        // nested multiparts
	maxParts   = 200       // parts in all
)

// The bounds of what is emitted, in characters (Unicode code points).
const (
	snippetText    = 1000
	defaultMaxText = 20_000
	MostMaxText    = 200_000 // a record with so much text stays under record.DefaultMax
	maxShown       = 1000    // of From and Subject, decoded for people
	maxName        = 255     // of an attachment's name and type
	maxValue       = 8 << 10 // bytes that are read of a Content-Type, or of a field with encoded words
	maxBoundary    = 70      // of a boundary (RFC 2046 §5.1.1); a longer one is a defect, and is used
)

// snippetWindow is how many bytes of the body the snippet scope reads. All sources cut
// there, so that the same message gives the same snippet.
const snippetWindow = 64 << 10

// Raw is a message as its source gave it. Servers often estimate Size, so it is a defect
// only if it is more than twice what came.
type Raw struct {
	Header  []byte // the header block; what follows its blank line is body
	Body    []byte // more of the body, if the source keeps it apart
	Size    int64  // bytes of the whole message, as the source says
	Partial bool   // Body is only the beginning
	CRLF    bool   // the source ends each line with CRLF, and nothing else is a line end
}

// Options says how much text is wanted.
type Options struct {
	Scope   envelope.Scope
	MaxText int // characters for the scopes full and attachments; 0 for 20,000

	MaxAttachments int64 // bytes for scope attachments; 0 for 2 MiB
}

// Window returns how many bytes of the body a source must give for the scope. One
// byte over MaxMessage tells a message that is too large from one that just fits.
func (o Options) Window() int64 {
	switch o.Scope {
	case envelope.Headers:
		return 0
	case envelope.Full, envelope.Attachments:
		return MaxMessage + 1
	}
	return snippetWindow
}

func (o Options) limit() int {
	switch {
	case o.Scope == envelope.Snippet:
		return snippetText
	case o.MaxText > 0:
		return o.MaxText
	}
	return defaultMaxText
}

// room returns how many bytes of attachments are emitted, below 0 if none are asked for.
func (o Options) room() int64 {
	switch {
	case o.Scope != envelope.Attachments:
		return -1
	case o.MaxAttachments > 0:
		return o.MaxAttachments
	}
	return defaultMaxAttachments
}

// Parse returns the message that the bytes describe. The caller sets Source, UID, Received
// and Fetched.
func Parse(raw Raw, opt Options) envelope.Message {
	p := parser{limit: opt.limit(), room: opt.room(), partial: raw.Partial}
	head, blank, rest := splitHeader(raw.Header)
	body := join(rest, raw.Body)
	whole := "" // digest of the body, before it is cut
	if !raw.Partial && len(body) <= MaxMessage && opt.Scope != envelope.Headers {
		whole = bodyDigest(body)
	}
	if window := opt.Window(); int64(len(body)) > window {
		body, p.partial = body[:window], true
	}
	block := p.headerBlock(head)
	m := envelope.Message{Size: raw.Size, Scope: opt.Scope, Left: envelope.NothingLeft()}
	m.Headers = p.fields(string(block))
	if raw.CRLF && raw.stray() || !raw.CRLF && mixed(head, blank) {
		p.add(envelope.LineEnds)
	}
	m.Digest, m.Body = digest(block), whole
	m.ID = messageID(m.Headers, m.Digest)
	m.From = p.shown(m.Headers, "from")
	m.Subject = p.shown(m.Headers, "subject")
	m.Thread = thread(m.Headers)
	switch {
	case raw.Size > MaxMessage:
		p.add(envelope.MessageTooLarge)
		m.Truncated = true
	case opt.Scope == envelope.Headers:
		m.Truncated = p.partial || len(body) > 0
	default:
		p.left = envelope.NothingLeft()
		m.Text, m.Truncated = p.text(m.Headers, body)
		m.Attachments, m.Left = p.attachments, p.left
		if find(m.Headers, "dkim-signature") == nil {
			m.Left.Quiet() // nobody is proven, so nobody is asked about it
		}
	}
	if !raw.Partial && raw.Size/2 > int64(len(raw.Header)+len(raw.Body)) {
		p.add(envelope.SizeMismatch)
	}
	m.Defects = p.defects
	return m
}

// Unavailable returns what a record says about a message that the source names and can't
// give, by a name if not by its UID. Its digest is over its place, because otherwise two of them would be one task. The
// digested text does not end with CRLF as every header block does, so no message has its
// digest.
func Unavailable(source, name string, validity, uid uint32, scope envelope.Scope) envelope.Message {
	place := fmt.Appendf(nil, "%s: %d %d %s", envelope.Unavailable, validity, uid, source)
	if name != "" { // several messages may have one position
		place = append(append(place, ' '), name...)
	}
	m := envelope.Message{
		Digest:  digest(place),
		Headers: []envelope.Field{}, Scope: scope, Truncated: true,
		Defects: []envelope.Defect{envelope.Unavailable},
	}
	m.ID = m.Digest
	return m
}

// join returns a followed by b, and copies only if neither is empty.
func join(a, b []byte) []byte {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	return slices.Concat(a, b)
}

// digest returns the digest of a header block that has CRLF line ends and no blank line.
// So IMAP, Maildir and mbox give a message the same digest.
func digest(block []byte) string {
	sum := sha256.Sum256(block)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func messageID(fields []envelope.Field, digest string) string {
	if f := find(fields, "message-id"); f != nil {
		if id := strings.Trim(unfold(f.Value), " \t"); id != "" {
			return id
		}
	}
	return digest
}

// parser collects what is found out about one message.
type parser struct {
	limit       int   // characters of text
	room        int64 // bytes of attachments that may still be emitted; below 0: none are asked for
	partial     bool  // the body is not whole
	parts       int
	html        int64   // how many bytes of HTML may still be read
	texted      bool    // a part with text was met
	others      []texts // alternatives to the text, at the top
	related     bool    // at the top, a readable part was attached because it is not the root
	attachments []envelope.Attachment
	left        envelope.Left
	defects     []envelope.Defect
}

func (p *parser) add(d envelope.Defect) {
	if !slices.Contains(p.defects, d) {
		p.defects = append(p.defects, d)
	}
}
