package gmail

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"io"

	"pulse/lib/fetch/https"
	"pulse/lib/fetch/message"
)

const (
	maxBefore = 64 << 10 // bytes of an answer before the message

	// maxRaw is as much as source.Reader reads to see that a message is too large, and what the
	// decoders read ahead of it.
	maxRaw = (message.MaxMessage+message.MaxHeader+8)/3*4 + 2*maxBefore
)

// rawReader returns the message in an answer: the member raw, in base64url (RFC 4648 §5). It is
// decoded while it is read, because it may be large.
func rawReader(r io.Reader) (io.Reader, error) {
	dec := json.NewDecoder(io.LimitReader(r, maxBefore))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, https.Broken("an answer that is not JSON")
	}
	for {
		name, err := dec.Token()
		if _, ok := name.(string); err != nil || !ok {
			return nil, https.Broken("an answer without the message")
		}
		if name == "raw" {
			break
		}
		var skipped json.RawMessage
		if dec.Decode(&skipped) != nil {
			return nil, https.Broken("an answer that is not JSON")
		}
	}
	q := &quoted{r: bufio.NewReader(io.MultiReader(dec.Buffered(), r))}
	return base64.NewDecoder(base64.RawURLEncoding, q), q.begin()
}

// quoted reads the characters of a JSON string that holds base64url, without its padding.
type quoted struct {
	r     *bufio.Reader
	equal bool // padding began
	err   error
}

var errNotBase64 = https.Broken("a message that is not base64url")

// begin reads up to the opening quote.
func (q *quoted) begin() error {
	for want := byte(':'); ; {
		c, err := q.r.ReadByte()
		switch {
		case err == nil && (c == ' ' || c == '\t' || c == '\r' || c == '\n'):
		case err == nil && c == want && c == ':':
			want = '"'
		case err == nil && c == want:
			return nil
		default:
			return errNotBase64
		}
	}
}

// Read implements io.Reader.
func (q *quoted) Read(p []byte) (n int, err error) {
	for n < len(p) && q.err == nil {
		c, err := q.r.ReadByte()
		switch {
		case err == io.EOF:
			q.err = https.Broken("a message that is cut")
		case err != nil:
			q.err = err
		case c == '"':
			q.err = io.EOF
		case c == '=' || c == '\\' && q.escaped():
			q.equal = true
		case q.equal || !inAlphabet(c):
			q.err = errNotBase64
		default:
			p[n] = c
			n++
		}
	}
	if n > 0 {
		return n, nil
	}
	return 0, q.err
}

// escaped reads the rest of \u003d, which is an equals sign.
func (q *quoted) escaped() bool {
	b := make([]byte, 5)
	_, err := io.ReadFull(q.r, b)
	return err == nil && (string(b) == "u003d" || string(b) == "u003D")
}

func inAlphabet(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || c == '-' || c == '_'
}
