package policy

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestMissingCharacter leaves out each bracket, brace, quote, comma and = of a policy in
// turn. The message has to be about the line where it was, or, in a list of many lines,
// about the end of the line before.
func TestMissingCharacter(t *testing.T) {
	b, err := os.ReadFile("testdata/full.toml")
	if err != nil {
		t.Fatal(err)
	}
	missing(t, string(b), 0)
	var long strings.Builder
	for line := range strings.Lines(string(b)) {
		if line, _, _ = strings.Cut(line, " #"); strings.Contains(line, " = [") {
			line = strings.NewReplacer("[\"", "[\n\t\"", ", ", ",\n\t", "]", "\n]").Replace(line)
		}
		fmt.Fprintln(&long, strings.TrimRight(line, "\n"))
	}
	missing(t, long.String(), 1)
}

func missing(t *testing.T, text string, off int) {
	n := 0
	for i, c := range text {
		begin := 1 + strings.LastIndexByte(text[:i], '\n')
		if !strings.ContainsRune(`[]{}",=`, c) || strings.Contains(text[begin:i], "#") {
			continue
		}
		n++
		_, err := Parse("p", []byte(text[:i]+text[i+1:]))
		line, found := 1+strings.Count(text[:i], "\n"), false
		for l := line - off; l <= line && err != nil; l++ {
			found = found || strings.HasPrefix(err.Error(), fmt.Sprintf("p:%d: ", l))
		}
		if !found {
			t.Errorf("without %c in line %d, %s: %v", c, line, text[begin:i], err)
		}
	}
	if n < 100 {
		t.Errorf("%d characters", n)
	}
}
