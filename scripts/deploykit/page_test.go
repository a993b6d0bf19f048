package main

import (
	"os"
	"slices"
	"testing"

	"pulse/scripts/machine"
)

// Each block of the page is pasted, or there is a reason why not; and no others are named.
func TestBlocks(t *testing.T) {
	text, err := os.ReadFile("../../man/pulse-deploy.7")
	if err != nil {
		t.Fatal(err)
	}
	list, err := machine.Blocks(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := known(list); err != nil {
		t.Error(err)
	}
	for _, b := range list {
		if _, err := b.Filled(filledIn[b.Name].values("a key")); b.Kind == "paste" && err != nil {
			t.Error(err)
		}
	}
	for _, other := range []string{"paste", "rest"} {
		if known(append(slices.Clone(list), machine.Block{Kind: other, Name: "new"})) == nil {
			t.Errorf("a new block of the kind %q is not missed", other)
		}
	}
	if known(list[1:]) == nil {
		t.Error("a block that is gone is not missed")
	}
}

func TestBlock(t *testing.T) {
	list, err := machine.Blocks(".\\\" paste: one\n.Bd -literal -offset indent\necho \"\\e$X\" \\(aqa\\(aq\n\\&. file\n.Ed\n")
	if err != nil || len(list) != 1 || list[0] != (machine.Block{Kind: "paste", Name: "one", Text: "echo \"\\$X\" 'a'\n. file\n"}) {
		t.Fatalf("%q, %v", list, err)
	}
	for _, text := range []string{"", ".Pp\n.Bd -literal\necho\n.Ed\n", ".\\\" paste: one\n.Pp\n.Ed\n", ".\\\" paste: one\n.Bd -literal\necho\n"} {
		if list, err := machine.Blocks(text); err == nil {
			t.Errorf("%q: %v", text, list)
		}
	}
	if text, err := list[0].Filled(map[string]string{"file": "other"}); err != nil || text != "echo \"\\$X\" 'a'\n. other\n" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := list[0].Filled(map[string]string{"elsewhere": "x"}); err == nil {
		t.Error("a value that the block does not have was filled in")
	}
}
