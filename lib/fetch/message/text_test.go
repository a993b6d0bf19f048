package message

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"pulse/lib/shared/envelope"
)

func TestHTML(t *testing.T) {
	const seen = "seen"
	for html, want := range map[string]string{
		"<p>one</p><p>two</p>":                          "one\n\ntwo",
		"one<br>two<br/>three":                          "one\ntwo\nthree",
		"  a \n b\t<b>c</b>d ":                          "a b cd",
		"<b>a</b> <i>b</i>":                             "a b",
		"<ul><li>a<li>b</ul>c":                          "- a\n- b\nc",
		"<table><tr><td>a<td>b<tr><td>c</table>":        "a b\nc",
		"<pre>a\n  b</pre>":                             "a\n  b",
		"&lt;a&gt; &amp; &#65;&nbsp;&eacute;":           "<a> & A\u00a0é",
		"a&#0;b&#27;[2Jc":                               "a\ufffdb[2Jc",
		"<a href='data:text/html,x'>b</a>":              "b",
		"<img src='data:image/png;base64,AAAA' alt=x>a": "a",
		"a<!-- b -->c<!--[if mso]>d<![endif]-->e":       "ace",
		"<![if !mso]>a<![endif]>":                       "a",
		"<title>t</title>a":                             "a",
		"<style>p{}</style>a":                           "a",
		"<script>x='</p>'</script>a":                    "a",
		"<head>a":                                       "a", // a browser shows it too
		"<noscript>x</noscript>a":                       "a",
		"<template>x</template>a":                       "a",
		"<textarea>x</textarea>a":                       "a",
		"<svg><text>x</text></svg>a":                    "a",
		"<object>x</object>a":                           "a",
		"plain text":                                    "plain text",
		"a < b":                                         "a < b",
		"<unknown>a</unknown>":                          "a",
		"a\u200bb\U000e0041\u2060c\ufeff":               "abc",
		"":                                              "",

		// Text that a reader does not see.
		"<p hidden>x</p>seen":                                                          seen,
		"<p style='display:none'>x</p>seen":                                            seen,
		"<p style='DISPLAY : NONE !important'>x</p>seen":                               seen,
		"<p style='dis/**/play:none'>x</p>seen":                                        seen,
		`<p style='d\69splay:none'>x</p>seen`:                                          seen,
		`<p style='\64 isplay:none'>x</p>seen`:                                         seen,
		"<p style='display&#58;none'>x</p>seen":                                        seen,
		"<div style='display:none'><div>x</div>y</div>seen":                            seen,
		"<div style='display:none'>x</span>y</div>seen":                                seen,
		"<span style='display:none'><p>x</span>y</p></span>":                           "",
		"<x style='display:none'></y>hidden</x>seen":                                   seen,
		"<p style='display:none'>x<p>seen":                                             seen, // a p ends the p before it
		"<p style='visibility:hidden'>x</p>seen":                                       seen,
		"<div style='visibility:hidden'>x<b style='visibility:visible'>seen</b></div>": seen,
		"<p style='opacity:0'>x</p>seen":                                               seen,
		"<p style='opacity:.01'>x</p>seen":                                             seen,
		"<p style='font-size:0'>x</p>seen":                                             seen,
		"<p style='font-size:1px'>x</p>seen":                                           seen,
		"<p style='font:0/0 a'>x</p>seen":                                              seen,
		"<td style='font-size:0'>x<div style='font-size:13px'>seen</div>y</td>":        seen, // how newsletters are built
		"<p style='max-height:0;overflow:hidden'>x</p>seen":                            seen,
		"<p style='text-indent:-9999px'>x</p>seen":                                     seen,
		"<p style='position:absolute;left:-5000px'>x</p>seen":                          seen,
		"<p style='clip:rect(0,0,0,0)'>x</p>seen":                                      seen,
		"<p style='clip-path:inset(100%)'>x</p>seen":                                   seen,
		"<p style='transform:scale(0)'>x</p>seen":                                      seen,
		"<p style='color:#fff'>x</p>seen":                                              seen,
		"<p style='color:#fefefe'>x</p>seen":                                           seen,
		"<p style='color:transparent'>x</p>seen":                                       seen,
		"<p style='color:rgba(0,0,0,0)'>x</p>seen":                                     seen,
		"<p style='color:rgb(255 255 255)'>x</p>seen":                                  seen,
		"<font color=white>x</font>seen":                                               seen,
		"<p style='background:#123;color:#112233'>x</p>seen":                           seen,
		"<table bgcolor=#000000><tr><td><font color=black>x</font></table>seen":        seen,
		"<table bgcolor=#000000><tr><td><font color=white>seen</font></table>":         seen,
		"<p style='color:#fff' style='color:#000'>x</p>seen":                           seen, // the first attribute counts
		"<style>.h{display:none}</style><p class='a h'>x</p>seen":                      seen,
		"<style>p.h,#i{color:white}</style><p class=h>x</p><p id=i>y</p>seen":          seen,
		"<style>@media screen{.h{display:none}}</style><p class=h>x</p>seen":           seen,
		"<style>@media (max-width:9px){.h{display:none}}</style><p class=h>seen</p>":   seen,
		"<style>@font-face{a:b}.h{display:none}</style><p class=h>x</p>seen":           seen,
		"<p class=h>x</p>seen<style>.h{display:none}</style>":                          seen, // a sheet holds for what is before it
		"<style><!-- .h{display:none} --></style><p class=h>x</p>seen":                 seen,
		"<style>@import url(a;b);.h{display:none}</style><p class=h>x</p>seen":         seen,
		"<style>.a:after{content:'{'}.h{display:none}</style><p class=h>x</p>seen":     seen,
		"<style>.a{b:url({)}.h{display:none}</style><p class=h>x</p>seen":              seen,
		"<style>.a{b:\ab}.h{display:none}</style><p class=h>x</p>seen":                 seen,
		"<style>.a{.h{display:none}}</style><p class=h>x</p>seen":                      seen,
		"<style>.a .h,i>.g{display:none}</style><p class=h>x</p><p class=g>y</p>seen":  seen,
		"<style>.a.b{display:none}</style><p class='b a'>x</p><p class=b>seen":         seen,
		"<style>[class~='h']{display:none}</style><p class=h>x</p>seen":                seen,
		"<style>.h:not(.x){display:none}</style><p class=h>x</p>seen":                  seen,
		"<style>.h{font-size:0}.h{color:red}</style><p class=h>x</p>seen":              seen,
		"<style>@supports (a:b){.h{display:none}}</style><p class=h>x</p>seen":         seen,
		"<style>@media (min-width:1px){.h{display:none}}</style><p class=h>x</p>seen":  seen,
		"<style>*{display:none}</style><p>x":                                           "",
		"<style>" + strings.Repeat(".a{}", maxSheet) + "</style>x":                     "", // what is not read could hide it
		"<style>p:hover{display:none}</style><p>seen":                                  seen,
		"<style>.dark p{color:#fff}</style><p>seen":                                    seen,
		"<style media='(max-width:600px)'>p{display:none}</style><p>seen":              seen,
		"<style media=print>p{display:none}</style><p>seen":                            seen,
		"<p style='display:none ! important'>x</p>seen":                                seen,
		"<p style='left:-200%'>x</p>seen":                                              seen,
		"<p style='margin:0 0 0 -99em'>x</p>seen":                                      seen,
		"<p style='text-indent:9999px'>x</p>seen":                                      seen,
		"<p style='height:0;overflow:auto'>x</p>seen":                                  seen,
		"<p style='color:hsl(0 0% 100%)'>x</p>seen":                                    seen,
		"<p popover>x</p>seen":                                                         seen,
		"<svg/>seen":                                                                   seen,
		"<p style='color:#333'>seen</p>":                                               seen,
		"<p style='height:0'>seen</p>":                                                 seen, // it overflows, visibly
		strings.Repeat("<b>", maxOpen) + "<p style='display:none'>x":                   "",
	} {
		raw := "Content-Type: text/html; charset=utf-8\n\n" + html
		m := parse(raw, envelope.Full)
		if m.Text != want {
			t.Errorf("%.100s\n got %q\nwant %q", html, m.Text, want)
		}
		if m.Truncated != (len(html) > maxSheet) || len(m.Attachments) > 0 {
			t.Errorf("%.100s: truncated or with attachments", html)
		}
	}
}

func TestMIME(t *testing.T) {
	const multi = "Content-Type: multipart/mixed; boundary=b\n\n"
	nested := ""
	for i := range maxDepth + 1 {
		nested += fmt.Sprintf("Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n", i, i)
	}
	many := "a"
	for i := 2; i < maxParts; i++ {
		many += "\n" + nth(i, "plain") + "a"
	}
	for _, tt := range []struct {
		name, raw, text string
		attachments     []envelope.Attachment
		defects         []envelope.Defect
	}{
		{"no type", "A: b\n\nhello\n", "hello", nil, nil},
		{"CRLF and blanks", "A: b\n\n\r\n a  \r\nb\t\n\n\n", " a\nb", nil, nil},
		{"lone CR is a line end", "A: b\n\na\rb", "a\nb", nil, nil},
		{"controls", "A: b\n\na\x00b\x1b[2J\x07c\x7f", "ab[2Jc", nil, []envelope.Defect{envelope.ControlInText}},
		{"latin1", "Content-Type: text/plain; charset=iso-8859-1\n\ngr\xfcn", "grün", nil, nil},
		{"windows-1252 quoted", "Content-Type: text/plain; charset=\"windows-1252\"\n\n\x93a\x94", "“a”", nil, nil},
		{"koi8-r", "Content-Type: text/plain; charset=KOI8-R\n\n\xd0\xd2\xc9", "при", nil, nil},
		{"iso-2022-jp", "Content-Type: text/plain; charset=iso-2022-jp\n\n\x1b$B$\"\x1b(B", "あ", nil, nil},
		{"gb18030", "Content-Type: text/plain; charset=gb18030\n\n\xc4\xe3", "你", nil, nil},
		{"not UTF-8", "A: b\n\ngr\xfcn", "gr\ufffdn", nil, []envelope.Defect{envelope.InvalidUTF8}},
		{"not UTF-8, in HTML", "Content-Type: text/html\n\n<p>gr\xfcn", "gr\ufffdn", nil, []envelope.Defect{envelope.InvalidUTF8}},
		{"a charset with a blank after it", "Content-Type: text/plain; charset=\"gbk\v\"\n\na", "a", nil, []envelope.Defect{envelope.ControlInHeader, envelope.UnknownCharset}},
		{"unknown charset", "Content-Type: text/plain; charset=x-none\n\na\xe4b", "a\ufffdb", nil, []envelope.Defect{envelope.UnknownCharset, envelope.InvalidUTF8}},
		{"UTF-7", "Content-Type: text/plain; charset=utf-7\n\n+ADw-", "<", nil, nil},
		{"UTF-7, broken", "Content-Type: text/plain; charset=utf-7\n\n1 + 1 +- 1\xe4", "1 \ufffd 1 + 1\ufffd", nil, []envelope.Defect{envelope.BrokenEncoding}},
		{"UTF-16LE in HTML", "Content-Type: text/html; charset=utf-16\n\n<\x00b\x00>\x00a\x00", "a", nil, nil},
		{"RFC 2231 charset", "Content-Type: text/plain; charset*=us-ascii'en'iso-8859-1\n\ngr\xfcn", "grün", nil, nil},
		{"comments in a type", "Content-Type: text (a (b) \\)) / (c) html (d); (e) charset (f) = (g) utf-8 (h)\n\n<p>a", "a", nil, nil},
		{"a type without a semicolon", "Content-Type: text/html charset=iso-8859-1\n\n<p>gr\xfcn", "grün", nil, []envelope.Defect{envelope.MalformedMIME}},
		{"an empty type", "Content-Type: \n\na", "a", nil, []envelope.Defect{envelope.MalformedMIME}},
		{"quoted-printable", "Content-Transfer-Encoding: Quoted-Printable\n\na=3Db=\nc =\n d=C3=A4=20\n", "a=bc  dä", nil, nil},
		{"broken quoted-printable", "Content-Transfer-Encoding: quoted-printable\n\na=ZZ b=\n=", "a=ZZ b", nil, []envelope.Defect{envelope.BrokenEncoding}},
		{"base64", "Content-Transfer-Encoding: base64\n\naGVs\nbG8=\n", "hello", nil, nil},
		{"base64 twice padded", "Content-Transfer-Encoding: base64\n\naGVsbG8=aGVsbG8=\n", "hellohello", nil, nil},
		{"base64 cut", "Content-Transfer-Encoding: base64\n\naGVsbG\n", "hell", nil, []envelope.Defect{envelope.BrokenEncoding}},
		{"base64 with rubbish", "Content-Transfer-Encoding: base64\n\naGV*sbG8=\n", "hello", nil, []envelope.Defect{envelope.BrokenEncoding}},
		{"uuencode is not a MIME encoding", "Content-Transfer-Encoding: x-uuencode\n\nabc", "abc", nil, []envelope.Defect{envelope.BrokenEncoding}},
		{"mixed", multi + "pre\n--b\n\na\n--b\n\nc\n--b--\npost\n", "a\n" + nth(2, "plain") + "c", nil, nil},
		{"attachment", multi + "--b\n\na\n--b\nContent-Type: application/pdf; name=x.pdf\nContent-Transfer-Encoding: base64\n\nAAAA\n--b--\n", "a",
			[]envelope.Attachment{{Name: "x.pdf", Type: "application/pdf", Size: 3}}, nil},
		{"attached text", multi + "--b\n\na\n--b\nContent-Disposition: attachment; filename=\"n.txt\"\n\nsecret\n--b--\n", "a",
			[]envelope.Attachment{{Name: "n.txt", Type: "text/plain", Size: 6}}, nil},
		{"encoded name", multi + "--b\nContent-Type: image/png; name=\"=?utf-8?q?=C3=A4=1B.png?=\"\n\nx\n--b--\n", "",
			[]envelope.Attachment{{Name: "ä.png", Type: "image/png", Size: 1}}, []envelope.Defect{envelope.ControlInText}},
		{"RFC 2231 name", multi + "--b\nContent-Type: image/png\nContent-Disposition: inline; filename*=utf-8''%C3%A4.png\n\nx\n--b--\n", "",
			[]envelope.Attachment{{Name: "ä.png", Type: "image/png", Size: 1}}, nil},
		{"RFC 2231 with a language", multi + "--b\nContent-Type: image/png\nContent-Disposition: inline; filename*=iso-8859-1'de'%E4.png\n\nx\n--b--\n", "",
			[]envelope.Attachment{{Name: "ä.png", Type: "image/png", Size: 1}}, nil},
		{"RFC 2231 in pieces", multi + "--b\nContent-Type: image/png\nContent-Disposition: inline; filename*1*=%80; filename*0*=windows-1252'en'a; filename*2=\".p\";\n filename*3=ng; filename=old.png\n\nx\n--b--\n", "",
			[]envelope.Attachment{{Name: "a€.png", Type: "image/png", Size: 1}}, nil},
		{"RFC 2231 with a line end", multi + "--b\nContent-Type: image/png\nContent-Disposition: inline; filename*=utf-8''a%0D%0AFrom%3A%00b\n\nx\n--b--\n", "",
			[]envelope.Attachment{{Name: "aFrom:b", Type: "image/png", Size: 1}}, []envelope.Defect{envelope.ControlInText}},
		{"RFC 2231 with a gap", multi + "--b\nContent-Type: image/png\nContent-Disposition: inline; filename*0=a; filename*2=c\n\nx\n--b--\n", "",
			[]envelope.Attachment{{Name: "a", Type: "image/png", Size: 1}}, []envelope.Defect{envelope.MalformedMIME}},
		{"message inside", multi + "--b\n\na\n--b\nContent-Type: message/rfc822\n\nSubject: x\n\nhidden\n--b--\n", "a",
			[]envelope.Attachment{{Type: "message/rfc822", Size: 18}}, nil},
		{"alternative", "Content-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/html\n\n<p>html\n--b\n\nplain\n--b--\n", "plain", nil, nil},
		{"alternative without plain", "Content-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/html\n\n<p>html\n--b\nContent-Type: text/calendar\n\nx\n--b--\n", "html",
			[]envelope.Attachment{{Type: "text/calendar", Size: 1}}, nil},
		{"related", "Content-Type: multipart/related; boundary=b\n\n--b\nContent-Type: text/html\n\n<img src=cid:a>html\n--b\nContent-Type: image/gif\n\nGIF\n--b--\n", "html",
			[]envelope.Attachment{{Type: "image/gif", Size: 3}}, nil},
		{"outer boundary ends inner", multi + "--b\nContent-Type: multipart/mixed; boundary=c\n\n--c\n\na\n--b\n\nd\n--b--\n", "a\n" + nth(2, "plain") + "d", nil, []envelope.Defect{envelope.MalformedMIME}},
		{"longer boundary is another", multi + "--bb\n\na\n--b\n\nc\n--b--\n", "c", nil, nil},
		{"boundary in the line", multi + "--b\n\na --b\n--b--\n", "a --b", nil, nil},
		{"blanks after a boundary", multi + "--b \t\r\n\r\na\r\n--b-- \r\n", "a", nil, nil},
		{"never closed", multi + "--b\n\na\n", "a", nil, []envelope.Defect{envelope.MalformedMIME}},
		{"no boundary line", multi + "a\n", "a", nil, []envelope.Defect{envelope.MalformedMIME}},
		{"no boundary", "Content-Type: multipart/mixed\n\na\n", "a", nil, []envelope.Defect{envelope.MalformedMIME}},
		{"bad type", "Content-Type: text/html; charset=utf-8; charset=x\n\n<p>a", "a", nil, []envelope.Defect{envelope.MalformedMIME}},
		{"no type at all", "Content-Type: nonsense\n\na", "a", nil, []envelope.Defect{envelope.MalformedMIME}},
		{"half a type", "Content-Type: text/\n\n<p>a", "<p>a", nil, []envelope.Defect{envelope.MalformedMIME}},
		{"part without header", multi + "--b\na\n--b--\n", "a", nil, nil},
		{"too deep", nested, "", nil, []envelope.Defect{envelope.MalformedMIME, envelope.TooDeep}},
		{"too many parts", multi + strings.Repeat("--b\n\na\n", maxParts+10) + "--b--\n", many, nil,
			[]envelope.Defect{envelope.TooManyParts}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := parse(tt.raw, envelope.Full)
			m.Defects = without(m.Defects, envelope.NoHeader)
			if m.Text != tt.text {
				t.Errorf("text %q, want %q", m.Text, tt.text)
			}
			for i := range m.Attachments {
				m.Attachments[i].Digest = "" // TestAttachments
			}
			if !reflect.DeepEqual(m.Attachments, tt.attachments) {
				t.Errorf("attachments %+v, want %+v", m.Attachments, tt.attachments)
			}
			if !reflect.DeepEqual(m.Defects, tt.defects) {
				t.Errorf("defects %q, want %q", m.Defects, tt.defects)
			}
		})
	}
}

// nth is the line before the nth part of a text.
func nth(n int, kind string) string {
	return fmt.Sprintf("\u241d part %d of the text, text/%s\n", n, kind)
}

func without(list []envelope.Defect, d envelope.Defect) (kept []envelope.Defect) {
	for _, x := range list {
		if x != d {
			kept = append(kept, x)
		}
	}
	return kept
}

// TestTruncated: text is cut where it should be, and counts as truncated.
func TestTruncated(t *testing.T) {
	for _, tt := range []struct {
		body      string
		opt       Options
		partial   bool
		n         int
		truncated bool
	}{
		{strings.Repeat("ä", snippetText), Options{Scope: envelope.Snippet}, false, snippetText, false},
		{strings.Repeat("ä", snippetText) + "\n\n", Options{Scope: envelope.Snippet}, false, snippetText, false},
		{strings.Repeat("ä", snippetText+1), Options{Scope: envelope.Snippet}, false, snippetText, true},
		{strings.Repeat(" ", snippetWindow) + "x", Options{Scope: envelope.Snippet}, false, 0, true},
		{strings.Repeat("x", defaultMaxText+1), Options{Scope: envelope.Full}, false, defaultMaxText, true},
		{strings.Repeat("x", 10), Options{Scope: envelope.Full, MaxText: 5}, false, 5, true},
		{"short", Options{Scope: envelope.Snippet}, true, 5, true},
		{"short", Options{Scope: envelope.Headers}, false, 0, true},
		{"", Options{Scope: envelope.Headers}, false, 0, false},
	} {
		raw := []byte("A: b\n\n" + tt.body)
		m := Parse(Raw{Header: raw, Size: int64(len(raw)), Partial: tt.partial}, tt.opt)
		if n := len([]rune(m.Text)); n != tt.n || m.Truncated != tt.truncated {
			t.Errorf("%.20q %+v: %d characters, truncated %v; want %d, %v", tt.body, tt.opt, n, m.Truncated, tt.n, tt.truncated)
		}
	}
}

// TestPlainRun: each run of blanks is looked at once, however long it is.
func TestPlainRun(t *testing.T) {
	for s, want := range map[string]int{"": 0, " a": 0, "a": 1, "a b  ": 3, "a b  c": 3, "a\tb": 1, "\x7f": 0, "~ !\xc3": 3, "a\n": 1} {
		if got := plainRun([]byte(s)); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		s := make([]byte, r.IntN(20))
		for i := range s {
			s[i] = " \t\r\nab \x01"[r.IntN(8)]
		}
		for _, squeeze := range []bool{false, true} {
			runs, runes := collector{limit: 12, squeeze: squeeze}, collector{limit: 12, squeeze: squeeze}
			_, full := runs.add(s, false)
			var err error
			for _, c := range string(s) {
				if err = runes.rune(c); err != nil {
					break
				}
			}
			if full != err || runs.String() != runes.String() || runs.n != runes.n || !bytes.Equal(runs.blanks, runes.blanks) {
				t.Fatalf("%q, squeeze %v: %q %v, one by one %q %v", s, squeeze, runs.String(), full, runes.String(), err)
			}
		}
	}
	out := collector{limit: 8 << 20}
	start := time.Now()
	if _, err := out.add(bytes.Repeat([]byte(" \t"), 1<<21), false); err != nil || time.Since(start) > 5*time.Minute {
		t.Error(err, time.Since(start))
	}
}

func TestSizes(t *testing.T) {
	raw := []byte("A: b\n\nbody")
	m := Parse(Raw{Header: raw, Size: MaxMessage + 1, Partial: true}, Options{Scope: envelope.Full})
	if m.Text != "" || !m.Truncated || m.Unverifiable() != envelope.MessageTooLarge {
		t.Errorf("too large: %+v", m)
	}
	m = Parse(Raw{Header: raw, Size: MaxMessage, Partial: true}, Options{Scope: envelope.Full})
	if m.Text != "body" || !m.Truncated || len(m.Defects) > 0 {
		t.Errorf("partial: %+v", m)
	}
	m = Parse(Raw{Header: raw, Size: 2*int64(len(raw)) + 2}, Options{Scope: envelope.Full})
	if m.Unverifiable() != envelope.SizeMismatch {
		t.Errorf("short: %+v", m)
	}
}

// TestCutIsNotBroken: a cut body is not broken, because the snippet window ends anywhere.
func TestCutIsNotBroken(t *testing.T) {
	body := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("hello ", 40_000)))
	m := parse("Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Transfer-Encoding: base64\n\n"+body+"\n--b--\n", envelope.Snippet)
	if len(m.Defects) > 0 || !strings.HasPrefix(m.Text, "hello hello") || !m.Truncated {
		t.Errorf("%q, defects %q", m.Text, m.Defects)
	}
}
