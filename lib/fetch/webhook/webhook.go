// Package webhook reads one HTTP request as a web server has received it and says
// whether its signature is good: Standard Webhooks 1.0.0 (webhook-id,
// webhook-timestamp, webhook-signature), X-Pulse-Signature, a hexadecimal
// HMAC-SHA256 of the body, or that of a platform (platforms.go), which also says who sent it.
//
// Invariant: a request passes only if it was signed with a secret of the same scheme, and
// the file of secrets, not the request, says which schemes there are. Any bytes give an
// answer, in linear time. Caveat: ids and timestamps are the only parts of a header that are
// signed. Anyone can have written the rest, so it is not handed on.
package webhook

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"pulse/lib/shared/address"
)

// The bounds of a request.
const (
	MaxHeader = 64 << 10 // bytes before the blank line
	MaxBody   = 1 << 20  // bytes after it
	maxFields = 200
	maxID     = 256 // bytes
)

// Request is a request as far as Read understood it.
type Request struct {
	ID   string // webhook-id; empty if it is missing or can't be used
	Type string // of the content, in lower case and without parameters; may be empty
	Body []byte

	values map[string]string // of the fields in known
	digest string
	flaw   string // why it can't be verified, for people; empty if it can
}

// Read reads a request: a request line, which may be missing, header fields, a
// blank line, and the body to the end. Lines end with CRLF or LF. It goes on after a
// flaw as far as it can; Verify reports it.
func Read(b []byte) *Request {
	r := &Request{values: map[string]string{}}
	head, body, ok := split(b)
	if !ok {
		r.flaw = "the header has no end, or is over 64 KiB"
		r.digest = digest(b)
		return r
	}
	r.fields(head)
	if len(body) > MaxBody {
		r.reject("the body is over 1 MiB")
	} else {
		r.Body = body
	}
	r.digest = digest(body)
	return r
}

// Digest returns the digest of the body, or of the whole request if no body was found.
func (r *Request) Digest() string { return r.digest }

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// reject notes a flaw, unless there is one already.
func (r *Request) reject(flaw string) {
	if r.flaw == "" {
		r.flaw = flaw
	}
}

// split cuts b after the blank line. head keeps the line end before it.
func split(b []byte) (head, body []byte, ok bool) {
	for i := 0; i <= MaxHeader; {
		n := bytes.IndexByte(b[i:min(len(b), MaxHeader+2)], '\n')
		if n < 0 {
			return nil, nil, false
		}
		if n == 0 || n == 1 && b[i] == '\r' {
			return b[:i], b[i+n+1:], true
		}
		i += n + 1
	}
	return nil, nil, false
}

// The fields that are read.
const (
	fieldID        = "webhook-id"
	fieldTimestamp = "webhook-timestamp"
	fieldSignature = "webhook-signature"
	fieldPlain     = "x-pulse-signature"
	fieldType      = "content-type"
)

// known reports whether a field is read: those above, and those of platforms.
func known(name string) bool {
	switch name {
	case fieldID, fieldTimestamp, fieldSignature, fieldPlain, fieldType:
		return true
	}
	return name != "" && slices.ContainsFunc(platforms[:], func(p platform) bool {
		return name == p.signature || name == p.timestamp
	})
}

// fields reads the header (RFC 9112 §5). The flaws are a name that is not a token, a blank
// before the colon, folding, a control character, and a field of ours that is empty or
// stands there twice. Servers differ in what they make of each of these.
func (r *Request) fields(head []byte) {
	n := 0
	for line := range strings.Lines(string(head)) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if n++; n == 1 && requestLine(line) {
			continue
		}
		name, value, found := strings.Cut(line, ":")
		value = strings.Trim(value, " \t")
		name = address.Fold(name)
		switch {
		case n > maxFields:
			r.reject("the header has over 200 fields")
			return
		case !found || !token(name) || control(value):
			r.reject("a line of the header is not a field")
		case known(name) && (value == "" || r.values[name] != ""):
			r.reject(name + " is empty, or stands there twice")
		case known(name):
			r.values[name] = value
		}
	}
	if r.ID = r.values[fieldID]; r.ID != "" && !validID(r.ID) {
		r.ID = ""
		r.reject("webhook-id is over 256 characters, or has others than letters, digits and -_:+=/")
	}
	kind, _, _ := strings.Cut(r.values[fieldType], ";")
	r.Type = address.Fold(strings.TrimRight(kind, " \t"))
}

// requestLine reports whether a line is a request line (RFC 9112 §3).
func requestLine(line string) bool {
	words := strings.Split(line, " ")
	return len(words) == 3 && token(words[0]) && words[1] != "" &&
		strings.HasPrefix(words[2], "HTTP/") && !control(line)
}

// token reports whether s is a token (RFC 9110 §5.6.2).
func token(s string) bool {
	return s != "" && only(s, "!#$%&'*+-.^_`|~")
}

// validID reports whether s can be the id of a request. As the specification wants, it has
// no full stop: the signed content is id, timestamp and body with a full stop between each,
// and there must be one way to read it.
func validID(s string) bool { return len(s) <= maxID && only(s, "-_:+=/") }

// only reports whether s consists of ASCII letters, digits and the bytes in others.
func only(s, others string) bool {
	for _, c := range []byte(s) {
		alnum := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !alnum && strings.IndexByte(others, c) < 0 {
			return false
		}
	}
	return true
}

// control reports whether s holds a control character other than a tab.
func control(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}
