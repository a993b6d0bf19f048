package envelope

import (
	"bytes"
	"fmt"
	"strings"

	"pulse/lib/shared/record"
)

// LeftKind says why bytes of a body are not in the text as they stand. pulse-record(5) has
// the closed list.
type LeftKind string

// The kinds.
const (
	LeftPreamble    LeftKind = "preamble"    // before the first part of a multipart
	LeftEpilogue    LeftKind = "epilogue"    // after its last part
	LeftAlternative LeftKind = "alternative" // another form of the text, with words that the text does not have
	LeftHidden      LeftKind = "hidden"      // in HTML, where a mail program shows nothing
	LeftMalformed   LeftKind = "malformed"   // MIME that can't be read, or lines among the fields of a part
	LeftUndecodable LeftKind = "undecodable" // what its transfer encoding or charset does not decode
	LeftRecoded     LeftKind = "recoded"     // the whole body: only the message's header says how it reads
)

// maxLeft bounds the text of one kind, in bytes.
const maxLeft = 1000

// Left is `message.left_out` and `message.left_text`: what of the body is neither in the
// text as it stands nor in a part that is listed. The zero value is what a record without
// the members says, which is the worst: nobody knows.
type Left struct {
	known bool
	parts []leftPart
}

type leftPart struct {
	kind  LeftKind
	bytes int64
	text  string // their beginning
}

// NothingLeft is for a message that is all text.
func NothingLeft() Left { return Left{known: true} }

// Nothing reports whether nothing was left out.
func (l *Left) Nothing() bool { return l.known && len(l.parts) == 0 }

// Known reports whether the record says what was left out.
func (l *Left) Known() bool { return l.known }

// Add counts bytes of the body. Blanks at both ends do not count.
func (l *Left) Add(kind LeftKind, b []byte) {
	b = bytes.TrimSpace(b)
	if l.known = true; len(b) == 0 {
		return
	}
	p := l.part(kind)
	p.bytes += int64(len(b))
	if room := maxLeft - len(p.text); room > 1 {
		if p.text != "" {
			p.text += "\n"
			room--
		}
		p.text += strings.ToValidUTF8(string(b[:min(len(b), room)]), "\ufffd")
	}
}

// Quiet drops the texts, and keeps the counts.
func (l *Left) Quiet() {
	for i := range l.parts {
		l.parts[i].text = ""
	}
}

func (l *Left) part(kind LeftKind) *leftPart {
	for i := range l.parts {
		if l.parts[i].kind == kind {
			return &l.parts[i]
		}
	}
	l.parts = append(l.parts, leftPart{kind: kind})
	return &l.parts[len(l.parts)-1]
}

// Each yields what was left out: why, how many bytes, and their beginning.
func (l *Left) Each(yield func(kind LeftKind, bytes int64, text string) bool) {
	for _, p := range l.parts {
		if !yield(p.kind, p.bytes, p.text) {
			return
		}
	}
}

// String returns the kinds, with how many bytes they have.
func (l *Left) String() string {
	if !l.known {
		return "the record does not say what"
	}
	var b strings.Builder
	for i, p := range l.parts {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d bytes %s", p.bytes, p.kind)
	}
	return b.String()
}

func (l *Left) add(o *record.Object) {
	if !l.known {
		return
	}
	var counts, texts record.Object
	for _, p := range l.parts {
		counts.Int(string(p.kind), p.bytes)
		texts.StrIf(string(p.kind), p.text)
	}
	o.Raw("left_out", counts.Bytes())
	if b := texts.Bytes(); len(b) > len("{}") {
		o.Raw("left_text", b)
	}
}

// decodeBytes reads the member left_out, and decodeText the member left_text. They keep kinds that they
// do not know: something was left out.
func (l *Left) decodeBytes(v record.Value) error {
	l.known = true
	return v.Each(func(kind string, v record.Value) error { return v.Into(&l.part(LeftKind(kind)).bytes) })
}

func (l *Left) decodeText(v record.Value) error {
	return v.Each(func(kind string, v record.Value) error { return v.Into(&l.part(LeftKind(kind)).text) })
}
