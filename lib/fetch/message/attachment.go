package message

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"

	"pulse/lib/fetch/decode"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/record"
)

// The bounds of the attachments that are emitted, in decoded bytes of a message. A record
// with the default fits into record.DefaultMax, unless its header is very long (Shorten).
const (
	defaultMaxAttachments = 2 << 20
	MostMaxAttachments    = MaxMessage
)

// content adds what only the whole of a part tells: its size, its digest, and its bytes if
// they are wanted and fit. It adds nothing for a part that was cut or does not decode,
// because a reader would have something else.
func (p *parser) content(a *envelope.Attachment, pt *part) {
	a.Omitted = p.room >= 0
	r := decode.Transfer(pt.encoding, pt.body)
	if pt.cut || r == nil {
		return
	}
	sum := sha256.New()
	size, err := io.Copy(sum, r)
	if err != nil || r.Broken() {
		return
	}
	a.Size, a.Digest = size, "sha256:"+hex.EncodeToString(sum.Sum(nil))
	if size > p.room {
		return
	}
	p.room -= size
	r = decode.Transfer(pt.encoding, pt.body)
	a.Data, a.Omitted = make([]byte, size), false
	_, _ = io.ReadFull(r, a.Data) // it was read before
}

// later is how many bytes of a record are left for what later stages write into it.
const later = 256 << 10

// Shorten omits attachments, the last ones first, if the record of a message is so long
// that a stage would refuse it, and reports whether it did. Stages read record.DefaultMax
// bytes and, if more than the default of attachments is asked for, as much more as that
// takes in base64.
func (o Options) Shorten(m *envelope.Message, length int) bool {
	over := length - record.DefaultMax + later - base64.StdEncoding.EncodedLen(int(max(0, o.room()-defaultMaxAttachments)))
	shortened := false
	for i := len(m.Attachments) - 1; i >= 0 && over > 0; i-- {
		if a := &m.Attachments[i]; a.Data != nil {
			over -= base64.StdEncoding.EncodedLen(len(a.Data))
			a.Data, a.Omitted, shortened = nil, true, true
		}
	}
	return shortened
}
