package policy

import (
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// FuzzOutline: what the parser takes for TOML has no fault, and every key of it an entry;
// and every line is a line of the file.
func FuzzOutline(f *testing.F) {
	for _, text := range []string{
		"a = [\n1, # c\n2,\n]\n[b.\"c d\"]\ne.f = {g = 'h', i = [{}]}\n[[j]]\n[[j.k]]\n", "a = \"\"\"\n[x]\n\"\"\"\"\r\nb = 1979-05-27T07:32:00Z",
		"a = 0xff\nb = +1_000\nc = -1.5e3\nd = inf\ne = 07:32:00\nf = 1979-05-27 07:32:00.5\n", "a.b.c = 1\na.b.d = 2\n[a.e]\n", "a = {\n  b = 1,\n}\n", "\"\" = ''\n'x' = true # é",
		"owners = [\"a\"\nmax_age = 1\n", "x = ['a\n", "[x\n", "a = “b”",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o := readOutline(text)
		lines := 1 + strings.Count(text, "\n")
		last := 1
		for _, e := range o.Entries {
			if e.Line < last || e.Line > lines || e.Kind == "" || len(e.Names) == 0 {
				t.Fatalf("%q: %+v after line %d of %d", text, e, last, lines)
			}
			last = e.Line
		}
		if o.Fault != nil && (o.Line < 1 || o.Line > lines) {
			t.Fatalf("%q: line %d of %d", text, o.Line, lines)
		}
		var all map[string]any
		if toml.Unmarshal([]byte(text), &all) != nil {
			return
		}
		if o.Fault != nil {
			t.Fatalf("%q is TOML: %v", text, o.Fault)
		}
		if len(all) > 0 && len(o.Entries) == 0 {
			t.Fatalf("%q: no entry of %v", text, all)
		}
		for _, e := range o.Entries {
			if !e.Element && !strings.ContainsAny(e.Key, "\\[") && !decoded(all, e.Names) {
				t.Fatalf("%q: %s is lost", text, e.Key)
			}
		}
	})
}

// decoded reports whether what was decoded has a key.
func decoded(all any, names []string) bool {
	for _, name := range names {
		table, _ := all.(map[string]any)
		if all = table[name]; all == nil {
			return false
		}
	}
	return true
}
