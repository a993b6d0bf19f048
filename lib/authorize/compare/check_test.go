package compare

import (
	"fmt"
	"slices"
	"testing"

	"pulse/lib/authorize/decision"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
)

// TestRecordsShow: what is claimed for a record was decided on its bytes.
func TestRecordsShow(t *testing.T) {
	n := 0
	for _, c := range widenings {
		old, new := parse(t, "old.toml", under(c.old)), parse(t, "new.toml", under(c.new))
		n += checked(t, old, new) + checked(t, new, old)
	}
	if n < 1000 {
		t.Errorf("only %d records", n)
	}
}

// checked checks all records that show a difference, and returns how many there are.
func checked(t *testing.T, old, new *policy.Policy) int {
	t.Helper()
	s, _ := searched(old, new)
	list := s.witnesses()
	for _, f := range list {
		if err := f.check(old, new); err != nil {
			t.Error(err)
		}
	}
	return len(list)
}

// parse reads a record back as the commands do.
func (c *candidate) parse(b []byte) (*candidate, error) {
	out := &candidate{session: c.session, world: c.world}
	rec, err := record.Parse(b, envelope.Member, identity.Member, request.Member)
	if err != nil {
		return nil, err
	}
	member := func(name string, fn func(record.Value) error) {
		if err == nil && rec.Has(name) {
			err = rec.Decode(name, fn)
		}
	}
	if rec.Has(envelope.Member) {
		out.message = &envelope.Message{}
		if err = out.message.Read(rec); c.message != nil {
			out.message.From = c.message.From
		}
	}
	member(request.Member, func(v record.Value) error {
		r, err := request.Decode(v)
		out.request = &r
		return err
	})
	if !c.session {
		member(identity.Member, func(v record.Value) error {
			id, err := identity.Decode(v)
			out.given = &id
			return err
		})
	}
	return out, err
}

// check fails unless the bytes of a record show what is claimed for it.
func (f *found) check(old, new *policy.Policy) error {
	back, err := f.parse(f.record)
	if err != nil {
		return fmt.Errorf("compare: %s: %w", f.what, err)
	}
	was, is := back.shows(old), back.shows(new)
	if a := f.change.act; a != nil {
		if again := a.try(a.request.Action, a.request.Target, a.seen, &was, &is); again.was == f.change.Old && again.is == f.change.New {
			return nil
		}
	} else if slices.Contains(was.Aspects(), f.change.Old) && slices.Contains(is.Aspects(), f.change.New) && was.Action == f.was.action && is.Action == f.is.action {
		return nil
	}
	return fmt.Errorf("compare: %s: its record does not show %s", f.what, f.change.String())
}

// shows returns what follows from the record that was read back.
func (c *candidate) shows(p *policy.Policy) decision.Follows {
	id := c.identity(p)
	return c.follow(p, &id)
}
