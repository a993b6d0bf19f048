package main

import (
	"errors"
	"os"
	"strings"
)

// gapText keeps the text of an owner's mail from workers.
const gapText = `[extract]
schema = "request"
require = ["owner_verified_email"]
`

// withhold appends that to the policy.
func (d *desk) withhold() error {
	b, err := os.ReadFile(d.policy)
	if err != nil {
		return err
	}
	return os.WriteFile(d.policy, append(b, gapText...), 0o600)
}

// reader prints what fits. It does not note its start, because its worker's attempts are
// counted anew after it.
var reader = []string{"run", "--extract", "--", "sh", "-c", `cat >/dev/null; echo '{"request":"other"}'`}

// reading is run --extract, on one ask, whose worker is started after that.
func reading() *scenario {
	s := &scenario{name: "run --extract"}
	s.prepare = func(d *desk, b *books) error {
		out, err := d.must(strings.Join(mails(1, 1), ""), "pulse-queue", "add")
		return errors.Join(err, b.receipts(out), d.withhold())
	}
	s.argv = func(_ *desk, bin string) []string { return append([]string{bin + "/pulse-queue"}, reader...) }
	s.next = func(d *desk, _ *books) error {
		if _, err := d.must("", "pulse-queue", reader...); err != nil {
			return err
		}
		_, err := d.must("", "pulse-queue", append([]string{"run", "--"}, d.worker(0)...)...)
		return err
	}
	s.whole = func(was, is map[string]laid) string {
		return moved(was, is, map[string][]string{ids(was)[0]: {"running", "scheduled"}})
	}
	s.late = func(listed map[string]shownTask) string { return only(listed, "completed") }
	return s
}
