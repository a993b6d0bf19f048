package main

import (
	"os"
	"slices"
	"testing"
)

// The page has blocks, each with what bash gets, and the table of what the reader fills in names
// no other blocks.
func TestBlocks(t *testing.T) {
	page, err := os.ReadFile("../../man/pulse-deploy.7")
	if err != nil {
		t.Fatal(err)
	}
	list, err := blocks(string(page))
	if err != nil {
		t.Fatal(err)
	}
	for name, own := range filledIn {
		at := slices.IndexFunc(list, func(b block) bool { return b.name == name })
		if at < 0 {
			t.Errorf("there is no block %s", name)
			continue
		}
		if _, err := list[at].filled(own); err != nil {
			t.Error(err)
		}
	}
}

func TestBlock(t *testing.T) {
	list, err := blocks(".\\\" paste: one\n.Bd -literal -offset indent\necho \"\\e$X\" \\(aqa\\(aq\n\\&. file\n.Ed\n")
	if err != nil || len(list) != 1 || list[0] != (block{"one", "echo \"\\$X\" 'a'\n. file\n"}) {
		t.Fatalf("%q, %v", list, err)
	}
	for _, page := range []string{"", ".\\\" paste: one\n.Pp\n.Ed\n", ".\\\" paste: one\n.Bd -literal\necho\n"} {
		if list, err := blocks(page); err == nil {
			t.Errorf("%q: %v", page, list)
		}
	}
	if text, err := list[0].filled(mine{values: map[string]string{"file": "other"}}); err != nil || text != "echo \"\\$X\" 'a'\n. other\n" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := list[0].filled(mine{values: map[string]string{"elsewhere": "x"}}); err == nil {
		t.Error("a value that the block does not have was filled in")
	}
}
