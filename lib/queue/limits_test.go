package queue

import "testing"

func TestHalf(t *testing.T) {
	for n, want := range map[int]int{1: 1, 2: 1, 3: 1, 10: 5, 11: 5, 100: 50} {
		if got := new(usage).half(n); got != want {
			t.Errorf("half of %d is %d", n, got)
		}
	}
	ours := usage{ours: true} // an owner's task is due
	if got := ours.half(1); got != 0 {
		t.Errorf("half of 1 is %d, and the owner waits", got)
	}
}
