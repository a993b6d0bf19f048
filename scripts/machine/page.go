package machine

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Block is one of pulse-deploy(7). Those of the kind "paste" are pasted as they stand.
type Block struct{ Kind, Name, Text string }

var mark = regexp.MustCompile(`^\.\\" ([a-z]+): (\S+)$`)

// roff is what stands for a character in the literal text of a manual page.
var roff = strings.NewReplacer(`\e`, `\`, `\(aq`, `'`, `\(dq`, `"`, `\(ti`, `~`, `\(ha`, `^`, `\-`, `-`, `\&`, ``)

// Blocks returns the blocks of a page, in its order. Each has a mark.
func Blocks(page string) (list []Block, err error) {
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
		list = append(list, Block{m[1], m[2], roff.Replace(strings.Join(lines[i+2:i+end], "\n")) + "\n"})
	}
	if len(list) == 0 {
		return nil, errors.New("the page has no blocks")
	}
	return list, nil
}

// Filled returns the text of a block with the reader's own values in it, by what they replace. What
// is not in it once can't be the reader's.
func (b Block) Filled(values map[string]string) (string, error) {
	text := b.Text
	for old, own := range values {
		if strings.Count(text, old) != 1 {
			return "", fmt.Errorf("block %s: %q is not in it once", b.Name, old)
		}
		text = strings.Replace(text, old, own, 1)
	}
	return text, nil
}

// Find returns the block of a kind and name.
func Find(list []Block, kind, name string) (Block, error) {
	i := slices.IndexFunc(list, func(b Block) bool { return b.Kind == kind && b.Name == name })
	if i < 0 {
		return Block{}, fmt.Errorf("the page has no block %s: %s", kind, name)
	}
	return list[i], nil
}
