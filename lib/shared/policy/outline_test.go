package policy

import (
	"fmt"
	"strings"
	"testing"
)

// What stands where, with [n] after each list and each [[table]].
func TestEntries(t *testing.T) {
	const text = "\ufeff# a comment = 1\r\nowners = [\r\n  \"a\", # [x]\n  'b' ]\nx.\"y z\" = {n = 1, s = \"\"\"\n[no]\"\"\"}\n" +
		"[m.\"b@c\"]\nt.allow = []\n[[p]]\nid = -1\n[[p.chat]]\n[[p]]\nlist = [{a = true}, {a = 2026-01-01}]\n[[p.chat]]\nf = 1.5\n"
	const want = `2 list owners
3 string owners[0] "a"
4 string owners[1] 'b'
5 table in braces x.y z
5 whole number x.y z.n 1
5 string x.y z.s """
7 table m.b@c
8 list m.b@c.t.allow []
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
		shown := firstLine(e.Text)
		if e.Kind == isInline || e.Kind == isArray && e.Text != "[]" {
			shown = ""
		}
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

// A fault is on the line where something is missing, and names the key.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		text string
		line int
		key  string
		want string
	}{
		{"owners = [\"a@b.example\"\n\nmax_age = \"48h\"\n", 1, "owners", `the [ is not closed: want ] after "a@b.example"`},
		{"owners = [\n \"a\",\n \"b\" # ]\n\n[limits]\nn = 1\n", 3, "owners", `the [ of line 1 is not closed: want ] after "b"`},
		{"x = 1\nowners = [\n \"a\",\n\"fs.*\" = \"open\"\n", 3, "owners", `the [ of line 2 is not closed: want ] after "a"`},
		{"[a]\nb = [1, 2", 2, "a.b", "the [ is not closed: want ] after 2"},
		{"p = { c = [\"x\"]\n[t]\n", 1, "p", "the { is not closed: want }"},
		{"p = {\n c = 1,\n[t]\n", 2, "p", "the { of line 1 is not closed: want }"},
		{"a = 1\nowners = [\"a]\nb = 1", 2, "owners", `the string that begins with "a] is not closed: want " at its end`},
		{"a = '''x\n\n", 1, "a", "the string that begins with '''x is not closed: want ''' at its end"},
		{"a = [\n\"x\"\n\"y\"\n]", 2, "a", `a comma is missing after "x", before "y"`},
		{"a = [\"x\" \"y\"]", 1, "a", `a comma is missing after "x", before "y"`},
		{"a = \"x\", \"y\"", 1, "a", `a comma stands after "x": want a list in brackets, ["x", …], or one key a line`},
		{"\n[limits\nn = 1", 2, "limits", "the [ is not closed: want [limits]"},
		{"[[receiver]\ns = 1", 1, "receiver", "[[receiver] has one ]: want [[receiver]]"},
		{"[matrix.boss@example.com]", 1, "", `[matrix.boss@example.com] needs quotes where it is not a to z, digits, _ or -: want [matrix."boss@example.com"]`},
		{"[a]\n[b]\n[a]", 3, "a", "[a] begins in line 1 already: want its keys there, and no second one"},
		{"a = 1\nb = 2\na = 3", 3, "a", "it stands in line 1 already: want one of the two"},
		{"[[x]]\na = 1\n[[x]]\na = 1\na = 2", 5, "x.a", "it stands in line 4 already: want one of the two"},
		{"a = [\"x, \"y\"]", 1, "a", `"x, " counts as one string: a quote is missing in it, or one too many stands after it`},
		{"a = “x”", 1, "a", `“ is not a quote of TOML: want "`},
		{"a = 1\nb = \"\xff\"", 2, "", "the byte 0xff is not UTF-8: save the file as UTF-8"},
		{"a \"x\"", 1, "a", `want = after the key, before "x"`},
		{"a = \n", 1, "a", "nothing stands after ="},
		{"a = , 1", 1, "a", "want a value here, not ,"},
		{"a = 010", 1, "a", "010 is not a number: want no zero in front, and _ between digits only"},
		{"a = x y", 1, "a", `x has no quotes: want "x"`},
	} {
		f := readOutline(c.text).Fault
		if f == nil {
			t.Errorf("%q: no fault", c.text)
			continue
		}
		if key := strings.Join(f.Names, "."); f.Line != c.line || key != c.key || f.Text != c.want {
			t.Errorf("%q:\n got %d: %s: %s\nwant %d: %s: %s", c.text, f.Line, key, f.Text, c.line, c.key, c.want)
		}
	}
}

// However deep something is nested, it is refused before a parser recurses into it.
func TestDeep(t *testing.T) {
	for _, text := range []string{"a = " + strings.Repeat("[", 1<<20), "a = " + strings.Repeat("{a=", 1<<18), strings.Repeat("a.", 1<<19) + "a = 1", "[" + strings.Repeat("a.", 1<<19) + "a]"} {
		if f := readOutline(text).Fault; f == nil || !f.Final {
			t.Errorf("%.10s…: %+v", text, f)
		}
	}
}
