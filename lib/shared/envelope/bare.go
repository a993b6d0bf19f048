package envelope

import (
	"strings"

	"pulse/lib/shared/record"
)

// AppendBare appends the member's value as a worker is given it that gets an extract: without
// all that the sender of the message can write freely. Of an attachment, size and digest
// stay, because its type is a text of the sender's, too.
func (s *Shown) AppendBare(dst []byte) []byte {
	var o record.Object
	o.Str("source", s.Source)
	if bareID(s.ID) {
		o.Str("id", s.ID)
	}
	o.Time("received", s.Received)
	o.StrIf("scope", string(s.Scope))
	o.Bool("truncated", s.Truncated)
	o.Raw("attachments", bareAttachments(s.Attachments))
	if s.Sender != nil {
		o.Raw("sender", s.Sender.bytes())
	}
	return append(dst, o.Bytes()...)
}

func bareAttachments(list []Attachment) []byte {
	return record.List(nil, list, func(a *Attachment, dst []byte) []byte {
		o := record.ObjectAfter(dst)
		o.Int("size", a.Size)
		o.StrIf("digest", a.Digest)
		return o.Bytes()
	})
}

// maxBareID is the greatest length of a message id that a worker without the text is given, in
// bytes. Those of mail programs are shorter.
const maxBareID = 200

// bareID reports whether a plain message id is made of letters, digits and the few marks that
// mail programs use, and so is not a text.
func bareID(s string) bool {
	return len(s) <= maxBareID && PlainID(s) && strings.IndexFunc(s[1:len(s)-1], func(c rune) bool {
		return (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && !strings.ContainsRune("._-+=$%/@", c)
	}) < 0
}
