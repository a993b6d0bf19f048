package main

import (
	"fmt"
	"strings"

	"pulse/scripts/deploykit/page"
)

// mine is what a reader puts into a block in place of what stands there, and what they type
// when it asks.
type mine struct {
	values  map[string]string // by the text that they replace
	answers []answer
	keyed   bool // the key of an approver stands for the one of the page
}

// answer is what is typed after a prompt.
type answer struct{ prompt, text string }

// filled returns the text with the reader's own values. What is not in it can't be the reader's.
func filled(b page.Block, m mine) (string, error) {
	text := b.Text
	for old, own := range m.values {
		if strings.Count(text, old) != 1 {
			return "", fmt.Errorf("block %s: %q is not in it once", b.Name, old)
		}
		text = strings.Replace(text, old, own, 1)
	}
	return text, nil
}
