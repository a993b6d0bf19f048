package ledger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pulse/lib/shared/approval"
)

// within is a use of a session of three, for an ask that may die twice.
func within(task string) Use {
	return Use{Nonces: []string{nonce + "01", nonce + "02", nonce + "03"}, Task: task, Expires: now.Add(48 * time.Hour), Again: 2}
}

func ask(n int) string { return fmt.Sprintf("%032x", n) }

// TestUsesOfASession: as many asks as there are nonces; one that starts again needs no
// other one, and can't start for ever.
func TestUsesOfASession(t *testing.T) {
	l := fresh(t)
	for i, step := range []struct {
		do   func() error
		want error
		why  string
	}{
		{func() error { return l.Spend(now, within(ask(1))) }, nil, "the first"},
		{func() error { return l.Spend(now, within(ask(2))) }, nil, "the second"},
		{func() error { return l.Spend(now, within(ask(1))) }, nil, "the first died"},
		{func() error { return l.Spend(now, within(ask(1))) }, nil, "and died again"},
		{func() error { return l.Check(within(ask(1))) }, ErrSpent, "it has died as often as it may"},
		{func() error { return l.Return(now, within(ask(1))) }, nil, "it asked for later"},
		{func() error { return l.Spend(now, within(ask(1))) }, nil, "and comes later"},
		{func() error { return l.Spend(now, within(ask(1))) }, ErrSpent, "which does not forget how often it died"},
		{func() error { return l.Return(now, within(ask(2))) }, nil, "the second asked for later"},
		{func() error { return l.Spend(now, within(ask(3))) }, nil, "the third"},
		{func() error { return l.Spend(now, within(ask(4))) }, ErrSpent, "nobody gets what the second gave back"},
		{func() error { return l.Spend(now, within(ask(2))) }, nil, "but the second"},
		{func() error { return l.Return(now, within(ask(5))) }, nil, "who has none gives none back"},
		{func() error { return l.Check(within(ask(5))) }, ErrSpent, "and gets none"},
	} {
		if err := step.do(); !errors.Is(err, step.want) {
			t.Fatalf("step %d, %s: %v, want %v", i, step.why, err, step.want)
		}
	}
}

// TestSpendSeveral: all of it or nothing, and one nonce is not two.
func TestSpendSeveral(t *testing.T) {
	l := fresh(t)
	a, b := use(nonce, task, now), use(other, task, now)
	if err := l.Spend(now, a, a); !errors.Is(err, ErrSpent) {
		t.Errorf("one for two: %v", err)
	}
	if err := l.Spend(now, b); err != nil {
		t.Fatal(err)
	}
	c := a
	c.Given = time.Time{}
	if err := l.Spend(now, c, b); !errors.Is(err, ErrSpent) {
		t.Errorf("one is spent: %v", err)
	}
	if err := l.Check(c); err != nil {
		t.Errorf("the other one was spent with it: %v", err)
	}
}

// TestSessionAtOnce: fifty asks want three uses.
func TestSessionAtOnce(t *testing.T) {
	l := fresh(t)
	if n := atOnce(t, func(i int) error { return l.Spend(now, within(ask(i+1))) }); n != 3 {
		t.Errorf("%d of 3 were spent", n)
	}
}

// small makes the ledger compact itself from so many bytes on.
func small(t *testing.T, size int64) {
	was := compactFrom
	compactFrom = size
	t.Cleanup(func() { compactFrom = was })
}

// filled is a ledger with lines of approvals that expire an hour apart, from now on.
func filled(t *testing.T, hours int) Ledger {
	t.Helper()
	l := fresh(t)
	var b []byte
	for i := range hours {
		at := now.Add(time.Duration(i) * time.Hour)
		e := entry{Time: at, Event: spent, Nonce: fmt.Sprintf("%016x", i), Task: ask(i), Expires: at.Add(time.Hour)}
		b = e.appendTo(b)
	}
	if err := os.WriteFile(l.Path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestCompaction: what expired longer ago than an approval lives goes, what is forgotten is spent
// all the same, whatever the clock says then, and what is not forgotten is as it was.
func TestCompaction(t *testing.T) {
	const hours = 2400
	l := filled(t, hours)
	before, err := os.Stat(l.Path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(l.Path, 0o640); err != nil {
		t.Fatal(err)
	}
	small(t, 1000)
	end := now.Add(hours*time.Hour + dropAfter/2)
	if err := l.Spend(end, Use{Nonces: []string{other}, Task: task, Expires: end.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(l.Path)
	if err != nil || os.SameFile(before, after) || after.Size() > before.Size()/2 || after.Mode().Perm() != 0o640 {
		t.Fatalf("it was not made smaller: %v, %v", after, err)
	}
	// In a short test one of ten, and those about what was just forgotten, and was just not.
	some := func(i int) bool {
		return !testing.Short() || i%10 == 0 || now.Add(time.Duration(i)*time.Hour).Sub(end.Add(-dropAfter)).Abs() < 24*time.Hour
	}
	for i := range hours {
		if !some(i) {
			continue
		}
		at := now.Add(time.Duration(i) * time.Hour)
		u := Use{Nonces: []string{fmt.Sprintf("%016x", i)}, Task: ask(i), Expires: at.Add(time.Hour)}
		err := l.Check(u) // asks no clock
		if gone := at.Add(time.Hour).Before(end.Add(-dropAfter)); !errors.Is(err, ErrSpent) && !errors.Is(err, ErrForgotten) || gone && !errors.Is(err, ErrForgotten) {
			t.Errorf("%d: %v", i, err)
		}
	}
	// Approvals that those superseded: given before, and good for as long as can be.
	for i := range hours {
		if !some(i) {
			continue
		}
		given := now.Add(time.Duration(i)*time.Hour - time.Second)
		for _, life := range []time.Duration{24 * time.Hour, approval.LongestWait, 2 * approval.LongestWait} {
			u := Use{Nonces: []string{nonce}, Task: ask(i), Given: given, Expires: given.Add(life)}
			if err := l.Check(u); !errors.Is(err, ErrForgotten) && !errors.Is(err, ErrSuperseded) {
				t.Errorf("%d: superseded by what was forgotten, and good for %s: %v", i, life, err)
			}
		}
	}
	if _, err := os.Stat(l.Path + ".new"); err == nil {
		t.Error("a file is left beside it")
	}
}

// TestCompactionKeeps: what has no end, and what would hardly make it smaller.
func TestCompactionKeeps(t *testing.T) {
	l := fresh(t)
	var b []byte
	for i := range 100 {
		e := entry{Time: now, Event: spent, Nonce: fmt.Sprintf("%016x", i), Task: ask(i)}
		if i%2 == 0 {
			e.Expires = now.Add(time.Hour)
		}
		b = e.appendTo(b)
	}
	if err := os.WriteFile(l.Path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	small(t, 1000)
	late := now.Add(9999 * time.Hour)
	if err := l.Spend(late, use(other, task, late)); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(l.Path)
	if !strings.HasPrefix(string(got), string(b)) {
		t.Error("a half of it was worth to write it anew")
	}
	for i := range 100 {
		if err := l.Check(Use{Nonces: []string{fmt.Sprintf("%016x", i)}, Task: ask(i), Expires: late}); !errors.Is(err, ErrSpent) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// TestCompactionAtOnce: those who wait for the file that is replaced find the new one.
func TestCompactionAtOnce(t *testing.T) {
	l := filled(t, 200)
	small(t, 1000)
	end := now.Add(200*time.Hour + 2*dropAfter)
	late := Use{Nonces: []string{other}, Task: task, Expires: end.Add(time.Hour)}
	if n := atOnce(t, func(int) error { return l.Spend(end, late) }); n != 1 {
		t.Errorf("spent %d times", n)
	}
}

// TestCompactionFails: a file that a crash left beside it does not disturb, and where
// none can be made, everything stays as it is.
func TestCompactionFails(t *testing.T) {
	l := filled(t, 200)
	small(t, 1000)
	end := now.Add(200*time.Hour + 2*dropAfter)
	if err := os.WriteFile(l.Path+".new", []byte("half a li"), 0o400); err != nil {
		t.Fatal(err)
	}
	if err := l.Spend(end, Use{Nonces: []string{other}, Task: task, Expires: end.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	l = filled(t, 200)
	if err := os.MkdirAll(l.Path+".new/in the way", 0o700); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(l.Path)
	if err := l.Spend(end, Use{Nonces: []string{other}, Task: task, Expires: end.Add(time.Hour)}); err == nil {
		t.Error("spent, and what came of the file?")
	}
	if after, _ := os.ReadFile(l.Path); string(after) != string(before) {
		t.Error("it was changed")
	}
	if list, err := filepath.Glob(l.Path + "*"); err != nil || len(list) != 2 {
		t.Error(list, err)
	}
}
