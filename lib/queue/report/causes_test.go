package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// TestTallyIsBounded: whatever lines hold, what is kept of them is bounded, and none of it
// keeps the line in memory.
func TestTallyIsBounded(t *testing.T) {
	tl := newTally()
	for i := range 3 * maxCauses {
		l := audit.Line{Time: time.Now(), Event: task.Refused, Outcome: terms.Reject, Rule: fmt.Sprint("r", i),
			Sender: strings.Repeat("x", 10*maxWord) + fmt.Sprint(i)}
		tl.hear(&l)
	}
	if len(tl.causes) != maxCauses || tl.others != 2*maxCauses {
		t.Errorf("%d causes, %d others", len(tl.causes), tl.others)
	}
	for _, one := range tl.causes {
		for who := range one.counts {
			if len(who.sender) > maxWord {
				t.Fatalf("%d bytes of a sender", len(who.sender))
			}
		}
	}
	many := newTally()
	for i := range 3 * maxSenders {
		many.hear(&audit.Line{Event: task.Refused, Sender: fmt.Sprint(i)})
	}
	if list := many.sorted(); len(list) != 1 || list[0].times != 3*maxSenders || len(list[0].whom.counts) != maxSenders+1 {
		t.Errorf("%+v", list)
	}
	if got := leading(many.sorted()[0].whom, 1, 60, inAll); got != "0 (1), (others) (599)" {
		t.Error(got)
	}
}
