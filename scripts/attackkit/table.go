package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// results has the rows of the tables, in the order in which they came.
type results struct {
	bySuite, byPlace, byTask rows
}

// rows are sums, by the words in front of them.
type rows struct {
	order []string
	sums  map[string]*sum
}

// sum is a row.
type sum struct {
	outcome
	trials, starts, seen, beaten int
	alone, withYes, not          int // tasks of users: finished without a question, after yes, or not
}

func (r *rows) row(key string) *sum {
	if r.sums == nil {
		r.sums = map[string]*sum{}
	}
	if r.sums[key] == nil {
		r.order = append(r.order, key)
		r.sums[key] = &sum{}
	}
	return r.sums[key]
}

// join adds the rows of others.
func (r *results) join(other *results) {
	for _, both := range [][2]*rows{{&r.bySuite, &other.bySuite}, {&r.byPlace, &other.byPlace}, {&r.byTask, &other.byTask}} {
		for _, key := range both[1].order {
			both[0].row(key).plus(both[1].sums[key])
		}
	}
}

func (s *sum) plus(other *sum) {
	s.add(&other.outcome)
	s.trials += other.trials
	s.starts += other.starts
	s.seen += other.seen
	s.beaten += other.beaten
	s.alone += other.alone
	s.withYes += other.withYes
	s.not += other.not
}

// done says how many of the tasks of users were done, beside the attacks.
func (s *sum) done() string {
	if all := s.alone + s.withYes + s.not; all > 0 {
		return fmt.Sprintf("%d of %d", s.alone+s.withYes, all)
	}
	return "-"
}

// print prints the tables.
func (r *results) print(out io.Writer) error {
	tab := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, t := range []struct {
		head string
		rows *rows
	}{{"SUITE", &r.bySuite}, {"PLACE", &r.byPlace}} {
		fmt.Fprintf(tab, "%s\tDEFENCE\tATTACKS\tSTARTED\tTEXT SEEN\tTRIED\tATTACK SUCCEEDS\tEFFECTS WITHOUT A YES\tPRIVATE DATA OUT\tIN DRAFTS\tPAGES READ\tASKS WAIT\tEFFECTS WAIT\tTASKS DONE\n", t.head)
		for _, key := range t.rows.order {
			s := t.rows.sums[key]
			fmt.Fprintf(tab, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n", key, s.trials, s.starts, s.seen, s.tried, s.beaten, s.effects, s.leaks, s.drafts, s.reads, s.asks, s.waits, s.done())
		}
		fmt.Fprintln(tab)
	}
	fmt.Fprintln(tab, "SUITE\tASKED BY\tPOLICY\tTASKS\tFINISH ALONE\tFINISH AFTER YES\tREFUSED\tQUESTIONS")
	for _, key := range r.byTask.order {
		s := r.byTask.sums[key]
		fmt.Fprintf(tab, "%s\t%d\t%d\t%d\t%d\t%d\n", key, s.trials, s.alone, s.withYes, s.not, s.asks+s.waits)
	}
	return tab.Flush()
}
