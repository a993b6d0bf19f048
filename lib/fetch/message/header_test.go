package message

import (
	"reflect"
	"strings"
	"testing"

	"pulse/lib/shared/envelope"
)

func parse(raw string, scope envelope.Scope) envelope.Message {
	return Parse(Raw{Header: []byte(raw), Size: int64(len(raw))}, Options{Scope: scope})
}

// list returns fields with the given names and values.
func list(s ...string) []envelope.Field {
	fields := []envelope.Field{}
	for i := 0; i < len(s); i += 2 {
		fields = append(fields, envelope.Field{Name: s[i], Value: s[i+1]})
	}
	return fields
}

func TestFields(t *testing.T) {
	long := strings.Repeat("x", MaxHeader)
	for _, tt := range []struct {
		name, raw string
		want      []envelope.Field
		defects   []envelope.Defect
	}{
		{"plain", "From: a\r\nTo: b\r\n\r\nbody", list("From", "a", "To", "b"), nil},
		{"bare LF", "From: a\nTo: b\n\nbody", list("From", "a", "To", "b"), nil},
		{"no body", "From: a", list("From", "a"), nil},
		{"one space only is not the value's", "A:  b\nC:d\nE:\te\n", list("A", " b", "C", "d", "E", "\te"), nil},
		{"folding is kept as CRLF", "A: b\n c\n\td\n", list("A", "b\r\n c\r\n\td"), nil},
		{"a blank line of blanks is folding", "A: b\n \nC: d\n", list("A", "b\r\n ", "C", "d"), nil},
		{"a blank before the colon stays", "From : a\nFrom: b\n", list("From ", "a", "From", "b"), nil},
		{"empty value", "A:\nB: \n", list("A", "", "B", ""), nil},
		{"mbox line", "From a@b Mon Jan  1 00:00:00 2024\nA: b\n\n", list("A", "b"), nil},
		{"From with a blank before its colon is a field", "From : a\nA: b\n\n", list("From ", "a", "A", "b"), nil},
		{"CRLF and LF", "A: b\r\nC: d\n\nbody", list("A", "b", "C", "d"), []envelope.Defect{envelope.LineEnds}},
		{"LF and CRLF", "A: b\nC: d\r\n\r\nbody", list("A", "b", "C", "d"), []envelope.Defect{envelope.LineEnds}},
		{"CRLF and LF in folding", "A: b\r\n c\n d\r\n", list("A", "b\r\n c\r\n d"), []envelope.Defect{envelope.LineEnds}},
		{"a blank line of LF", "A: b\r\n\nbody", list("A", "b"), []envelope.Defect{envelope.LineEnds}},
		{"a blank line of CRLF", "A: b\n\r\nbody", list("A", "b"), []envelope.Defect{envelope.LineEnds}},
		{"another line end in the body", "A: b\r\n\r\nbody\n", list("A", "b"), nil},
		{"another in an mbox line", "From a@b Mon Jan  1 00:00:00 2024\nA: b\r\n\r\n", list("A", "b"), nil},
		{"no colon", "A: b\nnonsense\n more\nC: d\n", list("A", "b", "C", "d"), []envelope.Defect{envelope.MalformedHeader}},
		{"colon only in the folding", "A\n : b\n", list(), []envelope.Defect{envelope.MalformedHeader, envelope.NoHeader}},
		{"folding before any field", " x: y\nA: b\n", list(" x", "y", "A", "b"), []envelope.Defect{envelope.MalformedHeader}},
		{"no name", ": b\n", list("", "b"), []envelope.Defect{envelope.MalformedHeader}},
		{"a blank in the name", "Fr om: b\n", list("Fr om", "b"), []envelope.Defect{envelope.MalformedHeader}},
		{"KELVIN SIGN in a name", "\u212aey: b\n", list("\u212aey", "b"), []envelope.Defect{envelope.MalformedHeader}},
		{"bare CR", "A: b\rFrom: c\n", list("A", "b\rFrom: c"), []envelope.Defect{envelope.ControlInHeader}},
		{"CR CR LF", "A: b\r\r\nC: d\n", list("A", "b\r", "C", "d"), []envelope.Defect{envelope.ControlInHeader, envelope.LineEnds}},
		{"NUL", "A: b\x00\n", list("A", "b\x00"), []envelope.Defect{envelope.ControlInHeader}},
		{"DEL", "A: b\x7f\n", list("A", "b\x7f"), []envelope.Defect{envelope.ControlInHeader}},
		{"8 bit", "A: \xff\xfeb\n", list("A", "\ufffd\ufffdb"), []envelope.Defect{envelope.InvalidUTF8}},
		{"UTF-8", "A: ä\n", list("A", "ä"), nil},
		{"empty", "", list(), []envelope.Defect{envelope.NoHeader}},
		{"only a body", "\nA: b\n", list(), []envelope.Defect{envelope.NoHeader}},
		{"too large", "A: b\nC: " + long + "\nD: e\n", list("A", "b"), []envelope.Defect{envelope.HeaderTooLarge}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := parse(tt.raw, envelope.Headers)
			if !reflect.DeepEqual(m.Headers, tt.want) {
				t.Errorf("fields %q, want %q", m.Headers, tt.want)
			}
			if !reflect.DeepEqual(m.Defects, tt.defects) {
				t.Errorf("defects %q, want %q", m.Defects, tt.defects)
			}
		})
	}
}

// TestStrayLineEnds: over IMAP each line must end with CRLF, in the header and in as much
// of the body as there is. A CR where the body was cut is not a defect.
func TestStrayLineEnds(t *testing.T) {
	long := "A: " + strings.Repeat("x", MaxHeader)
	for _, tt := range []struct {
		head, body string
		partial    bool
		want       bool
	}{
		{"A: b\r\n\r\n", "x\r\n", false, false}, {"A: b\r\n\r\n", "", false, false}, {"", "", false, false},
		{"A: b\n\n", "x\r\n", false, true}, {"A: b\r\nC: d\n\r\n", "", false, true}, {"A: b\rC: d\r\n\r\n", "", false, true},
		{"A: b\r\n\r\n", "x\n", false, true}, {"A: b\r\n\r\n", "x\ry\r\n", false, true}, {"A: b\r\n\r\n", "\nx", false, true},
		{"A: b\r\n\r\n", "x\r", false, true}, {"A: b\r\n\r\n", "x\r", true, false}, {"A: b\r\n\r\n", "x\r\r", true, true},
		{"A: b\r", "", false, true}, {long + "\r", "", true, false}, {long + "\r\r", "", true, true},
	} {
		for _, scope := range []envelope.Scope{envelope.Headers, envelope.Full} {
			m := Parse(Raw{Header: []byte(tt.head), Body: []byte(tt.body), Size: int64(len(tt.head) + len(tt.body)), Partial: tt.partial, CRLF: true}, Options{Scope: scope})
			if m.Has(envelope.LineEnds) != tt.want {
				t.Errorf("%.20q %q: %q", tt.head, tt.body, m.Defects)
			}
		}
	}
}

// TestHeaderBound: the largest header is kept whole, and one with a byte more is cut.
func TestHeaderBound(t *testing.T) {
	for over := range 2 {
		raw := "A: " + strings.Repeat("x", MaxHeader-len("A: \r\n")+over) + "\n\n"
		m := parse(raw, envelope.Headers)
		if got := m.Has(envelope.HeaderTooLarge); got != (over == 1) {
			t.Errorf("%d bytes over: too large is %v", over, got)
		}
	}
}

func TestTooManyFields(t *testing.T) {
	m := parse(strings.Repeat("A: b\n", maxFields), envelope.Headers)
	if len(m.Headers) != maxFields || len(m.Defects) != 0 {
		t.Errorf("%d fields, defects %q", len(m.Headers), m.Defects)
	}
	m = parse(strings.Repeat("A: b\n", maxFields+1), envelope.Headers)
	if len(m.Headers) != maxFields || m.Unverifiable() != envelope.TooManyFields {
		t.Errorf("%d fields, defects %q", len(m.Headers), m.Defects)
	}
}

// TestDigest: a message has the same digest however it came: with LF from a Maildir, with
// CRLF and split from a server, after a From_ line, and for any scope.
func TestDigest(t *testing.T) {
	lf := "From: a\nSubject: b\n c\n\nbody\n"
	crlf := strings.ReplaceAll(lf, "\n", "\r\n")
	want := parse(lf, envelope.Snippet).Digest
	head, body, _ := strings.Cut(crlf, "\r\n\r\n")
	for name, got := range map[string]envelope.Message{
		"CRLF":         parse(crlf, envelope.Full),
		"headers":      parse(lf, envelope.Headers),
		"mbox":         parse("From a Mon Jan  1 00:00:00 2024\n"+lf, envelope.Snippet),
		"header alone": parse(head, envelope.Headers),
		"IMAP":         Parse(Raw{Header: []byte(head + "\r\n\r\n"), Body: []byte(body), Size: int64(len(crlf))}, Options{Scope: envelope.Snippet}),
	} {
		if got.Digest != want {
			t.Errorf("%s: another digest", name)
		}
	}
	if parse("From: a\nSubject: b\n  c\n\nbody\n", envelope.Snippet).Digest == want {
		t.Error("another header has the same digest")
	}
	if !strings.HasPrefix(want, "sha256:") || len(want) != 71 {
		t.Errorf("digest %q", want)
	}
}

func TestID(t *testing.T) {
	for raw, want := range map[string]string{
		"Message-ID: <a@b>\n":                  "<a@b>",
		"message-id : <a@b> \n":                "<a@b>",
		"MESSAGE-ID:\n <a@b>\n":                "<a@b>",
		"Message-ID: <a@b>\nMessage-ID: <c@d>": "<a@b>",
		"Message-\u0131D: <a@b>\n":             "",
		"Message-ID: \nFrom: a\n":              "",
		"X-Message-ID: <a@b>\n":                "",
	} {
		m := parse(raw, envelope.Headers)
		if want == "" {
			want = m.Digest
		}
		if m.ID != want {
			t.Errorf("%q: id %q, want %q", raw, m.ID, want)
		}
	}
}

func TestShown(t *testing.T) {
	for raw, want := range map[string]string{
		"plain":                                 "plain",
		"=?utf-8?q?Gr=C3=BC=C3=9Fe?=":           "Grüße",
		"=?ISO-8859-1?B?R3L832U=?=":             "Grüße",
		"=?utf-8?q?a?=\r\n =?utf-8?q?b?=":       "ab",
		"a\r\n\tb":                              "a b",
		"=?utf-8?q?two=0D=0AFrom:_lines?=":      "two From: lines",
		"=?utf-8?q?=1B[2J?=":                    "[2J",
		"=?utf-8?q?=E2=80=8Bzero?=":             "zero",
		"=?nonsense?q?gr=FC?=":                  "gr\ufffd",
		"=?utf-7?q?+AGE-?=":                     "a",
		"=?utf-7?b?K0FBMEFDZy1Gcm9tOg==?=":      "From:",
		"=?utf-8?B?aGVsbG8===?=":                "hello",
		"=?utf-8?B?aGVsbG8?=":                   "hello",
		"=?utf-8?B?aGVs=bG8=?=":                 "hello",
		"=?utf-8*en?Q?a?=":                      "a",
		"=?iso-8859-1*de?Q?Gr=FC=DFe?=":         "Grüße",
		"=?iso-8859-1?Q?=93a=94?=":              "“a”",
		"=?utf-16?B?AEEAQgAKAEM=?=":             "AB C",
		"=?utf-16?B?QQBCAAoAQwA=?=":             "AB C",
		"=?utf-8?b?4pw=?= =?UTF-8?b?kw==?=":     "\u2713",
		"=?gbk?q?=81?= =?gbk?q?=40?=":           "\ufffd@",
		"=?utf-8?q?a b?= c":                     "a b c",
		"=?utf-8?q?a?= =?utf-8?b?!?=":           "a =?utf-8?b?!?=",
		"=?ibm037?q?=82=96=A2=A2=7C=83?=":       "\ufffd\ufffd\ufffd\ufffd|\ufffd",
		"=?cp932?q?=82=A0?=":                    "あ",
		"=?utf-8?b?!!!?=":                       "=?utf-8?b?!!!?=",
		"   blanks   ":                          "blanks",
		strings.Repeat("x", 3000):               strings.Repeat("x", maxShown),
		"\u202eeman.exe":                        "\u202eeman.exe", // shown through lib/shared/escape
		"=?utf-8?q?" + strings.Repeat("=41", 9): "=?utf-8?q?" + strings.Repeat("=41", 9),
	} {
		if got := parse("Subject: "+raw+"\n", envelope.Headers).Subject; got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
}
