package addrspec

import (
	"net/mail"
	"strings"
	"testing"

	"pulse/lib/shared/address"
)

var froms = []struct{ in, want string }{ // want "": refused
	{"me@example.com", "me@example.com"},
	{"  me@example.com\t", "me@example.com"},
	{"\r\n me@example.com", "me@example.com"},
	{"<me@example.com>", "me@example.com"},
	{"Me <me@example.com>", "me@example.com"},
	{"Me<me@example.com>", "me@example.com"},
	{"M. E. O'Hara-Smith <Me.Too+x=1@Sub.Example.COM>", "Me.Too+x=1@Sub.Example.COM"},
	{"Me\r\n\t<me@example.com>", "me@example.com"},
	{"Me <me@example.com>\r\n ", "me@example.com"},
	{`"" <me@example.com>`, "me@example.com"},
	{`"Doe, John \"J\" \\ (x); y: z" <me@example.com>`, "me@example.com"},
	{`"Doe" John "x" <me@example.com>`, "me@example.com"},
	{`"me@example.com" <me@example.com>`, "me@example.com"},
	{`"'Me@Example.com'" <me@example.com>`, "me@example.com"},
	{"=?utf-8?q?M=C3=BCller?= <me@example.com>", "me@example.com"},
	{"Müller <me@example.com>", "me@example.com"},
	{"M\ufffdller <me@example.com>", "me@example.com"},
	{"me@example.com (Me)", "me@example.com"},
	{"me@example.com (Me, myself; and I)", "me@example.com"},
	{"me@example.com(.evil.example x)", ""},
	{"(Me) me@example.com", "me@example.com"},
	{"Me (work) <me@example.com> (x)", "me@example.com"},

	{"", ""},
	{"Me", ""},
	{"<>", ""},
	{"me@", ""},
	{"@example.com", ""},
	{"me@example.com,", ""},
	{"me@example.com, you@example.com", ""},
	{"<me@example.com>, <you@example.com>", ""},
	{"<me@example.com> <you@example.com>", ""},
	{"<me@example.com><you@example.com>", ""},
	{"<me@example.com>you@example.com", ""},
	{"me@example.com you@example.com", ""},
	{"me@example.com <you@example.com>", ""},
	{"Me: me@example.com;", ""},
	{"me@example.com;", ""},
	{"<@a.example:me@example.com>", ""},
	{"<@a.example,@b.example:me@example.com>", ""},
	{"me@[192.0.2.1]", ""},
	{"me@example.com@evil.example", ""},
	{`"me@example.com"@evil.example`, ""},
	{`"me"@example.com`, ""},
	{`"a b" <"me"@example.com>`, ""},
	{`me."x"@example.com`, ""},
	{"me @example.com", ""},
	{"me@ example.com", ""},
	{"me(x)@example.com", ""},
	{"me@example.com(", ""},
	{"me@example.com (a (b) c)", ""},
	{`me@example.com (a \) c)`, ""},
	{`me@example.com (")`, ""},
	{"me@example.com (you@example.com)", ""},
	{"you@example.com (<me@example.com>)", ""},
	{"(me@example.com) you@example.com", ""},
	{"< me@example.com>", ""},
	{"<me@example.com >", ""},
	{"Me <me@example.com", ""},
	{"Me me@example.com>", ""},
	{"Me < <me@example.com>", ""},
	{"<me@example.com>>", ""},
	{"<<me@example.com>>", ""},
	{`"Me <me@example.com>`, ""},
	{`"Me\" <me@example.com>`, ""},
	{`"Me\x" <me@example.com>`, ""},
	{`"you@example.com" <me@example.com>`, ""},
	{`"me@example.com" "x" <me@example.com>`, ""},
	{`"<you@example.com>" <me@example.com>`, ""},
	{`\<you@example.com> <me@example.com>`, ""},
	{"Me, Inc. <me@example.com>", ""},
	{"[Me] <me@example.com>", ""},
	{"=?utf-8?q?me?=@example.com", ""},
	{"<=?utf-8?q?me?=@example.com>", ""},
	{"=?utf-8?b?bWVAZXhhbXBsZS5jb20=?=", ""},
	{"mé@example.com", ""},
	{"me@ex\u0430mple.com", ""},
	{"me@example.com\u212a", ""},
	{"me@\u200bexample.com", ""},
	{"me@example.com.", ""},
	{".me@example.com", ""},
	{"m..e@example.com", ""},
	{"me@example..com", ""},
	{"me@example.com\x00", ""},
	{"M\x00e <me@example.com>", ""},
	{"M\u0085e <me@example.com>", ""},
	{"M\x7fe <me@example.com>", ""},
	{"M\xffe <me@example.com>", ""},
	{"Me\r<me@example.com>", ""},
	{"Me\n <me@example.com>", ""},
	{"Me\r\n<me@example.com>", ""},
	{"Me <me@example.com>\r\n", ""},
	{"Me <me@exam\r\n ple.com>", ""},
	{"me\u00a0@example.com", ""},
	{"me@example.com\u00a0", ""},
	{strings.Repeat("m", 65) + "@example.com", ""},
}

func TestParse(t *testing.T) {
	for _, c := range froms {
		box, ok := Parse(c.in)
		if ok != (c.want != "") || box.Address != c.want {
			t.Errorf("Parse(%q) = %q, %v; want %q", c.in, box.Address, ok, c.want)
		}
		if ok && box.Local+"@"+box.Domain != box.Address {
			t.Errorf("Parse(%q): %q and %q are not the parts of %q", c.in, box.Local, box.Domain, box.Address)
		}
		if !ok && Suspect(c.in) == "" {
			t.Errorf("Suspect(%q) says nothing", c.in)
		}
	}
}

// FuzzFrom: what is accepted is one plain ASCII address that stands in the field
// byte for byte, and no other reader finds another address there.
func FuzzFrom(f *testing.F) {
	for _, c := range froms {
		f.Add(c.in)
	}
	f.Fuzz(func(t *testing.T, v string) {
		box, ok := Parse(v)
		if !ok {
			return
		}
		if strings.Count(box.Address, "@") != 1 || len(box.Address) > 254 || !strings.Contains(v, box.Address) {
			t.Fatalf("%q gives %q", v, box.Address)
		}
		for i := range len(box.Address) {
			if c := box.Address[i]; c <= ' ' || c >= 0x7f {
				t.Fatalf("%q gives %q", v, box.Address)
			}
		}
		rest := strings.ReplaceAll(address.Fold(v), address.Fold(box.Address), "")
		if strings.Contains(rest, "@") {
			t.Fatalf("%q holds another address than %q", v, box.Address)
		}
		if other, err := mail.ParseAddress(v); err == nil && other.Address != box.Address {
			t.Fatalf("net/mail finds %q in %q, we %q", other.Address, v, box.Address)
		}
	})
}

func TestAppendList(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a@x.example", "a@x.example"},
		{"a@x.example,b@y.example", "a@x.example b@y.example"},
		{"A <a@x.example>,\r\n \"B, C\" <b@y.example>, c@z.example (d, e)", "a@x.example b@y.example c@z.example"},
		{"", ""},
		{",", ""},
		{"a@x.example,", ""},
		{"a@x.example,,b@y.example", ""},
		{"a@x.example; b@y.example", ""},
		{"undisclosed-recipients:;", ""},
		{"us: a@x.example, b@y.example;", ""},
		{`"a@x.example, b@y.example" <c@z.example>`, ""},
		{`"a <a@x.example>`, ""},
		{"(a, a@x.example", ""},
	} {
		list, ok := AppendList(nil, c.in)
		if got := strings.Join(list, " "); got != c.want || ok != (c.want != "") {
			t.Errorf("%q: %q, %v; want %q", c.in, got, ok, c.want)
		}
	}
}
