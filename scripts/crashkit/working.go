package main

// asking is run, on one ask.
func asking(name string, exit int, end string) *scenario {
	s := &scenario{name: name}
	s.prepare = func(d *desk, b *books) error {
		_, err := d.add(b, mail(1, "allow"))
		return err
	}
	s.argv = func(d *desk) []string { return append([]string{"pulse-queue"}, running(d.worker(exit))...) }
	s.next = func(d *desk, b *books) error { return d.do(running(d.worker(exit))...) }
	s.whole = func(was, is map[string]laid) string {
		return moved(was, is, map[string][]string{ids(was)[0]: {"running", end}})
	}
	s.late = func(listed map[string]shownTask) string { return only(listed, end) }
	return s
}

// sending is run --effect, on one approved effect.
func sending(name string, exit int) *scenario {
	s := &scenario{name: name}
	run := func(d *desk) []string { return running(d.worker(exit), sends...) }
	s.prepare = approvedEffect
	s.argv = func(d *desk) []string { return append([]string{"pulse-queue"}, run(d)...) }
	s.next = func(d *desk, b *books) error { return d.do(run(d)...) }
	s.whole = func(was, is map[string]laid) string {
		return moved(was, is, map[string][]string{ids(was)[0]: {"running", "awaiting_review", "completed"}})
	}
	s.late = func(listed map[string]shownTask) string {
		if exit == 75 {
			return only(listed, "scheduled", "awaiting_review")
		}
		return only(listed, "completed", "awaiting_review")
	}
	return s
}
