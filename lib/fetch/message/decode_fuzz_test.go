package message

import (
	"encoding/base64"
	"io"
	"maps"
	"mime"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"
	"unicode/utf8"
)

// FuzzMediaType: what package mime reads without a fault is read in the same way. Nothing
// is longer than what it was read from.
func FuzzMediaType(f *testing.F) {
	for _, s := range []string{
		"text/plain; charset=utf-8", `multipart/mixed; boundary="a;b"; x=y`, `attachment; filename="C:\a\"b"`, "text/html charset=x; charset=y",
		"a/b; n*0=x; n*1*=%41; n*=utf-8'en'z", "TEXT / (a) Plain ;;", `a/b; c="open; d=e`, "/", "a/", "a; b=c; b=d", "a/b; n*1=x; n*02=y",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		var p parser
		kind, params := p.mediaType(value)
		if len(kind) > len(value) {
			t.Fatalf("%q: type %q", value, kind)
		}
		for name, v := range params {
			if len(name) > len(value) || !utf8.ValidString(v) && utf8.ValidString(value) && !strings.ContainsAny(value, "%'") {
				t.Fatalf("%q: %q=%q", value, name, v)
			}
		}
		want, wants, err := mime.ParseMediaType(value)
		other := func(r rune) bool { return strings.ContainsRune("*(\r\n\v\f", r) || r >= utf8.RuneSelf }
		if err != nil || strings.ContainsFunc(value, other) {
			return // it knows no comments, and folds U+0130 to i
		}
		if kind != asciiLower(want) || !maps.Equal(params, wants) || len(p.defects) > 0 {
			t.Fatalf("%q: %q %q %v, want %q %q", value, kind, params, p.defects, want, wants)
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
