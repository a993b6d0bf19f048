package decode

import (
	"bytes"
	"encoding/base64"
	"io"
	"mime/quotedprintable"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"
	"unicode/utf8"
)

// FuzzTransfer: our decoders read what the standard ones accept in the same way, and their
// output is bounded for what those refuse.
func FuzzTransfer(f *testing.F) {
	f.Add([]byte("aGVsbG8="))
	f.Add([]byte("a=3Db=\r\nc"))
	f.Add(bytes.Repeat([]byte("=4"), 3000))
	f.Fuzz(func(t *testing.T, b []byte) {
		d := &base64Reader{pieces: pieces{b: b}}
		got, err := io.ReadAll(d)
		if err != nil || len(got) > len(b) {
			t.Fatalf("base64: %d bytes of %d, %v", len(got), len(b), err)
		}
		if want, err := base64.StdEncoding.DecodeString(string(b)); err == nil && (!bytes.Equal(got, want) || d.broken) {
			t.Fatalf("base64: %q, want %q", got, want)
		}
		q := &quotedReader{pieces: pieces{b: b}}
		got, err = io.ReadAll(q)
		if err != nil || len(got) > len(b) {
			t.Fatalf("quoted-printable: %d bytes of %d, %v", len(got), len(b), err)
		}
		want, err := io.ReadAll(quotedprintable.NewReader(bytes.NewReader(b)))
		if err == nil && !q.broken && !bytes.Equal(bytes.ReplaceAll(got, []byte("\r"), nil), bytes.ReplaceAll(want, []byte("\r"), nil)) {
			t.Fatalf("quoted-printable: %q, want %q", got, want)
		}
	})
}

// FuzzUTF7: what an encoder of RFC 2152 makes of a text comes back. Any bytes give UTF-8,
// the same however they arrive, and at most a character for a byte.
func FuzzUTF7(f *testing.F) {
	for _, s := range []string{"a+b", "A\u2262\u0391.", "\U0001f46c-", "Hi Mom -\u263a--", "+ADw-script+AD4-", "+", "+AA", "+2D0-", "+2D0AQQ-", "\x80+AEA"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := io.ReadAll(newUTF7Reader(strings.NewReader(s)))
		if err != nil || !utf8.Valid(got) || utf8.RuneCount(got) > len(s)+1 {
			t.Fatalf("%q: %q, %v", s, got, err)
		}
		if bytewise, err := io.ReadAll(iotest.OneByteReader(newUTF7Reader(iotest.OneByteReader(strings.NewReader(s))))); err != nil || string(bytewise) != string(got) {
			t.Fatalf("%q: %q, %v; byte by byte %q", s, got, err, bytewise)
		}
		s = strings.ToValidUTF8(s, "")
		if got, err := io.ReadAll(newUTF7Reader(strings.NewReader(utf7(s)))); err != nil || string(got) != s {
			t.Fatalf("%q is %q in UTF-7, and that %q: %v", s, utf7(s), got, err)
		}
	})
}

// utf7 writes every character that is not a letter of ASCII in base64.
func utf7(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < utf8.RuneSelf && r|0x20 >= 'a' && r|0x20 <= 'z' {
			b.WriteRune(r)
			continue
		}
		var units []byte
		for _, u := range utf16.Encode([]rune{r}) {
			units = append(units, byte(u>>8), byte(u))
		}
		b.WriteString("+" + base64.RawStdEncoding.EncodeToString(units) + "-")
	}
	return b.String()
}
