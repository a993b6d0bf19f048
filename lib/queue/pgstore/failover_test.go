package pgstore_test

import (
	"testing"

	"pulse/lib/queue/pgtest"
)

// TestKilled: the primary is killed, and its standby takes its place.
func TestKilled(t *testing.T) {
	p := pgtest.NewPair(t, true)
	f := fleetOf(t)
	both := func(login string) string { return pgtest.Hosts(login, p.Primary.Dir, p.Standby.Dir) }
	f.crew(both("machine1"), both("machine2"), both("ann"))
	f.more(150, 20)
	p.Primary.Kill()
	p.Standby.Promote(t)
	f.more(150, 20)
	f.end()
	f.check(both("machine1"))
}

// crew begins two that add, four that run and one that says yes, on two machines.
func (f *fleet) crew(machine1, machine2, ann string) {
	for _, name := range []string{machine1, machine2} {
		f.member(name, add)
		f.member(name, run)
		f.member(name, run)
	}
	f.member(ann, approve)
}
