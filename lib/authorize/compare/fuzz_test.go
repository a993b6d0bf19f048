package compare

import (
	"testing"
	"time"

	"pulse/lib/shared/cmdline/cmdlinetest"
	"pulse/lib/shared/policy"
)

// FuzzDiff: of two policies, whatever they say, the comparison comes to an end soon. A
// policy does not differ from itself, and what is wider one way is narrower the other way.
// Every record has what is claimed for it.
func FuzzDiff(f *testing.F) {
	for _, c := range append(widenings, others...) {
		f.Add(under(c.old), under(c.new))
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		old, err := policy.Parse("old", []byte(first))
		if err != nil {
			return
		}
		same, err := policy.Parse("same", []byte(first+"\n#")) // equal bytes are not compared
		if err != nil {
			return // it is as long as a policy may be
		}
		if list := diff(old, same); len(list) > 0 && !list[0].Unknown {
			t.Errorf("not equal to itself:\n%s", show(list))
		}
		new, err := policy.Parse("new", []byte(second))
		if err != nil {
			return
		}
		start := cmdlinetest.Computed(t)
		there, back := diff(old, new), diff(new, old)
		if took := cmdlinetest.Computed(t) - start; took > 20*time.Second {
			t.Errorf("it took %v", took)
		}
		checked(t, old, new)
		for _, d := range append(there, back...) {
			if d.Unknown {
				return
			}
		}
		if mirrored(there) != mirrored(turned(back)) {
			t.Errorf("there:\n%sback:\n%s", show(there), show(back))
		}
	})
}
