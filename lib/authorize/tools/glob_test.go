package tools

import (
	"math/rand"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pulse/lib/authorize/glob"
)

// TestClassesOfArgs holds package glob against matchArg, for all arguments of up to five
// of the bytes that matchArg looks at.
func TestClassesOfArgs(t *testing.T) {
	args := []string{""}
	for from, n := 0, 0; n < 5; n++ {
		level := args[from:]
		from = len(args)
		for _, arg := range level {
			for _, r := range "a+-./=@" {
				args = append(args, arg+string(r))
			}
		}
	}
	rounds := 1000
	if testing.Short() {
		rounds = 150
	}
	r := rand.New(rand.NewSource(1))
	for range rounds {
		var list []string
		for range 1 + r.Intn(3) {
			text := make([]byte, r.Intn(4))
			for i := range text {
				text[i] = "a-./=@**"[r.Intn(8)]
			}
			list = append(list, string(text))
		}
		missing := map[string]int{} // the least length
		for _, arg := range slices.Backward(args) {
			missing[matchesOf(list, arg)] = len(arg)
		}
		for _, c := range classesOf(t, list) {
			got := matchesOf(list, c.Example)
			if want := word(c.Matches); got != want {
				t.Fatalf("%q: %q is matched by %s, and not by %s", list, c.Example, got, want)
			}
			if least, ok := missing[got]; ok && least != len(c.Example) {
				t.Fatalf("%q: %q has %d bytes", list, c.Example, least)
			}
			delete(missing, got)
		}
		if len(missing) > 0 {
			t.Fatalf("%q: %v is missing", list, missing)
		}
	}
}

// FuzzClassesOfArgs: no argument belongs to a class that glob doesn't know.
func FuzzClassesOfArgs(f *testing.F) {
	f.Add("*\n-*\na/*", "a/..")
	f.Add("--out=*\n*:*\n@*\n..", "--out=..")
	f.Add("*/*\n/*\n../*", "é/@")
	f.Fuzz(func(t *testing.T, globs, arg string) {
		list := strings.Split(globs, "\n")
		if !utf8.ValidString(globs) || !utf8.ValidString(arg) || strings.Contains(arg, "\x00") || len(globs) > 30 || len(list) > 6 {
			return
		}
		found := false
		for _, c := range classesOf(t, list) {
			if matchesOf(list, c.Example) != word(c.Matches) {
				t.Fatalf("%q: %q is not matched by %v", list, c.Example, c.Matches)
			}
			found = found || word(c.Matches) == matchesOf(list, arg)
		}
		if !found {
			t.Fatalf("%q: %q has no class", list, arg)
		}
	})
}

func classesOf(t *testing.T, list []string) []glob.Class {
	t.Helper()
	var patterns []glob.Pattern
	for _, text := range list {
		patterns = append(patterns, glob.Pattern{Text: text, Kind: glob.Arg})
	}
	classes, err := glob.Classes(patterns, glob.Args)
	if err != nil {
		t.Fatal(err)
	}
	return classes
}

// matchesOf says which globs match an argument, as 0 and 1.
func matchesOf(list []string, arg string) string {
	var matches []bool
	for _, glob := range list {
		matches = append(matches, matchArg(glob, arg))
	}
	return word(matches)
}

func word(matches []bool) string {
	return strings.Join(slices.Collect(func(yield func(string) bool) {
		for _, m := range matches {
			if !yield(map[bool]string{true: "1", false: "0"}[m]) {
				return
			}
		}
	}), "")
}
