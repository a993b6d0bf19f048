package message

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"pulse/lib/shared/envelope"
)

// TestBodyDigest: what a relaxed signature permits on the way makes no other body, nor does the
// source, and anything else does.
func TestBodyDigest(t *testing.T) {
	sum := func(s string) string {
		b := sha256.Sum256([]byte(s))
		return "sha256:" + hex.EncodeToString(b[:])
	}
	want := sum(" one two\r\n\r\nthree\r\n")
	for _, body := range []string{
		" one two\r\n\r\nthree\r\n", " one two\n\nthree\n", " one two\n\nthree", "\tone  two \n \nthree\t\n\n \n\r\n",
	} {
		if got := bodyDigest([]byte(body)); got != want {
			t.Errorf("%q: %s", body, got)
		}
	}
	for _, body := range []string{
		"one two\n\nthree\n", " one two\nthree\n", " onetwo\n\nthree\n", "\n one two\n\nthree\n", " one two\r\r\n\nthree\n", " One two\n\nthree\n", " one\u00a0two\n\nthree\n",
	} {
		if bodyDigest([]byte(body)) == want {
			t.Errorf("%q has the same digest", body)
		}
	}
	for _, empty := range []string{"", "\n", " \r\n\t\r\n"} {
		if bodyDigest([]byte(empty)) != sum("") {
			t.Errorf("%q is not empty", empty)
		}
	}
}

// TestBodyIsWhole: a digest is of the whole body, whatever scope is asked for, or is not there.
func TestBodyIsWhole(t *testing.T) {
	const head = "From: me@example.com\r\n\r\n"
	long := strings.Repeat("x", snippetWindow) + "yz"
	for _, scope := range []envelope.Scope{envelope.Snippet, envelope.Full} {
		for _, text := range []string{"", "short", long} {
			raw := Raw{Header: []byte(head + text), Size: int64(len(head + text))}
			if got := Parse(raw, Options{Scope: scope}).Body; got != bodyDigest([]byte(text)) {
				t.Errorf("%s, %d bytes: %q", scope, len(text), got)
			}
			raw.Partial = true
			if got := Parse(raw, Options{Scope: scope}).Body; got != "" {
				t.Errorf("%s, a part: %q", scope, got)
			}
		}
	}
	header := Raw{Header: []byte(head), Size: int64(len(head)) + 9} // the source was asked for no more
	if got := Parse(header, Options{Scope: envelope.Headers}).Body; got != "" {
		t.Errorf("a header alone: %q", got)
	}
}
