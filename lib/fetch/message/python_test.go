package message

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"pulse/lib/shared/envelope"
)

// python reads mails as a JSON array on stdin, one Latin-1 character for a byte, and answers
// with subject, text and the name of the first part that has one.
const python = `
import email, email.policy, json, sys
def name(part):
    v = part.get_filename()
    return v if v is None else str(email.header.make_header(email.header.decode_header(v)))
out = []
for raw in json.load(sys.stdin):
    old = email.message_from_bytes(raw.encode("latin-1"))
    new = email.message_from_bytes(raw.encode("latin-1"), policy=email.policy.default)
    body = new.get_body(("plain", "html"))
    try: subject = str(email.header.make_header(email.header.decode_header(old.get("Subject", ""))))
    except Exception: subject = str(new.get("Subject", ""))
    names = [name(p) for p in old.walk() if p.get_filename()]
    out.append([subject.encode("utf-8", "replace").decode(), body.get_content() if body else "", (names or [""])[0]])
json.dump(out, sys.stdout)
`

// odd has headers as programs write them. differs says why pulse does not do as python3 does.
var odd = []struct{ head, body, differs string }{
	{"Subject: =?utf-8?B?aGVsbG8===?=", "", ""},
	{"Subject: =?utf-8?B?aGVsbG8====?= =?utf-8?q?_x?=", "", ""},
	{"Subject: =?utf-8?B?aGVsbG8?=", "", ""},
	{"Subject: =?UTF-8?Q?Gr=C3=BC=C3=9Fe?= a", "", ""},
	{"Subject: =?utf-8?q?a?=\r\n =?utf-8?q?b?=", "", ""},
	{"Subject: =?utf-8?b?4pw=?= =?utf-8?b?kw==?=", "", ""},
	{"Subject: =?iso-8859-15?Q?=A4?=", "", ""},
	{"Subject: =?koi8-r?B?8NLJ18XU?=", "", ""},
	{"Subject: =?iso-2022-jp?B?GyRCJCIbKEI=?=", "", ""},
	{"Subject: =?shift_jis?B?gqA=?=", "", ""},
	{"Subject: =?cp932?B?gqA=?=", "", ""},
	{"Subject: =?gb2312?B?xOO6ww==?=", "", ""},
	{"Subject: =?euc-kr?B?vsiz5w==?=", "", ""},
	{"Subject: =?ks_c_5601-1987?B?vsiz5w==?=", "", ""},
	{"Subject: =?big5?B?p0Gmbg==?=", "", ""},
	{"Subject: =?utf-7?Q?+AOQ-x?=", "", ""},
	{"Subject: =?utf-16?B?//5hAA==?=", "", ""},
	{"Subject: =?utf-16?B?YQBiAA==?=", "", ""},
	{"Subject: =?utf-16be?B?AGEAYg==?=", "", ""},
	{"Subject: =?utf-8*en?Q?a?=", "", ""},
	{"Subject: =?utf-16?B?AGEAYg==?=", "", "python3 takes UTF-16 without a mark for little-endian"},
	{"Subject: =?iso-8859-1?Q?=93a=94?=", "", "python3 leaves C1 controls"},

	{"Content-Type: text/plain; charset=utf-16", "a\x00b\x00", ""},
	{"Content-Type: text/plain; charset=utf-16", "\xff\xfea\x00b\x00", ""},
	{"Content-Type: text/plain; charset=utf-16", "\xfe\xff\x00a\x00b", ""},
	{"Content-Type: text/plain; charset=utf-16le", "a\x00b\x00", ""},
	{"Content-Type: text/plain; charset=utf-7", "Hi +2D3cbA- +- +AOQ.", ""},
	{"Content-Type: text/plain; charset=utf-7", "a+", "python3 drops base64 without an end"},
	{"Content-Type: text/plain; charset*=us-ascii'en'iso-8859-1", "gr\xfcn", ""},
	{"Content-Type: text/plain (a); charset (b) = utf-8 (c)", "gr\xc3\xbcn", "python3 knows no comments there"},
	{"Content-Type: nonsense", "a", ""},
	{"Content-Type: text", "a", ""},
	{"Content-Type: html; charset=utf-8", "<p>a", ""},
	{"Content-Type: ", "a", ""},
	{"Content-Type: ;", "a", ""},
	{"Content-Type: text/plain/x; charset=utf-8", "\xc3\xbc", ""},

	{"Content-Type: image/png\r\nContent-Disposition: attachment; filename*=iso-8859-1'de'%E4.png", "", ""},
	{"Content-Type: image/png\r\nContent-Disposition: attachment; filename*=UTF-8'en-us'%e2%82%ac%20x", "", ""},
	{"Content-Type: image/png\r\nContent-Disposition: attachment; filename*0*=utf-8''%e2%82; filename*1*=%ac.txt", "", ""},
	{"Content-Type: image/png\r\nContent-Disposition: attachment; filename*1=b.txt; filename*0=\"a \"", "", ""},
	{"Content-Type: image/png\r\nContent-Disposition: attachment; filename*0*=iso-8859-1'en'a%E4; filename*1=b%41; filename*2*=%E4", "", ""},
	{"Content-Type: application/pdf; name*=koi8-r''%F0%D2.pdf", "", ""},
	{"Content-Type: image/png\r\nContent-Disposition: attachment; filename=\"=?utf-8?B?w6QucGRm===?=\"", "", ""},
	{"Content-Type: image/png\r\nContent-Disposition: attachment; filename=a b.txt; x", "", ""},
	{"Content-Type: image/png\r\nContent-Disposition: attachment; filename=\"a;b.txt\"", "", ""},
	{"Content-Type: image/png\r\nContent-Disposition: attachment; filename=\"C:\\\\x\\\"y.txt\"", "", ""},
	{"Content-Type: image/png\r\nContent-Disposition: attachment; filename=a.txt (x)", "", "python3 knows no comments there"},
	{"Content-Type: image/png\r\nContent-Disposition: attachment; filename=a.txt; filename=b.txt", "", ""},
	{"Content-Type: image/png\r\nContent-Disposition: attachment; filename=old; filename*=utf-8''new", "", "python3 takes the first, which is for old readers (RFC 6266 §4.3)"},
}

// TestPython: pulse reads odd headers as the email package of python3 does, or better.
func TestPython(t *testing.T) {
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3, which scripts/test installs: headers were not compared with how it reads them")
	}
	var mails []string
	for _, c := range odd {
		mails = append(mails, latin1(c.head+"\r\n\r\n"+c.body))
	}
	in, err := json.Marshal(mails)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "-I", "-c", python)
	cmd.Stdin = strings.NewReader(string(in))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all [][3]string
	if err := json.Unmarshal(out, &all); err != nil || len(all) != len(odd) {
		t.Fatalf("%d answers to %d mails: %v", len(all), len(odd), err)
	}
	for i, c := range odd {
		m := parse(c.head+"\r\n\r\n"+c.body, envelope.Full)
		got := [3]string{m.Subject, m.Text, attached(m)}
		want := all[i]
		want[1] = strings.TrimRight(want[1], "\r\n")
		if (got == want) == (c.differs != "") {
			t.Errorf("%q: %q, python3 %q %s", c.head, got, want, c.differs)
		}
	}
}

// latin1 returns a string of a character for each byte of s.
func latin1(s string) string {
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}
