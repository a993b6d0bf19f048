package addrspec

import (
	"encoding/base64"
	"mime"
	"strings"
	"testing"
	"unicode"

	"pulse/lib/fetch/message"
	"pulse/lib/shared/envelope"
)

func TestEncodedDisplayNames(t *testing.T) {
	for _, c := range []struct {
		from string
		ok   bool
	}{
		{"=?utf-8?q?M=C3=BCller=2C_J?= <me@example.com>", true},
		{"=?utf-8?q?me=40example.com?= <me@example.com>", true}, // as Outlook does without encoding
		{"\"=?UTF-8?B?bWVAZXhhbXBsZS5jb20=?=\" <ME@example.com>", true},
		{"=?iso-2022-jp?B?GyRCOzNFREJATzobKEI=?= <me@example.com>", true},
		{"=?iso-2022-jp?Q?=1B$B@<=1B(B?= <me@example.com>", false}, // a raw < begins the address
		{"=?shift_jis?Q?=83=40=83A?= <me@example.com>", true},
		{"=?gbk?B?gUA=?= <me@example.com>", true},
		{"=?x-unknown?q?J=FCrgen?= <me@example.com>", true},
		{"=?utf-8?x?a=40b?= <me@example.com>", true}, // no encoding that any reader knows
		{"=?utf-8?B?bWVAZXhhbXBsZS5jb20====?= <me@example.com>", true},
		{"=?utf-8?B?YQ==Ym9zc0Bjb3JwLmV4YW1wbGU=?= <me@example.com>", false}, // padding in the middle
		{"=?gbk?Q?boss=81=81=40corp?= <me@example.com>", false},              // 81 81 is a letter, the @ is not
		{"=?utf7?q?a+AEA-b?= <me@example.com>", false},
		{"=?utf-8?q?boss=40corp.example <me@example.com> (?=)", false}, // a word over both brackets
		{"=?utf-8?B?Ym9zc0Bjb3Jw= <me@example.com> (?=)", false},
		{"=?utf-8?q?boss=40corp.example?= <me@example.com>", false},
		{"=?utf-8?b?Ym9zc0Bjb3JwLmV4YW1wbGU=?= <me@example.com>", false},
		{"=?utf-8?b?Ym9zc0Bjb3JwLmV4YW1wbGU?= <me@example.com>", false},
		{"=?utf-8?b?Ym9z*c0Bjb3J*wLmV4YW1wbGU=?= <me@example.com>", false},
		{"\"=?utf-8?q?boss=40corp.example?=\" <me@example.com>", false},
		{"=?utf-8?q?me=40example?= =?utf-8?q?.com.evil.example?= <me@example.com>", false},
		{"=?utf-8*en?q?=3Cboss?= <me@example.com>", false},
		{"Me =?iso-8859-1?q?=3e?= <me@example.com>", false},
		{"=?utf-8?q?a=0Ab?= <me@example.com>", false},
		{"=?utf-8?q?a=C2=9Bb?= <me@example.com>", false},
		{"=?utf-8?q?a=1B[2K?= <me@example.com>", false},
		{"=?utf-16?b?AGEAQA==?= <me@example.com>", false},
		{"=?utf-7?q?a+AEA-b?= <me@example.com>", false},
		{"=?iso-2022-jp?Q?=1B(Bboss=40corp.example?= <me@example.com>", false},
		{"=?shift_jis?Q?=B1=40?= <me@example.com>", false}, // half-width: a letter of one byte
		{"=?gbk?Q?=81=3C?= <me@example.com>", false},
		{"me@example.com (=?utf-8?q?boss=40corp.example?=)", false},
		{"<me@example.com> (=?utf-8?q?=3Cboss?=)", false},
		{"=?=?utf-8?q?=40?= <me@example.com>", false},
		{"=?a?b =?utf-8?q?=40?= <me@example.com>", false},
	} {
		if box, ok := Parse(c.from); ok != c.ok || ok && !strings.EqualFold(box.Address, "me@example.com") {
			t.Errorf("%s: %v, %v", c.from, box, ok)
		}
	}
}

// FuzzEncoded: if the standard library's decoder finds an @, a bracket or a control in
// a name, spelled has seen it too.
func FuzzEncoded(f *testing.F) {
	for _, s := range []string{"a@b", "<", "M\u00fcller", "\u0085", "?=", "=40", "_", "\x1b"} {
		f.Add(s, "q")
		f.Add(s, "B")
	}
	f.Fuzz(func(t *testing.T, name, how string) {
		word := "=?utf-8?q?" + name + "?="
		spelled(name)
		if how == "B" {
			word = "=?utf-8?B?" + base64.StdEncoding.EncodeToString([]byte(name)) + "?="
		}
		if how != "B" && strings.Contains(name, "?") {
			return // it ends the word
		}
		text, err := new(mime.WordDecoder).DecodeHeader(word)
		if err != nil || strings.Contains(text, "=?") {
			return
		}
		odd := strings.ContainsAny(text, "@<>") || strings.IndexFunc(text, unicode.IsControl) >= 0
		if _, hides := spelled(word); odd && !hides {
			t.Fatalf("%q is shown as %q", word, text)
		}
	})
}

// FuzzDisplayed: no encoded word in a From that Parse accepts makes pulse-fetch show
// another address beside the one that is believed, or a second line.
func FuzzDisplayed(f *testing.F) {
	for _, charset := range []string{"utf-8", "utf-7", "utf7", "utf-16", "gbk", "shift_jis", "iso-2022-jp", "ibm037", "cp949", "hz-gb-2312", "iso-8859-1*en"} {
		for _, text := range []string{"a@b", "=40=3C=0D=0A", "+AEA-", "=81=81@", "=81=40", "\x00@", "=82=96=A2=A2=7C=83=4C=6E", "~{@~}", "YQ==QEA", "QEA==="} {
			f.Add("=?" + charset + "?q?" + text + "?= <me@example.com>")
			f.Add("\"=?" + charset + "?B?" + text + "?=\" =?" + charset + "?b?" + text + "?= <me@example.com>")
			f.Add("me@example.com (=?" + charset + "?q?" + text + "?=)")
		}
	}
	f.Fuzz(func(t *testing.T, from string) {
		raw := []byte("From: " + from + "\n")
		m := message.Parse(message.Raw{Header: raw, Size: int64(len(raw))}, message.Options{Scope: envelope.Headers})
		if len(m.Headers) != 1 || m.Unverifiable() != "" || len(from) > 1000 {
			return
		}
		box, ok := Parse(m.Headers[0].Value)
		if strings.ContainsFunc(m.From, unicode.IsControl) {
			t.Fatalf("%q is shown as %q", from, m.From)
		}
		if rest := strings.ReplaceAll(m.From, box.Address, ""); ok && (strings.Contains(rest, "@") || strings.Count(rest, "<")+strings.Count(rest, ">") > 2) {
			t.Fatalf("%q is shown as %q, and believed is %s", from, m.From, box.Address)
		}
	})
}
