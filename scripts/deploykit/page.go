package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// block is one of pulse-deploy(7). Those of the kind "paste" are pasted as they stand.
type block struct{ kind, name, text string }

var mark = regexp.MustCompile(`^\.\\" ([a-z]+): (\S+)$`)

// roff is what stands for a character in the literal text of a manual page.
var roff = strings.NewReplacer(`\e`, `\`, `\(aq`, `'`, `\(dq`, `"`, `\(ti`, `~`, `\(ha`, `^`, `\-`, `-`, `\&`, ``)

// blocks returns the blocks of a page, in its order. Each has a mark.
func blocks(page string) (list []block, err error) {
	lines := strings.Split(page, "\n")
	for i, line := range lines {
		m := mark.FindStringSubmatch(line)
		if m == nil && i+1 < len(lines) && strings.HasPrefix(lines[i+1], ".Bd -literal") {
			return nil, fmt.Errorf("line %d: a block has no mark", i+2)
		}
		if m == nil {
			continue
		}
		end := slices.Index(lines[i:], ".Ed")
		if end < 2 || !strings.HasPrefix(lines[i+1], ".Bd -literal") {
			return nil, fmt.Errorf("line %d: no block follows %q", i+1, line)
		}
		list = append(list, block{m[1], m[2], roff.Replace(strings.Join(lines[i+2:i+end], "\n")) + "\n"})
	}
	if len(list) == 0 {
		return nil, errors.New("the page has no blocks")
	}
	return list, nil
}

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
func (b block) filled(m mine) (string, error) {
	text := b.text
	for old, own := range m.values {
		if strings.Count(text, old) != 1 {
			return "", fmt.Errorf("block %s: %q is not in it once", b.name, old)
		}
		text = strings.Replace(text, old, own, 1)
	}
	return text, nil
}
