package main

import (
	"fmt"
	"slices"
	"strings"
)

// block is one of pulse-deploy(7) that is pasted as it stands.
type block struct{ name, text string }

const mark = `.\" paste: `

// roff is what stands for a character in the literal text of a manual page.
var roff = strings.NewReplacer(`\e`, `\`, `\(aq`, `'`, `\(dq`, `"`, `\(ti`, `~`, `\(ha`, `^`, `\-`, `-`, `\&`, ``)

// blocks returns the blocks of a page, in its order.
func blocks(page string) (list []block, err error) {
	lines := strings.Split(page, "\n")
	for i, line := range lines {
		name, ok := strings.CutPrefix(line, mark)
		if !ok {
			continue
		}
		end := slices.Index(lines[i:], ".Ed")
		if end < 2 || !strings.HasPrefix(lines[i+1], ".Bd -literal") {
			return nil, fmt.Errorf("line %d: no block follows %q", i+1, line)
		}
		list = append(list, block{name, roff.Replace(strings.Join(lines[i+2:i+end], "\n")) + "\n"})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no line begins with %q", mark)
	}
	return list, nil
}

// mine is what a reader puts into a block in place of what stands there, and what they type
// when it asks.
type mine struct {
	values  map[string]string // by the text that they replace
	answers []answer
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
