// Package messagetest makes the broken mails that are too large to keep as files. The
// others lie in lib/fetch/message/testdata/broken.
//
// Invariant: it makes the same mails each time. Caveat: some are over a megabyte.
package messagetest

import (
	"fmt"
	"strings"
)

// Mail is a message and what Parse should return for it, with 50 characters of text.
type Mail struct {
	Name      string
	Raw       []byte
	Defects   string // in the order in which they are found, with blanks between
	Text      string
	Truncated bool
}

const (
	header = "From: Me <me@example.com>\nSubject: x\n"
	mixed  = header + "Content-Type: multipart/mixed; boundary=b\n\n"
	page   = header + "Content-Type: text/html\n\n"
)

// Large returns mails that exceed a bound.
func Large() []Mail {
	x50 := strings.Repeat("x", 50)
	return []Mail{
		{"1,000 parts", []byte(mixed + strings.Repeat("--b\nContent-Type: image/png\n\nx\n", 1000) + "--b--\n"), "mime_too_many_parts", "", false},
		{"1,000 deep", []byte(nested(1000)), "malformed_mime mime_too_deep", "", false},
		{"1,000 messages in messages", []byte(header + strings.Repeat("Content-Type: message/rfc822\n\n", 1000)), "", "", false},
		{"10,000 fields", []byte(header + strings.Repeat("X-A: b\n", 10_000) + "\nseen\n"), "too_many_fields", "seen", false},
		{"10,000 fields of a part", []byte(mixed + "--b\n" + strings.Repeat("X-A: b\n", 10_000) + "\nseen\n--b--\n"), "", "seen", false},
		{"a field of 300 kB", []byte(header + "X-A: " + strings.Repeat("x", 300_000) + "\n\nseen\n"), "header_too_large", "seen", false},
		{"folding of 300 kB", []byte(header + "X-A: b\n" + strings.Repeat(" \n", 150_000) + "\nseen\n"), "header_too_large", "seen", false},
		{"a line of 1 MB", []byte(header + "\n" + strings.Repeat("x", 1<<20)), "", x50, true},
		{"blank lines of 1 MB", []byte(header + "\n" + strings.Repeat(" \n", 1<<19) + "seen\n"), "", "seen", false},
		{"NULs of 1 MB", []byte(header + "\n" + strings.Repeat("\x00", 1<<20) + "seen\n"), "control_in_text", "seen", false},
		{"joiners of 1 MB", []byte(header + "\ns" + strings.Repeat("\u200c\u200d", 1<<18) + "een\n"), "", "s\u200ceen", false},
		{"a name of 10,000 characters", []byte(mixed + "--b\nContent-Type: a/b; name=" + strings.Repeat("x", 10_000) + "\n\nx\n--b--\n"), "malformed_mime", "", false},
		{"10,000 parameters", []byte(header + "Content-Type: text/plain" + strings.Repeat("; a=b", 10_000) + "\n\nseen\n"), "malformed_mime", "seen", false},
		{"a boundary of 5,000", []byte(header + "Content-Type: multipart/mixed; boundary=" + strings.Repeat("b", 5000) + "\n\n--" + strings.Repeat("b", 5000) + "\n\nseen\n"), "malformed_mime", "seen", false},
		{"encoded words of 200 kB", []byte("From: a\nSubject: " + strings.Repeat("=?utf-8?q?a?= ", 15_000) + "\n\nseen\n"), "", "seen", false},
		{"base64 of 1 MB without end", []byte(header + "Content-Transfer-Encoding: base64\n\n" + strings.Repeat("eHh4", 1<<18)), "", x50, true},
		{"quoted-printable in one line", []byte(header + "Content-Transfer-Encoding: quoted-printable\n\n" + strings.Repeat("=78", 1<<18)), "", x50, true},
		{"100,000 elements open", []byte(page + strings.Repeat("<div>", 100_000) + "hidden"), "", "", false},
		{"100,000 end tags", []byte(page + strings.Repeat("<b>", 200) + strings.Repeat("</i>", 100_000) + "seen"), "", "seen", false},
		{"a tag of 5 MB", []byte(page + "<p title='" + strings.Repeat("x", 5<<20) + "'>hidden"), "", "", true},
		{"a data: URI of 1 MB", []byte(page + "<img src='data:image/png;base64," + strings.Repeat("AAAA", 1<<18) + "'>seen"), "", "seen", false},
		{"HTML of 10 MB, hidden", []byte(page + "<p hidden>" + strings.Repeat("hidden<b>", 1_200_000)), "", "", true},
		{"a style sheet of 1 MB", []byte(page + "<style>" + strings.Repeat(".a{}", 1<<18) + "</style>hidden"), "", "", true},
		{"10,000 rules", []byte(page + "<style>" + rules(10_000) + "</style>hidden"), "", "", true},
		{"brackets in a selector", []byte(page + "<style>" + strings.Repeat("[", 200_000) + "{display:none}</style>hidden"), "", "", true},
		{"1,000 classes of an element", []byte(page + "<style>.h{display:none}</style><p class='" + strings.Repeat("a ", 1000) + "h'>hidden</p>seen"), "", "seen", false},
	}
}

// nested returns a message of n multiparts, each inside the one before.
func nested(n int) string {
	var b strings.Builder
	b.WriteString(header)
	for i := range n {
		fmt.Fprintf(&b, "Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n", i, i)
	}
	return b.String() + "\nhidden\n"
}

func rules(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ".c%d{color:red}", i)
	}
	return b.String()
}
