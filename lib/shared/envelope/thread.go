package envelope

import (
	"strings"

	"pulse/lib/shared/record"
)

// Thread is `message.thread`: which messages a mail says it answers (RFC 5322 §3.6.4).
// Its sender can write any ids there, also those of other people's mail.
type Thread struct {
	InReplyTo  []string
	References []string // the oldest first
}

// maxID is the greatest length of a plain message id in bytes. It fits in a line of mail,
// which has at most 998 (RFC 5322 §2.1.1).
const maxID = 500

// PlainID reports whether s is a message id that can stand in a header field: two parts of
// visible ASCII around an "@", in angle brackets. It has no blank and no line end, and so
// it is one word wherever it is used.
func PlainID(s string) bool {
	if len(s) > maxID || len(s) < len("<a@b>") || s[0] != '<' || s[len(s)-1] != '>' {
		return false
	}
	inner := s[1 : len(s)-1]
	if at := strings.IndexByte(inner, '@'); at < 1 || strings.HasSuffix(inner, "@") {
		return false
	}
	for i := 0; i < len(inner); i++ {
		if c := inner[i]; c <= ' ' || c > '~' || c == '<' || c == '>' {
			return false
		}
	}
	return true
}

func (t *Thread) bytes() []byte {
	var o record.Object
	o.Strs("in_reply_to", t.InReplyTo)
	o.Strs("references", t.References)
	return o.Bytes()
}

func (t *Thread) decode(v record.Value) error {
	return v.Each(record.To("in_reply_to", &t.InReplyTo, "references", &t.References))
}
