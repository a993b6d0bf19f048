// Package man holds the manual pages against the code: they are clean mdoc, they
// name every flag and every word of a closed list and no other, and what their
// examples show is what happens.
package man

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

// bin is where the commands are built to.
var bin string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "pulse-man-")
	if err == nil {
		err = os.Chmod(dir, 0o755) // a box is for another account than root
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin = dir
	if err := cmdlinetest.Build(bin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Setenv("XDG_STATE_HOME", bin+"/.state")
	return m.Run()
}

// commands are those that have a page in section 1.
var commands = []string{"pulse-fetch", "pulse-classify", "pulse-authorize", "pulse-queue", "pulse-approve"}

// page is the source of a manual page, line by line.
type page []string

func read(t *testing.T, name string) page {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

func pages(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("*.[1-9]")
	if err != nil || len(names) < 9 {
		t.Fatalf("%d pages, want at least 9 (%v)", len(names), err)
	}
	return names
}

func TestLint(t *testing.T) {
	if _, err := exec.LookPath("mandoc"); err != nil {
		t.Fatal("mandoc is missing: apt-get install mandoc")
	}
	for _, name := range pages(t) {
		if out, err := exec.Command("mandoc", "-T", "lint", "-W", "warning", name).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// A reference to a page of ours leads somewhere.
func TestReferences(t *testing.T) {
	xr := regexp.MustCompile(`^\.(?:It )?Xr (pulse\S*) ([1-9])`)
	for _, name := range pages(t) {
		for n, line := range read(t, name) {
			m := xr.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			if _, err := os.Stat(m[1] + "." + m[2]); err != nil {
				t.Errorf("%s:%d: %v", name, n+1, err)
			}
		}
	}
}

// A section of another page that a page names is there.
func TestSectionsElsewhere(t *testing.T) {
	ref := regexp.MustCompile(`\bSx (.+) No in Xr (\S+) ([1-9])`)
	for _, name := range pages(t) {
		for n, line := range read(t, name) {
			m := ref.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			p := read(t, m[2]+"."+m[3])
			if !slices.Contains(p, ".Ss "+m[1]) && !slices.Contains(p, ".Sh "+m[1]) {
				t.Errorf("%s:%d: %s(%s) has no section %s", name, n+1, m[2], m[3], m[1])
			}
		}
	}
}

// block is a literal block: what stands between .Bd -literal and .Ed.
type block struct {
	line    int // of its first line of text
	section string
	mark    string // of the comment before it, or the line before it
	text    []string
}

var unescape = strings.NewReplacer(`\e`, `\`, `\(aq`, `'`, `\(dq`, `"`, `\(ti`, `~`, `\(ha`, `^`, `\-`, `-`, `\&`, ``)

func (p page) blocks() (list []block) {
	section := ""
	for i := 0; i < len(p); i++ {
		if s, ok := strings.CutPrefix(p[i], ".Sh "); ok {
			section = s
		}
		if !strings.HasPrefix(p[i], ".Bd -literal") {
			continue
		}
		b := block{line: i + 2, section: section}
		if i > 0 {
			b.mark, _ = strings.CutPrefix(p[i-1], `.\" `)
		}
		for i++; p[i] != ".Ed"; i++ {
			b.text = append(b.text, unescape.Replace(p[i]))
		}
		list = append(list, b)
	}
	return list
}

// marked returns the text of the block with a mark.
func (p page) marked(t *testing.T, mark string) string {
	t.Helper()
	for _, b := range p.blocks() {
		if b.mark == mark {
			return strings.Join(b.text, "\n") + "\n"
		}
	}
	t.Fatalf("no block is marked %q", mark)
	return ""
}

// list returns the items of the lists with a mark, sorted: the words of each before its
// text, without macros. Lists inside are not looked at.
func (p page) list(t *testing.T, mark string) (words []string) {
	t.Helper()
	for i, line := range p {
		if line != `.\" list: `+mark {
			continue
		}
		for depth, j := 0, i+1; j == i+1 || depth > 0; j++ {
			switch {
			case strings.HasPrefix(p[j], ".Bl"):
				depth++
			case strings.HasPrefix(p[j], ".El"):
				depth--
			case depth == 1 && strings.HasPrefix(p[j], ".It "):
				words = append(words, items(p[j])...)
			}
		}
	}
	if words == nil {
		t.Fatalf("no list is marked %q", mark)
	}
	slices.Sort(words)
	return words
}

// items returns the words of an item: `.It Cm "a, b"` and `.It Cm a , b` have two.
func items(line string) (words []string) {
	rest := strings.TrimPrefix(line, ".It ")
	for _, macro := range []string{"Cm ", "Pa ", "Ev "} {
		rest = strings.TrimPrefix(rest, macro)
	}
	if quoted, ok := strings.CutPrefix(rest, `"`); ok {
		list, _, _ := strings.Cut(quoted, `"`)
		return strings.Split(list, ", ")
	}
	for part := range strings.SplitSeq(rest, " , ") {
		word, _, _ := strings.Cut(part, " ")
		words = append(words, word)
	}
	return words
}

func item(line string) string { return items(line)[0] }

// same fails unless both hold the same words.
func same(t *testing.T, page, code []string) {
	t.Helper()
	slices.Sort(code)
	for _, w := range page {
		if !slices.Contains(code, w) {
			t.Errorf("the page has %s, the code has not", w)
		}
	}
	for _, w := range code {
		if !slices.Contains(page, w) {
			t.Errorf("the code has %s, the page has not", w)
		}
	}
	if len(slices.Compact(slices.Clone(page))) != len(page) {
		t.Errorf("the page has a word twice: %v", page)
	}
}
