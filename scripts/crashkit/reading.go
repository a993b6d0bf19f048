package main

import "errors"

// gapText keeps the text of an owner's mail from workers.
const gapText = `[extract]
schema = "request"
require = ["owner_verified_email"]
`

// reader prints what fits. It does not note its start, because its worker's attempts are
// counted anew after it.
var reader = []string{"run", "--extract", "--", "sh", "-c", `cat >/dev/null; echo '{"request":"other"}'`}

// reading is run --extract, on one ask, whose worker is started after that.
func reading() *scenario {
	s := asking("run --extract", 0, "scheduled")
	prepare := s.prepare
	s.prepare = func(d *desk, b *books) error {
		return errors.Join(prepare(d, b), d.edit(func(text string) string { return text + gapText }))
	}
	s.argv = command(append([]string{"pulse-queue"}, reader...)...)
	s.next = func(d *desk, _ *books) error { return errors.Join(d.do(reader...), d.do(running(d.worker(0))...)) }
	s.late = func(listed map[string]shownTask) string { return only(listed, "completed") }
	return s
}
