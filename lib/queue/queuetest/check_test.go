package queuetest

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// kill is what a command is killed with.
type kill struct{}

// memory is Memory as a medium: a step is a line that is carried out.
type memory struct {
	*Memory
	naive func(*Memory) store.Store // a store that breaks a promise; nil: none
	steps *int
}

func medium(naive func(*Memory) store.Store) memory {
	return memory{Memory: NewMemory(), naive: naive, steps: new(int)}
}

func (m memory) Run(op *Operation, now time.Time, _ *rand.Rand) (err error) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(kill); !ok {
				panic(r)
			}
			err = ErrKilled
		}
	}()
	var s store.Store = m.Memory
	if m.naive != nil {
		s = m.naive(m.Memory)
	}
	return op.Do(s, now)
}

func (m memory) Clone() Medium {
	c := memory{Memory: &Memory{kept: m.Memory.clone()}, naive: m.naive, steps: new(int)}
	c.Interrupt(0, "")
	return c
}

func (m memory) Interrupt(step int, how string) {
	*m.steps = 0
	m.Fail = func(name string) error {
		if name == "" || name[0] >= 'A' && name[0] <= 'Z' { // not an event: nothing is changed
			return nil
		}
		if *m.steps++; *m.steps != step || how == "" {
			return nil
		}
		if strings.HasPrefix(how, "killed") {
			panic(kill{})
		}
		return errors.New(how)
	}
}

func (m memory) Steps() int          { return *m.steps }
func (m memory) PowerCut(*rand.Rand) {}
func (m memory) Sound() error        { return nil }
func (m memory) Sum(bool) string     { return "" }

func TestLifeInMemory(t *testing.T) {
	w, err := NewWorld(medium(nil))
	if err != nil {
		t.Fatal(err)
	}
	cases, err := Everywhere(w, Life, Sample{Stride: 1, Seeds: 1})
	if err != nil || cases < 300 {
		t.Errorf("%d cases, %v", cases, err)
	}
	for seed := range uint64(50) {
		if err := Randomly(w, rand.New(rand.NewPCG(seed, 1))); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func TestStorm(t *testing.T) {
	m := NewMemory()
	if err := Storm(func() (store.Store, error) { return m, nil }, 8, 20); err != nil {
		t.Error(err)
	}
}

// inPlace changes the store line by line, so that half of a commit may stay.
type inPlace struct{ *Memory }

func (s inPlace) Update(fn func(store.View) (*store.Commit, error)) error {
	c, err := fn(view{s.Memory})
	for i := range c.Lines {
		if err == nil {
			if err = s.fail(string(c.Lines[i].Event)); err == nil {
				err = s.carryOut(&c.Lines[i], c.Blobs)
			}
		}
	}
	return err
}

// hasty takes no lock between what it reads and what it writes.
type hasty struct{ *Memory }

func (s hasty) Update(fn func(store.View) (*store.Commit, error)) error {
	s.mu.Lock()
	before := &Memory{kept: s.clone()}
	s.mu.Unlock()
	runtime.Gosched() // a command that takes its time
	c, err := fn(view{before})
	if err != nil {
		return err
	}
	return s.Memory.Update(func(store.View) (*store.Commit, error) { return c, nil })
}

// dropping forgets some changes, or does more than it should.
type dropping struct {
	*Memory
	drop func(*audit.Line, *store.Commit)
}

func (s dropping) Update(fn func(store.View) (*store.Commit, error)) error {
	return s.Memory.Update(func(v store.View) (*store.Commit, error) {
		c, err := fn(v)
		if err == nil {
			for i := range c.Lines {
				s.drop(&c.Lines[i], c)
			}
		}
		return c, err
	})
}

// TestNaiveStores is the control: a store that breaks a promise must be caught.
func TestNaiveStores(t *testing.T) {
	t.Run("in place", func(t *testing.T) {
		w, err := NewWorld(medium(func(m *Memory) store.Store { return inPlace{m} }))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = Everywhere(w, Life, Sample{Stride: 1, Seeds: 1}); err == nil || !strings.Contains(err.Error(), "neither before nor after") {
			t.Error(err)
		}
	})
	t.Run("acknowledges and forgets", func(t *testing.T) {
		var lost atomic.Int64
		w, err := NewWorld(medium(func(m *Memory) store.Store {
			return dropping{m, func(l *audit.Line, c *store.Commit) {
				if l.Event == task.Approved && lost.Add(1) > 3 {
					c.Lines, c.Blobs = nil, nil
				}
			}}
		}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = Everywhere(w, Life, Sample{Stride: 1, Seeds: 1}); err == nil {
			t.Error("nothing was found")
		}
	})
	for name, drop := range map[string]func(*audit.Line, *store.Commit){
		"loses what a worker printed": func(l *audit.Line, _ *store.Commit) {
			if l.Event == task.Finished {
				l.Result = ""
			}
		},
		"keeps a yes that was denied": func(l *audit.Line, _ *store.Commit) {
			if l.Event == task.Undecided {
				l.Approval = &approval.Approval{Task: l.Task}
			}
		},
		"loses a position":         func(l *audit.Line, _ *store.Commit) { l.Positions = nil },
		"forgets what is answered": func(l *audit.Line, _ *store.Commit) { l.Link = task.Link{} },
		"keeps what has a receipt": func(l *audit.Line, _ *store.Commit) { l.Parent = "" },
		"keeps nothing that was refused": func(l *audit.Line, _ *store.Commit) {
			if l.Event == task.Refused {
				l.Digest = ""
			}
		},
		"keeps what was refused for ever": func(l *audit.Line, _ *store.Commit) {
			if l.Event == audit.Forgotten {
				l.Event = audit.Read
			}
		},
		"forgets a hold": func(l *audit.Line, _ *store.Commit) {
			if l.Event == audit.Held {
				l.Event = audit.Released
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := Same(dropping{NewMemory(), drop}, Life); err == nil {
				t.Error("nothing was found")
			}
		})
	}
	t.Run("hasty", func(t *testing.T) {
		m := NewMemory()
		s := hasty{m}
		if err := Storm(func() (store.Store, error) { return s, nil }, 8, 50); err == nil {
			t.Error("nothing was found")
		}
	})
}
