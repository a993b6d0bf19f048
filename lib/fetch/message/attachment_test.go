package message

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"pulse/lib/shared/envelope"
	"pulse/lib/shared/record"
)

// mixedParts returns a message with a text and these parts, each with its header.
func mixedParts(parts ...string) string {
	raw := "From: a@b\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\r\nhi\r\n"
	for _, p := range parts {
		raw += "--x\r\nContent-Disposition: attachment\r\n" + p + "\r\n"
	}
	return raw + "--x--\r\n"
}

func b64(content string) string {
	return "Content-Transfer-Encoding: base64\r\n\r\n" + base64.StdEncoding.EncodeToString([]byte(content))
}

func listed(raw string, scope envelope.Scope, most int64) []envelope.Attachment {
	m := Parse(Raw{Header: []byte(raw), Size: int64(len(raw))}, Options{Scope: scope, MaxAttachments: most})
	return m.Attachments
}

func TestAttachments(t *testing.T) {
	digest := func(s string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(s))) }
	for _, tt := range []struct {
		name, part string
		want       string // its content
		whole      bool
	}{
		{"base64", b64("a\x00\xffb"), "a\x00\xffb", true},
		{"base64 in lines", "Content-Transfer-Encoding: BASE64\r\n\r\nYQ\r\n Bi\r\nYw==", "a\x00bc", true},
		{"base64 with padding in the middle", "Content-Transfer-Encoding: base64\r\n\r\nYQ==Yg==", "ab", true},
		{"quoted-printable", "Content-Transfer-Encoding: quoted-printable\r\n\r\na=3Db=\r\nc", "a=bc", true},
		{"as it is", "\r\na\r\nb", "a\r\nb", true},
		{"8bit, in another charset", "Content-Type: text/plain; charset=utf-16\r\nContent-Transfer-Encoding: 8bit\r\n\r\n\xff\x00", "\xff\x00", true},
		{"a message", "Content-Type: message/rfc822\r\n\r\nSubject: x\r\n\r\ny", "Subject: x\r\n\r\ny", true},
		{"empty", "\r\n", "", true},
		{"foreign characters in base64", "Content-Transfer-Encoding: base64\r\n\r\nYW*Jj", "", false},
		{"half a quantum of base64", "Content-Transfer-Encoding: base64\r\n\r\nYWJjZ", "", false},
		{"broken quoted-printable", "Content-Transfer-Encoding: quoted-printable\r\n\r\na=zz", "", false},
		{"an unknown encoding", "Content-Transfer-Encoding: x-uuencode\r\n\r\nbegin", "", false},
	} {
		raw := mixedParts(tt.part)
		for _, scope := range []envelope.Scope{envelope.Snippet, envelope.Full, envelope.Attachments} {
			list := listed(raw, scope, 0)
			if len(list) != 1 {
				t.Fatalf("%s: %+v", tt.name, list)
			}
			a, asked := list[0], scope == envelope.Attachments
			if (a.Data != nil) != (asked && tt.whole) || a.Omitted != (asked && !tt.whole) || a.Data != nil && string(a.Data) != tt.want {
				t.Errorf("%s, %s: %q, omitted %v", tt.name, scope, a.Data, a.Omitted)
			}
			if tt.whole && (a.Digest != digest(tt.want) || a.Size != int64(len(tt.want))) || !tt.whole && a.Digest != "" {
				t.Errorf("%s, %s: %d bytes, %s", tt.name, scope, a.Size, a.Digest)
			}
		}
		if list := listed(raw, envelope.Headers, 0); list != nil {
			t.Errorf("%s: %+v", tt.name, list)
		}
	}
	cut := mixedParts(b64(strings.Repeat("x", 90_000)))
	if a := listed(cut, envelope.Snippet, 0)[0]; a.Digest != "" || a.Size > snippetWindow {
		t.Errorf("cut: %+v", a)
	}
	half := strings.Split(mixedParts(b64("abcd"), b64("efgh")), "ZWZnaA==")[0] + "ZWZn"
	m := Parse(Raw{Header: []byte(half), Size: 1000, Partial: true}, Options{Scope: envelope.Attachments})
	if a := m.Attachments; string(a[0].Data) != "abcd" || a[1].Data != nil || !a[1].Omitted || a[1].Digest != "" {
		t.Errorf("partial: %+v", a)
	}
}

// TestAttachmentsAreBounded: one that does not fit is listed, and the next may fit.
func TestAttachmentsAreBounded(t *testing.T) {
	raw := mixedParts(b64("12345"), b64("123456"), b64("1234"), b64("1"), b64(""))
	for most, want := range map[int64]string{1: "---1+", 4: "--4-+", 5: "5---+", 9: "5-4-+", 10: "5-41+", 11: "56--+", 16: "5641+"} {
		got := ""
		for _, a := range listed(raw, envelope.Attachments, most) {
			switch {
			case a.Omitted && a.Data == nil && a.Digest != "":
				got += "-"
			case len(a.Data) == 0:
				got += "+"
			default:
				got += fmt.Sprint(len(a.Data))
			}
		}
		if got != want {
			t.Errorf("%d bytes: %s, want %s", most, got, want)
		}
	}
	for size, whole := range map[int]bool{2 << 20: true, 2<<20 + 1: false} {
		if a := listed(mixedParts(b64(strings.Repeat("x", size))), envelope.Attachments, 0)[0]; (a.Data != nil) != whole || a.Size != int64(size) {
			t.Errorf("%d bytes: %d of them", size, len(a.Data))
		}
	}
}

// TestShorten: with the default, a record that would be too long for a stage goes without
// the last attachments; with more, it may be as much longer.
func TestShorten(t *testing.T) {
	field := "X: " + strings.Repeat("\x01", MaxHeader-200) + "\r\n" // six bytes each in JSON
	text := strings.Repeat("\\", 200_000)                           // two each
	raw := field + strings.Replace(mixedParts(b64(strings.Repeat("a", 1<<20)), b64("b"), b64(strings.Repeat("c", 1<<20-1))), "\r\nhi\r\n", "\r\n"+text+"\r\n", 1)
	for most, want := range map[int64]string{2 << 20: "true true false", 4 << 20: "true true true"} {
		opt := Options{Scope: envelope.Attachments, MaxText: MostMaxText, MaxAttachments: most}
		m := Parse(Raw{Header: []byte(raw), Size: int64(len(raw))}, opt)
		length := func() int { return len(m.Append(nil)) }
		before := length()
		shortened := opt.Shorten(&m, before)
		a := m.Attachments
		if got := fmt.Sprint(a[0].Data != nil, a[1].Data != nil, a[2].Data != nil); got != want || shortened != a[2].Omitted {
			t.Errorf("%d: %s, want %s; %d bytes", most, got, want, before)
		}
		if most <= 2<<20 && length() > record.DefaultMax-later {
			t.Errorf("%d bytes", length())
		}
	}
	small := Parse(Raw{Header: []byte(mixedParts(b64("a")))}, Options{Scope: envelope.Attachments})
	if (Options{Scope: envelope.Attachments}).Shorten(&small, len(small.Append(nil))) || !bytes.Equal(small.Attachments[0].Data, []byte("a")) {
		t.Errorf("%+v", small.Attachments)
	}
}
