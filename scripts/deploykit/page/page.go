// Package page reads the blocks of a manual page that are pasted as they stand.
//
// Invariant: what it returns is what a reader of the page sees. Caveat: it knows only the characters
// of roff that the pages use.
package page

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
