package desk_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestUserTogether: two people say yes under accounts of their own. One account twice, another approver
// whom the row does not name, and what the queue's owner writes or moves do not make the second yes.
func TestUserTogether(t *testing.T) {
	w := newThree(t)
	second := w.account(strings.Replace(w.person.name, "pulse-h", "pulse-i", 1), w.approvers)
	other := w.account(strings.Replace(w.person.name, "pulse-h", "pulse-j", 1), w.approvers)
	w.require("user", fmt.Sprintf("[[approval.row]]\naction = [\"external_send\"]\napprovers = [%q, %q]\ncount = 2\n", w.person.name, second.name))
	put := "cat >$0; chmod 640 $0"
	first := func(id string) string { return strings.TrimSuffix(w.approval(id), ".json") + ".partly" }
	says := func(a account, id string, status int, want string) {
		t.Helper()
		got, screen := w.answerBy(w.by(a, "pulse-approve", "yes", id))
		if got != status || !strings.Contains(strings.Join(strings.Fields(screen), " "), want) {
			t.Errorf("%s: exit %d, want %d and %q:\n%s", a.name, got, status, want, screen)
		}
	}
	n := 0
	partly := func() string {
		t.Helper()
		n++
		id := w.propose(fmt.Sprintf("bob%d@partner.example", n))
		says(w.person, id, 0, "is partly approved: it waits for a second person's yes, of "+second.name)
		w.holds(first(id), w.person.uid, 0o640)
		return id
	}

	id := partly()
	says(w.person, id, 77, w.person.name+" said yes already")
	says(other, id, 77, "and this is that of "+other.name)
	if out, status := w.send(); status != 0 || w.sent() > 0 || w.show(id).State != "awaiting_review" {
		t.Errorf("one yes: exit %d: %s, %+v", status, out, w.show(id))
	}
	says(second, id, 0, "approved: the next pulse-queue run --effect external_send starts it")
	w.holds(w.approval(id), second.uid, 0o640)
	if out, status := w.send(); status != 0 || w.sent() != 1 {
		t.Errorf("two yeses: exit %d: %s, sent %d", status, out, w.sent())
	}

	for what, forge := range map[string]func(id string){
		"the first once more": func(id string) {
			text, err := os.ReadFile(first(id))
			w.do(err)
			w.forge(id)
			w.mustBy(w.intake, string(text), "/bin/sh", "-c", put, w.approval(id))
		},
		"the first in the place of the last": func(id string) {
			w.forge(id)
			w.mustBy(w.intake, "", "/bin/mv", first(id), w.approval(id))
		},
		"in the name of the second": func(id string) {
			text, err := os.ReadFile(first(id))
			w.do(err)
			w.forge(id)
			w.mustBy(w.intake, strings.ReplaceAll(string(text), w.person.name, second.name), "/bin/sh", "-c", put, w.approval(id))
		},
		"the second's yes to something else": func(id string) {
			real := partly()
			says(second, real, 0, "approved: ")
			w.forge(id)
			w.mustBy(w.intake, "", "/bin/cp", "-p", w.approval(real), w.approval(id))
			w.mustBy(w.intake, "", "pulse-queue", "cancel", real)
		},
	} {
		if testing.Short() && what != "the first once more" {
			continue
		}
		id := partly()
		forge(id)
		w.parks(what, id)
	}
}
