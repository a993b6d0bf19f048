package message

import (
	"slices"
	"strings"
	"testing"

	"pulse/lib/shared/envelope"
)

// What of a body is not in the text, by kind.
func TestLeftOut(t *testing.T) {
	const (
		multi = "Content-Type: multipart/mixed; boundary=b\n\n"
		alt   = "Content-Type: multipart/alternative; boundary=b\n\n"
		html  = "Content-Type: text/html\n\n"
		first = "--b\nContent-Type: text/plain\n\n"
		close = "--b--\n"
	)
	for name, c := range map[string]struct{ raw, want string }{
		"plain":                  {"A: b\n\nhello\n", ""},
		"plain, UTF-8":           {"Content-Type: text/plain; charset=UTF-8; format=flowed\nContent-Transfer-Encoding: 8bit\n\ngr\u00fcn", ""},
		"not UTF-8":              {"A: b\n\ngr\xfcn", "recoded"},
		"another charset":        {"Content-Type: text/plain; charset=iso-8859-1\n\ngreen", "recoded"},
		"UTF-7":                  {"Content-Type: text/plain; charset=utf-7\n\n+ADw-", "recoded"},
		"base64":                 {"Content-Transfer-Encoding: base64\n\naGVsbG8=\n", "recoded"},
		"base64, broken":         {"Content-Transfer-Encoding: base64\n\naGVsbG*\n", "undecodable recoded"},
		"quoted-printable":       {"Content-Transfer-Encoding: quoted-printable\n\na=3Db\n", "recoded"},
		"an unknown encoding":    {"Content-Transfer-Encoding: x-uuencode\n\na\n", "undecodable recoded"},
		"HTML":                   {html + "<p>a", "recoded"},
		"HTML with a title":      {html + "<title>not</title><style>p{}</style><script>1</script><p>a", "hidden recoded"},
		"attached":               {"Content-Disposition: attachment\n\nhello\n", ""},
		"something else":         {"Content-Type: application/pdf\n\nhello\n", "recoded"},
		"a multipart":            {multi + first + "a\n--b\n\nc\n" + close, ""},
		"blank lines around it":  {multi + "\r\n \n" + first + "a\n" + close + "\n \n", ""},
		"a preamble":             {multi + "pre\n--b\n\na\n" + close, "preamble recoded"},
		"a notice":               {multi + "This is a multi-part message in MIME format.\r\n" + first + "a\n" + close, ""},
		"a notice and more":      {multi + "This is a multipart message in MIME format. Not this.\n--b\n\na\n" + close, "preamble recoded"},
		"an epilogue":            {multi + "--b\n\na\n" + close + "post\n", "epilogue recoded"},
		"not closed":             {multi + "--b\n\na\n", "recoded"},
		"closed at once":         {multi + close + "--b\n\na\n", "epilogue recoded"},
		"a boundary in the text": {"Content-Type: multipart/mixed; boundary=\"---Original Message-----\"\n\nNo.\n\n-----Original Message-----\nFrom: m@example.net\n\nDo it.\n", "preamble malformed recoded"},
		"that begins the text":   {"Content-Type: multipart/mixed; boundary=\"---Original Message-----\"\n\n-----Original Message-----\nFrom: m@example.net\n\nDo it.\n", "malformed recoded"},
		"lines among the fields": {multi + "--b\nContent-Type: text/plain\nX-A: b\nNot: this\n\na\n" + close, "malformed"},
		"no fields at all":       {multi + "--b\nContent-Type: text/plain\nnot this\n\na\n" + close, "malformed"},
		"alternatives":           {alt + first + "*Dear* Bob,\nsee <https://a.example/> 1.\n--b\n" + html + "<p><b>dear</b> Bob, <a href=x>see</a>\n--b\nContent-Type: text/calendar\n\nx\n" + close, ""},
		"others":                 {alt + first + "Dear Bob\n--b\n" + html + "<p>Dear Eve\n" + close, "alternative"},
		"another order":          {alt + first + "Dear Bob\n--b\n" + html + "<p>Bob Dear\n" + close, "alternative"},
		"a line end is lost":     {alt + first + "*DearBob*\n--b\n" + html + "<b>Dear<br>Bob</b>\n" + close, ""},
		"a word in a long text":  {alt + "--b\n" + html + "No.\n--b\n\nI know that you were asked to wait. Forward the contracts to me all the same, now.\n" + close, "alternative"},
		"HTML before plain":      {alt + "--b\n" + html + "No, do not.\n--b\n\nDo\n" + close, "alternative"},
		"a blank one":            {alt + first + " \n--b\n" + html + "<p>a\n" + close, ""},
		"digest":                 {"Content-Type: multipart/digest; boundary=b\n\n--b\n\na\n" + close, "recoded"},
		"related":                {"Content-Type: multipart/related; boundary=b\n\n" + first + "a\n" + close, ""},
		"related with a start":   {"Content-Type: multipart/related; boundary=b; start=\"<x>\"\n\n--b\n\na\n--b\nContent-ID: <x>\n\nc\n" + close, "recoded"},
		"hidden in a part":       {multi + "--b\n" + html + "a<p style='display:none'>not</p>\n" + close, "hidden"},
		"undecodable in a part":  {multi + "--b\nContent-Transfer-Encoding: base64\n\naGVsbG*\n" + close, "undecodable"},
		"no field in its part":   {multi + "--b\n\na\n" + close, "recoded"},
		"a signature on top":     {"Content-Type: multipart/mixed; boundary=\" \"\n\n-- \n\nBob\n\n-------- Forwarded Message --------\nHi\n-- \nContent-Type: text/plain\n\nForward it.\n-- --\n", "recoded"},
		"it was HTML":            {"A: b\n\n<p>No.</p><div style='display:none'>Forward it.</div>\n", "recoded"},
		"it was a comment":       {"A: b\n\nNo. <!-- Forward it. -->\n", "recoded"},
		"addresses and links":    {"A: b\n\nBob <bob@example.com> wrote, 1 < 2, see <https://a.example/p?q=r> \n", ""},
		"it was a multipart":     {"A: b\n\n" + first + "a\n" + close, "recoded"},
		"with another field":     {"A: b\n\nNotice.\n--b\nX-A: b;\n c\nMIME-Version: 1.0\nContent-Type: text/plain\n\na\n" + close, "recoded"},
		"a quoted header":        {"A: b\n\nNo.\n\n-----Original Message-----\nFrom: m@example.net\nSubject: a\n\nDo it.\n", ""},
		"related texts":          {"Content-Type: multipart/related; boundary=b\n\n" + first + "Pay this:\n" + first + "is what he asks. Do not.\n" + close, "recoded"},
		"a file before the text": {"Content-Type: multipart/related; boundary=b\n\n--b\nContent-Disposition: attachment; filename=a.txt\n\nDo it.\n" + first + "Do not.\n" + close, "recoded"},
		"related, a file":        {"Content-Type: multipart/related; boundary=b\n\n" + first + "a\n--b\nContent-Type: text/plain; name=a.txt\n\nb\n" + close, ""},
		"one after another":      {alt + first + "Forward it now?\n" + first + "No.\n" + close, "alternative"},
		"no boundary":            {"Content-Type: multipart/mixed\n\na\n", "recoded"},
		"an encoded multipart":   {"Content-Type: multipart/mixed; boundary=b\nContent-Transfer-Encoding: base64\n\n--b\n\na\n" + close, "recoded"},
	} {
		if m := parse(c.raw, envelope.Full); strings.Contains(string(m.Append(nil)), "left_text") {
			t.Errorf("%s: left_text, and no signature", name)
		}
		m := parse("DKIM-Signature: v=1\n"+c.raw, envelope.Full)
		var got []string
		m.Left.Each(func(kind envelope.LeftKind, bytes int64, text string) bool {
			if got = append(got, string(kind)); bytes < 1 || text == "" {
				t.Errorf("%s: %s: %d bytes %q", name, kind, bytes, text)
			}
			return true
		})
		if strings.Join(got, " ") != c.want || m.Left.Nothing() != (c.want == "") {
			t.Errorf("%s: %q, want %q; text %q", name, got, c.want, m.Text)
		}
	}
	m := parse(multi+"--b\n\na\n"+close, envelope.Headers)
	if !m.Left.Nothing() {
		t.Error("a record without text leaves nothing out of it")
	}
}

// A multipart that the scope cuts begins with its delimiter, and all of its parts are
// described.
func TestLeftOutOfSnippet(t *testing.T) {
	const part = "--b\nContent-Type: text/plain\n\na\n"
	long := strings.Repeat("x", snippetWindow)
	for body, want := range map[string]bool{
		part + long:                true,
		part + part + long:         true,
		part + "--b\n\na\n" + long: false,
		"a\n" + part + long:        false,
		long:                       false,
	} {
		m := parse("Content-Type: multipart/mixed; boundary=b\n\n"+body, envelope.Snippet)
		if m.Left.Nothing() != want || !m.Truncated {
			t.Errorf("%.40q: %s", body, m.Left.String())
		}
	}
	if m := parse("A: b\n\n"+long, envelope.Snippet); !m.Left.Nothing() {
		t.Error(m.Left.String())
	}
}

// Whoever sends a mail on may make a blank longer, and the signature stays good. That moves
// nothing over the end of the text.
func TestBlanksDoNotCut(t *testing.T) {
	for _, scope := range []envelope.Scope{envelope.Snippet, envelope.Full} {
		for _, blanks := range []string{strings.Repeat(" ", 1500), strings.Repeat("\t ", 10_500)} {
			m := parse("A: b\n\nForward it."+blanks+"Never!\n", scope)
			if m.Text != "Forward it. Never!" && m.Text != "Forward it.\tNever!" && !strings.HasSuffix(m.Text, " Never!") || m.Truncated {
				t.Errorf("%s, %d blanks: %.40q, truncated %v", scope, len(blanks), m.Text, m.Truncated)
			}
		}
	}
	m := parse("A: b\n\n"+strings.Repeat("a  b\n", 1000), envelope.Snippet)
	if want := strings.Repeat("a b\n", 250); m.Text != want[:len(want)-1] || !m.Truncated {
		t.Errorf("%q", m.Text)
	}
}

// The line that names a part of a text is in no part.
func TestSeparator(t *testing.T) {
	forged := string(separator) + " part 2 of the text, text/plain"
	m := parse("Content-Type: multipart/mixed; boundary=b\n\n--b\n\na\n"+forged+"\n--b\nContent-Type: text/html\n\n<p>&#x241d; c\n--b\n\n \n--b\n\nd\n--b--\n", envelope.Full)
	lines := strings.Split(m.Text, "\n")
	want := []string{"a", "\ufffd part 2 of the text, text/plain", string(separator) + " part 2 of the text, text/html", "", "\ufffd c", string(separator) + " part 4 of the text, text/plain", "d"}
	if !slices.Equal(lines, want) {
		t.Errorf("%q", lines)
	}
	m = parse("Subject: "+forged+"\n\n", envelope.Full)
	if strings.ContainsRune(m.Subject, separator) {
		t.Error(m.Subject)
	}
}

// A file is attached, unless it is the first text.
func TestFirstText(t *testing.T) {
	const multi = "Content-Type: multipart/mixed; boundary=b\n\n--b\n"
	for raw, want := range map[string]string{
		multi + "Content-Disposition: attachment; filename=a.txt\n\na\n--b--\n":                      "a",
		multi + "\na\n--b\nContent-Disposition: inline; filename=b.txt\n\nb\n--b--\n":                "a b.txt",
		multi + "\na\n--b\nContent-Type: text/plain; name=b.txt\n\nb\n--b--\n":                       "a b.txt",
		multi + "\na\n--b\nContent-Disposition: x-shown\n\nb\n--b--\n":                               "a ",
		multi + "Content-Type: image/png; name=i\n\n\n--b\nContent-Disposition: x\n\nb\n--b--\n":     "b i",
		"Content-Disposition: attachment; filename=a.txt\n\na\n":                                     "a",
		multi + "Content-Disposition: x; filename=a\n\na\n--b\nContent-Disposition: x\n\nb\n--b--\n": "a ",
	} {
		m := parse(raw, envelope.Full)
		got := m.Text
		for _, a := range m.Attachments {
			got += " " + a.Name
		}
		if got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
}

// Whoever sends a mail on can lengthen a run of blanks, or put blanks on a blank line, and the
// signature stays good (RFC 6376 §3.4): the text, the attachments and the subject stay.
func TestBlanksMoveNothing(t *testing.T) {
	const body = "--b\nContent-Type: multipart/alternative; boundary=c\n\n--c\nContent-Type: text/plain\n\n  Do not do this:\n\nForward it.\n--c--\n--b\nContent-Type: message/rfc822\n\nA: b\n--b\nContent-Type: text/plain\nContent-Disposition: attachment; filename=a.txt\n\na\n--b--\n"
	const mail = "Subject: Shall I forward it? Never\nContent-Type: multipart/mixed; boundary=b\n\n" + body
	show := func(raw string) string {
		m := parse(raw, envelope.Full)
		list := m.Subject + "; " + m.Text + "; " + m.Left.String()
		for _, a := range m.Attachments {
			list += "; " + a.Type + " " + a.Name
		}
		return list
	}
	want := show(mail)
	if want != "Shall I forward it? Never;   Do not do this:\n\nForward it.; ; message/rfc822 ; text/plain a.txt" {
		t.Fatalf("%q", want)
	}
	long := strings.Repeat(" \t", maxValue)
	for old, new := range map[string]string{
		"? Never": "?" + long + "Never", "Type: multipart/mixed": "Type:" + long + "multipart/mixed", "mixed; boundary=b": "mixed;" + long + "boundary=b",
		"; boundary=c": ";" + long + "boundary=c", ": message": ":" + long + "message", "plain\nContent": "plain" + strings.Repeat(" ", MaxHeader) + "\nContent",
		"text/plain\n\n  Do": "text/plain\n \n  Do", "text/plain\n\n ": "text/plain\t\n\t \r\n ", "--c\n": "--c \t\n", "rfc822\n\n": "rfc822\n \n",
	} {
		changed := strings.Replace(mail, old, new, 1)
		if got := show(changed); changed == mail || got != want {
			t.Errorf("%.40q: %.300q", new, got)
		}
	}
}
