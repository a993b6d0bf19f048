package glob

import (
	"maps"
	"math/rand"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pulse/lib/shared/policy"
)

// word returns a random word of some of the letters.
func word(r *rand.Rand, letters string, longest int) string {
	out := make([]byte, r.Intn(longest+1))
	for i := range out {
		out[i] = letters[r.Intn(len(letters))]
	}
	return string(out)
}

// words returns all words of the letters, the shortest first, in their order.
func words(letters string, longest int) (list []string) {
	list = []string{""}
	for from := 0; longest > 0; longest-- {
		level := list[from:]
		from = len(list)
		for _, w := range level {
			for _, r := range letters {
				list = append(list, w+string(r))
			}
		}
	}
	return list
}

func matches(p Pattern, s string) bool {
	switch p.Kind {
	case Exact:
		return p.Text == s
	case Path, Hidden:
		return clean(s) && (p.Kind == Path || hidden.MatchString(s))
	}
	return policy.Match(p.Text, s)
}

var hidden = regexp.MustCompile(`(?s)(^|/)[.]`)

// clean reports whether s is a path of kind Path.
func clean(s string) bool { return s != "." && path.Clean(s) == s && filepath.IsLocal(s) }

// TestPaths compares Path and Hidden with package path, beside a pattern, for all short words.
func TestPaths(t *testing.T) {
	all := words("ab./", 6)[1:]
	r := rand.New(rand.NewSource(1))
	for range 300 {
		list := []Pattern{{"", Path}, {"", Hidden}, {word(r, "ab./**", 4), Any}}
		missing := map[int]bool{}
		got := make([]bool, len(list))
		for _, w := range all {
			for i, p := range list {
				got[i] = matches(p, w)
			}
			missing[bits(got)] = true
		}
		classes, err := Classes(list, Sources)
		if err != nil {
			t.Fatal(err)
		}
		for key, example := range examples(t, list, classes) {
			for i, p := range list {
				if matches(p, example) != (key>>i&1 == 1) {
					t.Fatalf("%v: %q and %v: not %b", list, example, p, key)
				}
			}
			delete(missing, key)
		}
		if len(missing) > 0 {
			t.Fatalf("%v: %v is missing", list, missing)
		}
	}
}

// bits returns which patterns match as a number.
func bits(matches []bool) (n int) {
	for i, m := range matches {
		if m {
			n |= 1 << i
		}
	}
	return n
}

// examples returns examples by what matches them.
func examples(t testing.TB, list []Pattern, classes []Class) map[int]string {
	out := map[int]string{}
	for _, c := range classes {
		key := bits(c.Matches)
		if _, twice := out[key]; twice {
			t.Fatalf("%v: %b twice", list, key)
		}
		out[key] = c.Example
	}
	return out
}

// TestClasses compares Classes with a look at all words of up to seven letters. With
// patterns of up to four runes no shortest example is longer.
func TestClasses(t *testing.T) {
	all := map[Alphabet][]string{ // c is the first letter that stands in no pattern
		ToolNames: words("abc", 7)[1:],
		Sources:   words("abc*", 6)[1:],
		Args:      words("abc*", 6),
	}
	rounds := 5000
	if testing.Short() {
		rounds = 1000
	}
	r := rand.New(rand.NewSource(1))
	for range rounds {
		alphabet := Alphabet(r.Intn(3))
		var list []Pattern
		for range 1 + r.Intn(3) {
			list = append(list, Pattern{word(r, "ab*b*", 4), Any})
			if r.Intn(4) == 0 {
				list[len(list)-1].Kind = Exact
			}
		}
		want := map[int]string{}
		got := make([]bool, len(list))
		for _, w := range all[alphabet] {
			for i, p := range list {
				got[i] = matches(p, w)
			}
			if _, ok := want[bits(got)]; !ok {
				want[bits(got)] = w
			}
		}
		classes, err := Classes(list, alphabet)
		if err != nil {
			t.Fatal(err)
		}
		if have := examples(t, list, classes); !maps.Equal(have, want) {
			t.Fatalf("%v: %v, want %v", list, have, want)
		}
	}
}

func TestExamples(t *testing.T) {
	for _, c := range []struct {
		alphabet Alphabet
		list     []Pattern
		want     []string
	}{
		{ToolNames, nil, []string{"a"}},
		{Args, nil, []string{""}},
		{ToolNames, []Pattern{{"*", Any}}, []string{"a"}},
		{ToolNames, []Pattern{{"Ab", Any}, {"a b", Exact}, {"", Any}}, []string{"a"}},
		{ToolNames, []Pattern{{"a*", Any}, {"*a", Any}, {"*", Any}}, []string{"a", "b", "ab", "ba"}},
		{ToolNames, []Pattern{{"fs.*", Any}, {"fs.read", Exact}}, []string{"a", "fs.", "fs.read"}},
		{ToolNames, []Pattern{{strings.Repeat("a", 100), Any}, {strings.Repeat("a", 101), Any}}, []string{"a", strings.Repeat("a", 100)}},
		{ToolNames, []Pattern{{strings.Repeat("a", 100) + "*b", Any}}, []string{"a"}},
		{Sources, []Pattern{{"mbox:*", Any}, {"*\x01", Any}}, []string{"a", "mbox:"}},
		{Sources, []Pattern{{"é*", Any}, {"*é", Any}}, []string{"a", "é", "aé", "éa"}},
		{Args, []Pattern{{"*", Arg}}, []string{"", "+"}},
		{Args, []Pattern{{"*", Arg}, {"-*", Arg}, {"-", Exact}}, []string{"", "+", "-", "-a"}},
		{Args, []Pattern{{"a/*", Arg}, {"*/*", Arg}}, []string{"", "/", "a/"}},
	} {
		got, err := Classes(c.list, c.alphabet)
		var examples []string
		for _, class := range got {
			examples = append(examples, class.Example)
		}
		if err != nil || !slices.Equal(examples, c.want) {
			t.Errorf("%v: %q, %v, want %q", c.list, examples, err, c.want)
		}
	}
}

func TestErrTooMany(t *testing.T) {
	var list []Pattern
	for r := 'a'; r <= 'z'; r++ {
		list = append(list, Pattern{"*" + string(r) + "*", Any})
	}
	if _, err := Classes(list, ToolNames); err != errTooMany {
		t.Error(err)
	}
	if _, err := Lists([][]Pattern{list}, ToolNames); err != nil {
		t.Error(err) // one list, in which each pattern is looked at alone
	}
}

var tools = []string{
	"fs.*", "fs.read", "fs.list", "fs.search", "fs.edit", "fs.write", "calendar.read", "mail.draft", "mail.read", "mail.search",
	"mail.send", "web.fetch", "web.search", "exec", "task.*", "draft", "web.*", "mail.*", "*", "cfg_*", "calendar.*", "*.read", "*.write",
	"mcp.*", "mcp.github.*", "mcp.github.issues.*", "mcp.jira.list", "mcp.jira.create", "mcp.*.delete", "pay.*", "pay.now", "pay.list",
	"crm.contact.read", "crm.contact.write", "crm.*", "*_delete", "db.query", "db.exec", "db.*", "browser.*",
}

func BenchmarkTools(b *testing.B) {
	var list []Pattern
	for _, name := range tools {
		list = append(list, Pattern{name, Any})
	}
	for b.Loop() {
		if _, err := Classes(list, ToolNames); err != nil {
			b.Fatal(err)
		}
	}
}
