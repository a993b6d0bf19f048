package message

import (
	"strings"
	"testing"

	"pulse/lib/shared/envelope"
)

// typical is a mail as a receiver hands it on: some 3 kB of header and 2 kB of text.
var typical = "Return-Path: <me@example.com>\r\nDelivered-To: agent@example.com\r\n" +
	"Authentication-Results: mx.receiver.example;\r\n\tdkim=pass header.d=example.com header.s=mail header.b=abcdefgh;\r\n\tspf=pass smtp.mailfrom=me@example.com;\r\n\tdmarc=pass (p=REJECT) header.from=example.com\r\n" +
	strings.Repeat("Received: from mail.example.com (mail.example.com [192.0.2.1])\r\n\tby mx.receiver.example (Postfix) with ESMTPS id 4F0A1B2C3D\r\n\tfor <agent@example.com>; Sat, 21 Nov 2026 06:55:00 +0000 (UTC)\r\n", 4) +
	"DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=example.com; s=mail;\r\n\th=from:to:subject:date:message-id; bh=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=;\r\n\tb=" + strings.Repeat("AbCdEfGhIjKlMnOpQrStUvWxYz0123456789+/AbCdEfGhIjKlMnOpQr\r\n\t ", 6) + "==\r\n" +
	"From: Me <me@example.com>\r\nTo: agent@example.com\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?= and a question about the invoice\r\nDate: Sat, 21 Nov 2026 06:55:00 +0000\r\nMessage-ID: <1.abcdef@example.com>\r\n" +
	"MIME-Version: 1.0\r\nContent-Type: "

func benchmark(b *testing.B, head, body string, scope envelope.Scope) {
	header, text := []byte(typical+head+"\r\n\r\n"), []byte(body)
	raw := Raw{Header: header, Body: text, Size: int64(len(header) + len(text)), CRLF: true}
	b.SetBytes(raw.Size)
	b.ReportAllocs()
	var line []byte
	for b.Loop() {
		m := Parse(raw, Options{Scope: scope})
		line = m.Append(line[:0])
	}
	if len(line) == 0 {
		b.Fatal("nothing")
	}
}

func BenchmarkParse(b *testing.B) {
	const words = "The invoice of last month lists two items that nobody here has ordered; please look\r\n"
	plain := strings.Repeat(words, 24)
	html := "<html><body><p style='color:#333'>" + strings.Repeat("<b>The invoice</b> of last month lists<br>two items that nobody\r\n", 32) + "</body></html>"
	quoted := strings.ReplaceAll(strings.ReplaceAll(plain, "invoice", "Rechnung =C3=BCber"), "; ", "; =\r\n")
	for _, c := range []struct{ name, head, body string }{
		{"plain", "text/plain; charset=utf-8", plain},
		{"quoted", "text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable", quoted},
		{"latin1", "text/plain; charset=iso-8859-1", plain},
		{"html", "text/html; charset=utf-8", html},
		{"alternative", "multipart/alternative; boundary=\"=_b\"", "--=_b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n" + plain + "\r\n--=_b\r\nContent-Type: text/html\r\n\r\n" + html + "\r\n--=_b--\r\n"},
	} {
		b.Run(c.name, func(b *testing.B) { benchmark(b, c.head, c.body, envelope.Snippet) })
	}
	b.Run("headers", func(b *testing.B) { benchmark(b, "text/plain", "", envelope.Headers) })
}
