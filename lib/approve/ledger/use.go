package ledger

import (
	"fmt"
	"slices"
	"time"
)

// Use is a use to be spent: it takes one of its nonces.
type Use struct {
	Nonces  []string
	Task    string    // empty: none
	Given   time.Time // if not zero, a start of the task after that with another nonce supersedes the use
	Expires time.Time // from then on the use would not be accepted anyway
	Again   int       // how often the task may spend its nonce again without a Return
}

func (u *Use) task() string {
	if u.Task == "" {
		return none
	}
	return u.Task
}

// state is what the entries say, in a form for look-ups.
type state struct {
	floor  time.Time // entries about what expired by then were left out
	nonces map[string]holding
	starts map[string][]*entry // by task
}

// holding says which task has spent a nonce, and how often.
type holding struct {
	task  string
	times int
}

func (list entries) state() *state {
	st := &state{nonces: make(map[string]holding, len(list)), starts: map[string][]*entry{}}
	for i := range list {
		st.add(&list[i])
	}
	return st
}

func (st *state) add(e *entry) {
	h := st.nonces[e.Nonce]
	switch e.Event {
	case dropped:
		if e.Expires.After(st.floor) {
			st.floor = e.Expires
		}
		return
	case spent:
		h = holding{e.Task, h.times + 1}
		st.starts[e.Task] = append(st.starts[e.Task], e)
	case returned:
		h = holding{e.Task, max(0, h.times-1)}
	}
	st.nonces[e.Nonce] = h
}

// superseded returns an error if a use comes too late, because its task was started since
// with another nonce than those of the uses that are made together. Times are compared in whole
// seconds, so a start within the same second does not count.
func (st *state) superseded(u *Use, nonces []string) error {
	if u.Given.IsZero() {
		return nil
	}
	for _, e := range st.starts[u.task()] {
		if !slices.Contains(nonces, e.Nonce) && u.Given.Truncate(time.Second).Before(e.Time) {
			return fmt.Errorf("%w, at %s", ErrSuperseded, e.Time.Format(time.RFC3339))
		}
	}
	return nil
}

// spend returns the nonce that a use may spend, or why there is none.
func (st *state) spend(u *Use, nonces []string) (nonce string, err error) {
	if err := st.superseded(u, nonces); err != nil {
		return "", err
	}
	if !st.floor.IsZero() && !u.Expires.After(st.floor) {
		return "", ErrForgotten
	}
	for _, n := range u.Nonces {
		switch h, known := st.nonces[n]; {
		case known && h.task == u.task() && h.times <= u.Again:
			return n, nil
		case known && h.task == u.task():
			return "", ErrSpent
		case !known && nonce == "":
			nonce = n
		}
	}
	if nonce == "" {
		return "", ErrSpent
	}
	return nonce, nil
}

// spent returns the entries that spend uses.
func (st *state) spent(uses []Use, now time.Time) (list []entry, err error) {
	var nonces []string
	for i := range uses {
		nonces = append(nonces, uses[i].Nonces...)
	}
	for i := range uses {
		n, err := st.spend(&uses[i], nonces)
		if err != nil {
			return nil, err
		}
		e := &entry{now, spent, n, uses[i].task(), uses[i].Expires}
		st.add(e) // so that two uses can't spend the same nonce
		list = append(list, *e)
	}
	return list, nil
}

// returned returns the entries that give uses back.
func (st *state) returned(uses []Use, now time.Time) (list []entry, err error) {
	for i := range uses {
		if n := st.spentBy(&uses[i]); n != "" {
			list = append(list, entry{now, returned, n, uses[i].task(), uses[i].Expires})
		}
	}
	return list, nil
}

// spentBy returns the nonce of a use that its task has spent; empty: none.
func (st *state) spentBy(u *Use) string {
	for _, n := range u.Nonces {
		if h := st.nonces[n]; h.times > 0 && h.task == u.task() {
			return n
		}
	}
	return ""
}
