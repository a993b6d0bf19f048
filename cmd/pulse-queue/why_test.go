package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// TestFrequent: counts are exact while words are few, and otherwise never too high, and no
// frequent word is lost among a flood of others, wherever they stand.
func TestFrequent(t *testing.T) {
	for _, different := range []int{10, maxWords, maxWords + 1, 50000} {
		var f frequent
		want, all := map[string]int{}, 0
		random := rand.New(rand.NewPCG(1, uint64(different)))
		for i := range 100000 {
			w := fmt.Sprint("w", random.IntN(different))
			if i < different {
				w = fmt.Sprint("w", i)
			}
			if i%10 == 9 {
				w = "often"
			}
			f.add(w)
			want[w]++
			all++
		}
		if f.lossy != (len(want) > maxWords) || len(f.counts) > maxWords {
			t.Errorf("%d: lossy %v, %d are kept", different, f.lossy, len(f.counts))
		}
		for w, n := range f.counts {
			if n > want[w] || !f.lossy && n != want[w] || n < want[w]-all/maxWords {
				t.Errorf("%d: %s was counted %d times, and came %d times", different, w, n, want[w])
			}
		}
		list, more := f.top(3)
		if list[0].word != "often" && different > 10 || more > len(want)-3 || !f.lossy && more != len(want)-3 {
			t.Errorf("%d: %v and %d more of %d", different, list, more, len(want))
		}
	}
}

// TestTallyIsBounded: whatever lines hold, what is kept of them is bounded, and none of it
// keeps the line in memory.
func TestTallyIsBounded(t *testing.T) {
	tl := tally{causes: map[cause]*toll{}}
	for i := range 3 * maxCauses {
		l := audit.Line{Time: time.Now(), Event: task.Refused, Outcome: terms.Reject, Rule: fmt.Sprint("r", i),
			Sender: strings.Repeat("x", 10*maxWord) + fmt.Sprint(i)}
		tl.add(&l, "")
	}
	if len(tl.causes) != maxCauses || tl.others != 2*maxCauses {
		t.Errorf("%d causes, %d others", len(tl.causes), tl.others)
	}
	for _, one := range tl.causes {
		for w := range one.senders.counts {
			if len(w) > maxWord {
				t.Fatalf("%d bytes of a sender", len(w))
			}
		}
	}
}
