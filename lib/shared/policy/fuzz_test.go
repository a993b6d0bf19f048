package policy

import (
	"errors"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

var placed = regexp.MustCompile(`^p:(\d+): `)

// FuzzParse: whatever a file holds, it is a policy of known keys alone, or refused with
// the file and a line of it.
func FuzzParse(f *testing.F) {
	full, err := os.ReadFile("testdata/full.toml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(full))
	f.Add(senderRows)
	for _, text := range []string{
		"owners = [\"a@b.example\"\n\nmax_age = \"48h\"", "[limits]\nmax_per_run = \"10\"", "[tools]\nlevel = { \"fs.*\" = \"open\"\n", "a.b = 1\n[a]\nb = 2",
		"[[platform]]\nchat = [{id = 1}, {id = 2, tools.allow = [\"x\"]}]", "x = 0b2", "x = 1979-05-27 07:32:00", "\ufeffmax_age = '''2d'''", "x = \"\\x\"", "\x00", "[matrix]\n\"a.b@c\" = {}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse("p", []byte(text))
		lines := 1 + strings.Count(text, "\n")
		if err != nil {
			refused(t, text, err, lines)
			return
		}
		defer read.Delete(p.Digest)
		for _, e := range p.lines().outline.Entries {
			if !known(e.Names) {
				t.Errorf("%q: a policy although %s is unknown", text, e.Key)
			}
			if n := p.Line(path(e.Names), 0); n < 0 || n > lines {
				t.Errorf("%q: %s in line %d", text, e.Key, n)
			}
		}
		for _, key := range keysOf(t, text) {
			if !known([]string{key}) {
				t.Errorf("%q: a policy although %s is unknown", text, key)
			}
		}
		for key, list := range p.lines().all {
			for i, n := range list {
				if n < 1 || n > lines || p.Line(key, i) != n || i > 0 && n < list[i-1] {
					t.Errorf("%q: %s in line %d", text, key, n)
				}
			}
		}
	})
}

// keysOf returns the keys at the top of a file, as another reading of it has them.
func keysOf(t *testing.T, text string) []string {
	var all map[string]any
	if err := toml.Unmarshal([]byte(strings.TrimPrefix(text, "\ufeff")), &all); err != nil {
		t.Fatal(err)
	}
	return slices.Collect(maps.Keys(all))
}

func refused(t *testing.T, text string, err error, lines int) {
	t.Helper()
	if !errors.Is(err, errInvalid) {
		t.Errorf("%q: %v is of another kind", text, err)
	}
	m := placed.FindStringSubmatch(err.Error())
	if m == nil {
		t.Fatalf("%q: %v names no line", text, err)
	}
	if n, err := strconv.Atoi(m[1]); err != nil || n < 1 || n > lines {
		t.Errorf("%q: line %s of %d", text, m[1], lines)
	}
}
