package audit

import (
	"strings"
	"testing"
	"time"
)

// TestPrevOf: PrevOf says of a line what Parse says, whatever stands in it, and nothing of what is
// not a whole line.
func TestPrevOf(t *testing.T) {
	hash := "sha256:" + strings.Repeat("ab", 32)
	for _, text := range []string{"", `"prev":"` + Origin + `"}`, "}\n", "\x00é"} {
		for _, more := range []bool{false, true} {
			l := Line{Time: time.Unix(0, 0), Event: Held, By: text, Sender: text, More: more, Prev: hash}
			raw := l.Append(nil)
			if parsed, err := Parse(raw); err != nil || parsed.Prev != hash || PrevOf(raw) != hash {
				t.Errorf("%s: %q, %v", raw, PrevOf(raw), err)
			}
			for _, other := range [][]byte{raw[1:], raw[:len(raw)-1], raw[len(raw)-60:], append(raw, ' '), nil} {
				if PrevOf(other) != "" {
					t.Errorf("%s has %q", other, PrevOf(other))
				}
			}
		}
	}
}
