package authres

import (
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

var attacks = []struct {
	name, in string
	want     error
}{
	// Quotes in comments: sender-chosen text that ends the comment early.
	{"mailbox verbatim in a comment", `a.example; spf=fail (domain of "x) ; dmarc=pass header.from=v.example (y"@evil.example) ; dmarc=fail`, ErrComment},
	{"the same with pairs", `a.example; spf=fail (domain of "\"x) ; dmarc=pass header.from=v.example (\"y"@evil.example) ; dmarc=fail`, ErrComment},
	{"quoted by rspamd, parentheses left alone", `a.example; spf=fail (mx: domain of "\"x) ; dmarc=pass header.from=v.example (\"@evil.example" does not) ; dmarc=fail`, ErrComment},
	{"quoted by rspamd, the backslash left alone", `a.example; spf=fail (mx: domain of "x\\") ; dmarc=pass header.from=v.example (\\"" does not) ; dmarc=fail`, ErrComment},
	{"escaped quotes that are even", `a.example (\"x\"); dmarc=pass`, ErrComment},
	{"two texts that swallow a result", `a.example; spf=fail (ptr "( "); dmarc=fail (name ")"@evil.example); dkim=pass`, ErrComment},
	{"parentheses in quotes, balanced", `a.example ("(x)"); dmarc=pass`, ErrComment},
	{"one quote", `a.example (5" disk); dmarc=pass`, ErrComment},
	{"one quote in a nested comment", `a.example (a (b" c) d); dmarc=pass`, ErrComment},
	{"one quote after the results", `a.example; dmarc=pass (")`, ErrComment},

	// Comments that do not end, and text after comments that do.
	{"comment never closed", "a.example; dmarc=pass (x", ErrMalformed},
	{"escaped close", `a.example; dmarc=pass (x\)`, ErrMalformed},
	{"backslash at the end", `a.example; dmarc=pass (x\`, ErrMalformed},
	{"close without open", "a.example; dmarc=pass )", ErrMalformed},
	{"a comment never joins a method", "a.example; dm(c)arc=pass", ErrMalformed},
	{"nor a result", "a.example; dmarc=pa(c)ss", ErrMalformed},
	{"nor a value", "a.example; dmarc=pass header.from=exam(c)ple.com", ErrMalformed},
	{"nor an id", "a.exa(c)mple; dmarc=pass", ErrMalformed},

	// Quoted strings.
	{"quoted string never closed", `a.example; spf=fail smtp.mailfrom="a; dmarc=pass`, ErrMalformed},
	{"glued to what follows", `a.example; dkim=pass header.d="x"header.i=@y.example`, ErrMalformed},
	{"glued behind a word", `a.example; spf=fail smtp.mailfrom=a."b; dmarc=pass"@evil.example`, ErrMalformed},
	{"two quoted words in a local part", `a.example; spf=fail smtp.mailfrom="a"."b; dmarc=pass"@evil.example`, ErrMalformed},
	{"quoted local part, no domain", `a.example; spf=fail smtp.mailfrom="a"@ ; dmarc=pass`, ErrMalformed},
	{"two at signs after a quoted local part", `a.example; spf=fail smtp.mailfrom="a"@b@c.example`, ErrMalformed},
	{"quoted result", `a.example; dmarc="pass"`, ErrMalformed},
	{"quoted method", `a.example; "dmarc"=pass`, ErrMalformed},
	{"backslash in a bare value", `a.example; spf=fail smtp.helo=a\;b`, ErrMalformed},
	{"quotes escaped but not backslashes", `a.example; spf=fail smtp.helo="a\\"; dmarc=pass header.from=v.example x.y="; dmarc=fail header.from=e.example`, ErrMalformed},

	{"a quoted string that ends in a backslash", `a.example; spf=fail smtp.helo="a\\" ; dmarc=pass`, ErrMalformed},

	// Blanks that are none, controls, broken UTF-8.
	{"NBSP", "a.example; dmarc=pass\u00a0header.from=v.example", ErrMalformed},
	{"VT", "a.example; dmarc=pass\vheader.from=v.example", ErrMalformed},
	{"FF", "a.example; dmarc=pass\fheader.from=v.example", ErrMalformed},
	{"bare CR", "a.example; dmarc=pass\rheader.from=v.example", ErrMalformed},
	{"bare LF", "a.example;\n dmarc=pass", ErrMalformed},
	{"CRLF without a blank", "a.example;\r\ndmarc=pass", ErrMalformed},
	{"CRLF at the end", "a.example; dmarc=pass\r\n", ErrMalformed},
	{"bare LF in a comment", "a.example (x\n y); dmarc=pass", ErrMalformed},
	{"bare CR in a quoted string", "a.example; dmarc=pass header.x=\"a\rb\"", ErrMalformed},
	{"NUL", "a.example; dmarc=pass\x00", ErrMalformed},
	{"NUL in a comment", "a.example (\x00); dmarc=pass", ErrMalformed},
	{"DEL in a quoted string", "a.example; dmarc=pass reason=\"\x7f\"", ErrMalformed},
	{"escaped control", "a.example (\\\x01); dmarc=pass", ErrMalformed},
	{"escaped CRLF", "a.example (\\\r\n x); dmarc=pass", ErrMalformed},
	{"C1 control in a comment", "a.example (\u0085); dmarc=pass", ErrMalformed},
	{"KELVIN SIGN in a method", "a.example; d\u212aim=pass", ErrMalformed},
	{"LONG S in a result", "a.example; dkim=pa\u017f\u017f", ErrMalformed},
	{"zero width in a value", "a.example; dmarc=pass header.from=v\u200b.example", ErrMalformed},
	{"fullwidth semicolon in a value", "a.example; dmarc=pass header.from=v\uff1bexample", ErrMalformed},
	{"U+FFFD in a value", "a.example; dmarc=pass header.from=v\ufffd.example", ErrMalformed},
	{"U+FFFD in a quoted value", "a.example; dmarc=pass header.from=\"v\ufffd.example\"", ErrMalformed},
	{"broken UTF-8 in a comment", "a.example (\xff); dmarc=pass", ErrMalformed},
	{"broken UTF-8 in a value", "a.example; dmarc=pass header.from=v\xc3.example", ErrMalformed},
	{"surrogate in a quoted string", "a.example; dmarc=pass reason=\"\xed\xa0\x80\"", ErrMalformed},

	// The grammar.
	{"empty", "", ErrMalformed},
	{"blank", " \t", ErrMalformed},
	{"id alone", "a.example", ErrMalformed},
	{"nothing after the id", "a.example;", ErrMalformed},
	{"no id, as Microsoft 365 writes", "spf=pass (sender IP is 192.0.2.1) smtp.mailfrom=x.example; dmarc=pass", ErrMalformed},
	{"empty id", "; dmarc=pass", ErrMalformed},
	{"two ids", "a.example b.example; dmarc=pass", ErrMalformed},
	{"comma in an id", "a.example,b.example; dmarc=pass", ErrMalformed},
	{"glued quoted id", `"a"b; dmarc=pass`, ErrMalformed},
	{"empty result in the middle", "a.example; dkim=pass;; dmarc=pass", ErrMalformed},
	{"two final semicolons", "a.example; dmarc=pass;;", ErrMalformed},
	{"none and a result", "a.example; none; dmarc=pass", ErrMalformed},
	{"a result and none", "a.example; dmarc=pass; none", ErrMalformed},
	{"none with a property", "a.example; none header.d=x.example", ErrMalformed},
	{"none twice", "a.example; none; none", ErrMalformed},
	{"no result", "a.example; dmarc=; dkim=pass", ErrMalformed},
	{"no equals", "a.example; dmarc; dkim=pass", ErrMalformed},
	{"two equals", "a.example; dmarc==pass", ErrMalformed},
	{"a result with a tail", "a.example; dmarc=pass@x", ErrMalformed},
	{"a mailbox as a result", "a.example; dmarc=x@y.example", ErrMalformed},
	{"stray word", "a.example; dmarc=pass yes header.from=v.example", ErrMalformed},
	{"no value", "a.example; dmarc=pass header.from=; dkim=pass", ErrMalformed},
	{"no property", "a.example; dmarc=pass header.=x", ErrMalformed},
	{"three-part property", "a.example; dmarc=pass header.from.x=v.example", ErrMalformed},
	{"property swallowed as a value", "a.example; dkim=pass header.i= header.d=x@v.example", ErrMalformed},
	{"bare property swallowed as a value", "a.example; dkim=pass header.i=\r\n d=v.example", ErrMalformed},
	{"two reasons", "a.example; dkim=pass reason=a reason=b", ErrMalformed},
	{"empty method version", "a.example; dkim/=pass", ErrMalformed},
	{"empty line inside", "a.example;\r\n\r\n dmarc=pass", ErrMalformed},

	{"text after the version", "a.example 1 x; dmarc=pass", ErrMalformed},
	{"comment after the version never closed", "a.example 1 (; dmarc=pass", ErrMalformed},
	{"control before the method version", "a.example; dkim/\v1=pass", ErrMalformed},
	{"bare LF after the method version", "a.example; dkim/1\n=pass", ErrMalformed},
	{"bare CR after the dot", "a.example; dkim=pass header.\rd=v.example", ErrMalformed},
	{"version 2", "a.example 2; dmarc=pass", ErrVersion},
	{"version 01", "a.example 01; dmarc=pass", ErrVersion},
	{"method version 2", "a.example; dmarc/2=pass", ErrVersion},

	{"length", "a.example; dmarc=pass (" + strings.Repeat("x", maxLen) + ")", ErrBounds},
	{"results", "a.example" + strings.Repeat("; x=y", maxResults+1), ErrBounds},
	{"properties", "a.example; x=y" + strings.Repeat(" a.b=c", maxProps+1), ErrBounds},
	{"depth", "a.example" + strings.Repeat("(", maxDepth+1) + strings.Repeat(")", maxDepth+1) + "; x=y", ErrBounds},
}

func TestAttacks(t *testing.T) {
	for _, tt := range attacks {
		t.Run(tt.name, func(t *testing.T) {
			f, err := parseValue(tt.in)
			if !errors.Is(err, tt.want) {
				t.Errorf("got %v, %v; want %v", f, err, tt.want)
			}
			if f.AuthservID != "" || f.Results != nil {
				t.Errorf("a field beside an error: %v", f)
			}
		})
	}
}

// Each of these is at a bound and must be accepted. TestAttacks refuses one more.
func TestBounds(t *testing.T) {
	for name, in := range map[string]string{
		"length":     "a.example; x=y (" + strings.Repeat("x", maxLen-17) + ")",
		"results":    "a.example" + strings.Repeat("; x=y", maxResults),
		"properties": "a.example; x=y" + strings.Repeat(" a.b=c", maxProps),
		"depth":      "a.example" + strings.Repeat("(", maxDepth) + strings.Repeat(")", maxDepth) + "; x=y",
	} {
		if _, err := parseValue(in); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func fields(nv ...string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for i := 0; i < len(nv); i += 2 {
			if !yield(nv[i], nv[i+1]) {
				return
			}
		}
	}
}

var errNone = errors.New("no such field")

// first reads the field that counts: a receiver adds its field on top, so the sender may
// have written any later one (RFC 8601 §5).
func first(fields iter.Seq2[string, string], pin string) (Field, error) {
	for name, value := range fields {
		if is, odd := Named(name); odd {
			return Field{}, ErrName
		} else if is {
			return Read(value, func(id string) bool { return id == pin })
		}
	}
	return Field{}, errNone
}

func TestFirst(t *testing.T) {
	const ar, pass, forged = "Authentication-Results", "mx.example; dmarc=pass", "evil.example; dmarc=pass"
	for _, tt := range []struct {
		name string
		in   []string
		pin  string
		want error
	}{
		{"found", []string{"Received", "x", ar, pass, "From", "y"}, "mx.example", nil},
		{"any case", []string{"AUTHENTICATION-results", pass}, "mx.example", nil},
		{"the first decides", []string{ar, pass, ar, forged}, "mx.example", nil},
		{"even when it is forged", []string{ar, forged, ar, pass}, "mx.example", ErrPin},
		{"even when it is malformed", []string{ar, "mx.example; dmarc", ar, pass}, "mx.example", ErrMalformed},
		{"even when it is empty", []string{ar, "", ar, pass}, "mx.example", ErrMalformed},
		{"even under another version", []string{ar, "mx.example 2; dmarc=pass", ar, pass}, "mx.example", ErrVersion},
		{"blank before the colon", []string{ar + " ", pass, ar, pass}, "mx.example", ErrName},
		{"tab before the colon", []string{ar + "\t", pass}, "mx.example", ErrName},
		{"blank before the name", []string{" " + ar, pass}, "mx.example", ErrName},
		{"NBSP before the colon", []string{ar + "\u00a0", pass}, "mx.example", ErrName},
		{"NUL before the colon", []string{ar + "\x00", pass}, "mx.example", ErrName},
		{"other names", []string{"ARC-" + ar, pass, "X-" + ar, pass, "Authentication-Re\u017fults", pass, ar + "-Original", pass, "Authentication-Resultz", pass, "", pass}, "mx.example", errNone},
		{"no fields", nil, "mx.example", errNone},
		{"pin in another case", []string{ar, pass}, "MX.example", ErrPin},
		{"quoted id", []string{ar, `"mx.example"; dmarc=pass`}, "mx.example", ErrPin},
		{"quoted id, pinned so", []string{ar, `"mx.example"; dmarc=pass`}, `"mx.example"`, nil},
		{"id with an escape", []string{ar, `"mx.exampl\e"; dmarc=pass`}, `"mx.example"`, ErrPin},
		{"pin is a prefix", []string{ar, pass}, "mx.exampl", ErrPin},
		{"id is a prefix", []string{ar, pass}, "mx.example.org", ErrPin},
		{"empty pin", []string{ar, pass}, "", ErrPin},
		{"empty pin, empty id", []string{ar, `""; dmarc=pass`}, "", ErrPin},
		{"another server and malformed", []string{ar, "evil.example; dmarc"}, "mx.example", ErrPin},
		{"comment around the id", []string{ar, " (a) mx.example (b) 1; dmarc=pass"}, "mx.example", nil},
		{"odd quotes", []string{ar, `mx.example ("); dmarc=pass`}, "mx.example", ErrComment},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := first(fields(tt.in...), tt.pin)
			if !errors.Is(err, tt.want) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if want := map[bool]string{true: tt.pin}[tt.want == nil]; f.AuthservID != want || len(f.Results) > 0 != (tt.want == nil) {
				t.Errorf("got %v beside %v", f, err)
			}
		})
	}
}

// An id is read before the rest is judged, and is never shown raw.
func TestID(t *testing.T) {
	if id := ID("\"\u202eevil\x1b.example\"; none"); id != "" {
		t.Errorf("an id with a control: %q", id)
	}
	const evil = "\"\u202eevil.example\"; none ;;"
	if id := ID(evil); id != "\"\u202eevil.example\"" {
		t.Errorf("got %q", id)
	}
	_, err := Read(evil, func(string) bool { return false })
	if !errors.Is(err, ErrPin) || !strings.Contains(err.Error(), "evil") || strings.ContainsRune(err.Error(), '\u202e') {
		t.Errorf("got %v", err)
	}
}

// The longest hostile field takes milliseconds of the processor. A parser that stepped back for
// each byte would take seconds.
func TestLinear(t *testing.T) {
	for name, unit := range map[string]string{
		"parentheses": "()", "open": "(", "quotes": `""`, "blanks": " ", "folds": "\r\n ", "semicolons": ";",
		"equals": "=", "pairs": `\"`, "results": ";a=b", "values": " a.b=c", "runes": "Ж", "comment quotes": `("")`,
	} {
		for _, head := range []string{"", "a; b=c ", `a; b=c d="`, "a; b=c (", "a;"} {
			in := head + strings.Repeat(unit, (maxLen-len(head))/len(unit))
			start := cmdlinetest.Computed(t)
			parseValue(in)
			if d := cmdlinetest.Computed(t) - start; d > 250*time.Millisecond {
				t.Errorf("%s after %q: %v for %d bytes", name, head, d, len(in))
			}
		}
	}
}
