package policy

import (
	"fmt"
	"strings"
	"testing"
)

// What stands where, with [n] after each list and each [[table]].
func TestEntries(t *testing.T) {
	const text = "# a comment = 1\r\nowners = [\r\n  \"a\", # [x]\n  'b' ]\nx.\"y z\" = {n = 1, s = \"\"\"\n[no]\"\"\"}\n" +
		"[m.\"b@c\"]\nt.allow = []\n[[p]]\nid = -1\n[[p.chat]]\n[[p]]\nlist = [{a = true}, {a = 2026-01-01}]\n[[p.chat]]\nf = 1.5\n"
	const want = `2 list owners
3 string owners[0] "a"
4 string owners[1] 'b'
5 table in braces x.y z
5 whole number x.y z.n 1
5 string x.y z.s """
7 table m.b@c
8 list m.b@c.t.allow
9 table p[0]
10 whole number p[0].id -1
11 table p[0].chat[0]
12 table p[1]
13 list p[1].list
13 table in braces p[1].list[0]
13 truth value p[1].list[0].a true
13 table in braces p[1].list[1]
13 date p[1].list[1].a 2026-01-01
14 table p[1].chat[0]
15 number that is not whole p[1].chat[0].f 1.5
`
	o := readOutline(text)
	if o.Fault != nil {
		t.Fatal(o.Fault)
	}
	var got strings.Builder
	for _, e := range o.Entries {
		shown, _, _ := strings.Cut(e.Text, "\n")
		kind := e.Kind
		if kind == isTables {
			kind = isTable
		}
		fmt.Fprintln(&got, strings.TrimRight(fmt.Sprintf("%d %s %s %s", e.Line, kind, e.Key, shown), " "))
	}
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &got, want)
	}
}

// A fault is on the line where something is missing.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		text string
		line int
	}{
		{"owners = [\"a@b.example\"\n\nmax_age = \"48h\"\n", 1}, {"owners = [\n \"a\",\n \"b\" # ]\n\n[limits]\nn = 1\n", 3},
		{"x = 1\nowners = [\n \"a\",\n\"fs.*\" = \"open\"\n", 4}, {"[a]\nb = [1, 2", 2}, {"p = { c = [\"x\"]\n[t]\n", 1}, {"a = 1\nowners = [\"a]\nb = 1", 2},
		{"a = [\n\"x\"\n\"y\"\n]", 2}, {"\n[limits\nn = 1", 2}, {"[[receiver]\ns = 1", 1}, {"[matrix.boss@example.com]", 1}, {"a = 1\nb = \"\xff\"", 2},
		{"a \"x\"", 1}, {"a = \n", 1}, {"\na = 010", 2}, {"a = x y", 1}, {"a = 1\n\nowners = [\n[limits]\n", 3},
	} {
		if o := readOutline(c.text); o.Fault == nil || o.Line != c.line {
			t.Errorf("%q: line %d, want %d: %v", c.text, o.Line, c.line, o.Fault)
		}
	}
}

// However deep something is nested, the parser recurses no further than it may.
func TestDeep(t *testing.T) {
	for _, text := range []string{"a = " + strings.Repeat("[", 1<<20), "a = " + strings.Repeat("{a=", 1<<18), strings.Repeat("a.", 1<<19) + "a = 1", "[" + strings.Repeat("a.", 1<<19) + "a]"} {
		if _, err := Parse("p", []byte(text)); err == nil || len(err.Error()) > 1000 {
			t.Errorf("%.10s…: %.100v", text, err)
		}
	}
}
