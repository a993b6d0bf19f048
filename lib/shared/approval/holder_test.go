package approval

import "testing"

// TestHolder: only an account other than root has a uid, in one spelling.
func TestHolder(t *testing.T) {
	if h := HeldBy(1000); h != "uid 1000" {
		t.Errorf("%q", h)
	}
	for _, none := range []int{0, -1} {
		if h := HeldBy(none); h != "" {
			t.Errorf("%d: %q", none, h)
		}
	}
	for h, want := range map[Holder]int{
		"uid 7": 7, "": 0, "uid 0": 0, "uid -1": 0, "uid +7": 0, "uid 07": 0, "7": 0, "uid": 0, "uid ": 0, "uid 7 ": 0, "role 7": 0, "role uid 7": 0,
	} {
		if uid, ok := h.UID(); ok != (want != 0) || ok && uid != want {
			t.Errorf("%q: %d, %t", h, uid, ok)
		}
	}
}
