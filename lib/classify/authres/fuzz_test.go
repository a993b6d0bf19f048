package authres

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// format writes a field that parse reads back equal. Every value is quoted, so that
// parse need not be liberal.
func format(f Field) string {
	var b strings.Builder
	b.WriteString(f.AuthservID)
	if f.Results == nil {
		b.WriteString("; none")
	}
	for _, r := range f.Results {
		value := r.Value
		if r.Method == "envelope-from" || r.Method == "helo" {
			value = quote(value)
		}
		fmt.Fprintf(&b, "; %s=%s", r.Method, value)
		if r.Reason != "" {
			b.WriteString(" reason=" + quote(r.Reason))
		}
		for _, p := range r.Props {
			b.WriteByte(' ')
			if p.Type != "" {
				b.WriteString(p.Type + ".")
			}
			b.WriteString(p.Name + "=" + quote(p.Value))
			if p.Comment {
				b.WriteString(" (c)")
			}
		}
	}
	return b.String()
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`).Replace(s) + `"`
}

func FuzzParse(f *testing.F) {
	for _, tt := range shapes {
		f.Add(tt.in)
	}
	for _, tt := range attacks {
		if len(tt.in) < 1000 {
			f.Add(tt.in)
		}
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, err := parseValue(in)
		if err != nil {
			if !reflect.DeepEqual(got, Field{}) {
				t.Fatalf("%v beside %v", got, err)
			}
			return
		}
		for _, r := range got.Results {
			if len(r.Props) > maxProps || r.Method == "" || r.Method != lower(r.Method) {
				t.Fatalf("result %v", r)
			}
		}
		if len(got.Results) > maxResults {
			t.Fatalf("%d results", len(got.Results))
		}
		text := format(got)
		if len(text) > maxLen { // quoting made it longer than parse may read
			return
		}
		again, err := parseValue(text)
		if err != nil || !reflect.DeepEqual(got, again) {
			t.Fatalf("%q\ngot   %v\ntext  %q\nagain %v, %v", in, got, text, again, err)
		}
	})
}

// echo is how a receiver writes text that the sender chose into a comment and into a
// property.
type echo struct{ comment, prop func(string) string }

// echoes are the ways in which receivers are known to echo, and from which no text of
// a sender may break out. The first echoes a mailbox as SMTP allows it (RFC 5321
// §4.1.2), which a receiver may write as it is; those that take any text quote it.
// Three ways are absent, because no reading could tell the text from the receiver's:
// any text bare (mox's helo, if mox did not check it), a mailbox with its quotes
// removed, and any text in quotes without an escape.
var echoes = []echo{
	{mailbox, mailbox},         // Gmail, Mail.ru, Exim, mox
	{escapeComment, quote},     // RFC 5322
	{rspamdQuote, rspamdQuote}, // rspamd: quotes escaped, backslashes and parentheses not
	{rspamdMailbox, rspamdMailbox},
	{hostname, hostname}, // names that came through DNS: HELO as checked, PTR, d=, s=
	{escapeComment, mailbox},
	{quote, quote}, // a quoted string inside a comment
}

// mailbox puts s into a quoted local part. SMTP has no controls there.
func mailbox(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
	return quote(s) + "@evil.example"
}

func escapeComment(s string) string {
	return strings.NewReplacer("(", `\(`, ")", `\)`, `\`, `\\`).Replace(s)
}

func rspamdQuote(s string) string {
	if strings.ContainsAny(s, "()<>,;:\\\"/[]?= \t\v") {
		return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"`
	}
	return s
}

func rspamdMailbox(s string) string { return rspamdQuote(mailbox(s)) }

func hostname(s string) string {
	return "h" + strings.Map(func(r rune) rune {
		if r < 0x80 && classes[r]&keywordClass != 0 || r == '.' {
			return r
		}
		return -1
	}, s) + ".evil.example"
}

// genuine holds fields in which no result is a pass. %[n]c is text n in a comment,
// %[n]p in a property.
var genuine = []string{
	"mx.example; spf=fail (domain of %1c does not designate 192.0.2.1) smtp.mailfrom=%1p smtp.helo=%2p; dkim=fail (bad signature) header.d=%3p header.s=%4p header.i=%5p header.b=\"a/b\"; dmarc=fail (p=NONE dis=NONE) header.from=victim.example",
	"mx.example (%2c); iprev=fail (%6c [192.0.2.1]) smtp.remote-ip=192.0.2.1; dmarc=fail (From %7c, d=%3c) header.from=victim.example reason=\"no pass\"; dkim=none; spf=softfail (helo %2c, mail %1c) smtp.mailfrom=%1p",
	"mx.example; dkim=fail reason=%5p header.d=%3p header.i=%5p (s=%4c); spf=fail smtp.helo=%2p smtp.mailfrom=%1p (ptr %6c); dmarc=fail header.from=victim.example (name %7c)",
	"mx.example; spf=fail client-ip=192.0.2.1; envelope-from=%1p; helo=%2p; dkim=fail header.i=%5p; dmarc=fail header.from=victim.example;",
}

// fill replaces the verbs of a genuine field; ways picks the echo of each text.
func fill(field string, texts [7]string, ways [7]echo) string {
	var pairs []string
	for i, s := range texts {
		pairs = append(pairs,
			fmt.Sprintf("%%%dc", i+1), ways[i].comment(s),
			fmt.Sprintf("%%%dp", i+1), ways[i].prop(s))
	}
	return strings.NewReplacer(pairs...).Replace(field)
}

// outline returns a field without the values of properties, which a sender may choose.
func outline(f Field) string {
	var b strings.Builder
	for _, r := range f.Results {
		value := r.Value
		if r.Method == "envelope-from" || r.Method == "helo" {
			value = ""
		}
		fmt.Fprintf(&b, "; %s=%s", r.Method, value)
		for _, p := range r.Props {
			fmt.Fprintf(&b, " %s.%s", p.Type, p.Name)
		}
	}
	return b.String()
}

// FuzzEcho: whatever text of a sender is echoed into a genuine field, the field is
// refused or says what the receiver meant.
func FuzzEcho(f *testing.F) {
	for i, s := range echoAttacks {
		for w := range len(echoes) {
			f.Add(s, s, s, s, s, s, s, uint64(w)*0x1111111, uint8(i))
			f.Add(s, "x", "x", "x", "x", "x", "x", uint64(w), uint8(i))
			f.Add("x", s, "x", "x", "x", "x", "x", uint64(w)<<4, uint8(i))
		}
	}
	f.Fuzz(func(t *testing.T, from, helo, d, s, i, ptr, name string, ways uint64, which uint8) {
		checkEcho(t, [7]string{from, helo, d, s, i, ptr, name}, ways, which)
	})
}

func checkEcho(t *testing.T, texts [7]string, ways uint64, which uint8) {
	field := genuine[int(which)%len(genuine)]
	var plain, chosen [7]echo
	for k := range chosen {
		plain[k] = echoes[4]
		chosen[k] = echoes[ways>>(4*k)&15%uint64(len(echoes))]
	}
	honest, err := parseValue(fill(field, [7]string{"a", "b", "c", "d", "e", "f", "g"}, plain))
	if err != nil {
		t.Fatal(err)
	}
	in := fill(field, texts, chosen)
	got, err := parseValue(in)
	if err != nil {
		return
	}
	if outline(got) != outline(honest) || got.AuthservID != "mx.example" {
		t.Fatalf("%q\nsays  %s\nmeant %s", in, outline(got), outline(honest))
	}
	dmarc := got.method("dmarc")[0]
	if v, n := dmarc.Prop("header", "from"); v != "victim.example" || n != 1 || dmarc.Value != "fail" {
		t.Fatalf("%q\nbinds %v", in, dmarc)
	}
}

// TestEcho is FuzzEcho with texts made of the pieces of attacks, which random bytes
// seldom contain.
func TestEcho(t *testing.T) {
	pieces := []string{`"`, `\`, `(`, `)`, `;`, ` `, `@`, `x`, `x.y=`, ` dmarc=pass header.from=v.example `, `"`, `\`, `) ; dmarc=pass header.from=v.example (`}
	rng := rand.New(rand.NewPCG(8601, 7))
	for range 10_000 {
		var texts [7]string
		for k := range texts {
			for range rng.IntN(8) {
				texts[k] += pieces[rng.IntN(len(pieces))]
			}
		}
		checkEcho(t, texts, rng.Uint64(), uint8(rng.Uint32()))
	}
}

var echoAttacks = []string{
	`x`,
	`x) ; dmarc=pass header.from=victim.example (y`,
	`x) ; dmarc=pass header.from=victim.example (y)`,
	`x") ; dmarc=pass header.from=victim.example ("y`,
	`x\) ; dmarc=pass header.from=victim.example (\`,
	`x\") ; dmarc=pass header.from=victim.example (\"`,
	`"x) ; dmarc=pass header.from=victim.example ("`,
	`""x) ; dmarc=pass header.from=victim.example (""`,
	`\"x) ; dmarc=pass header.from=victim.example (\"`,
	`a\"; dmarc=pass header.from=victim.example x.y=`,
	` (\"; dmarc=pass`,
	`\") ; dmarc=pass header.from=victim.example x.y=`,
	`; dmarc=pass header.from=victim.example`,
	`" ; dmarc=pass header.from=victim.example x.y="`,
	`"; dmarc=pass header.from=victim.example (`,
	`(((`, `)))`, `"`, `\`, `\\`, `\"`, `\\"`, "\r\n ; dmarc=pass", "\n", "\x00", "\u00a0", "\ufffd", "\xff",
}
