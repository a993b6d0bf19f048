package main

import (
	"strings"
	"testing"
	"time"

	"pulse/lib/queue/queuetest"
	"pulse/lib/shared/terms"
)

// TestUnreadForHours: health tells of asks that wait for a reader, and of what does not fit
// twice a person is told, with the place and without a word of it.
func TestUnreadForHours(t *testing.T) {
	a := newAged(t)
	a.write("policy.toml", "owners = [\"me@example.com\"]\n[extract]\nschema = \"request\"\nrequire = [\"owner_verified_email\"]\n", 0o600)
	a.ago(3*time.Hour, queuetest.Add(queuetest.Mail(1, terms.Allow)))
	found := a.now("pulse-queue health --max silent=0 || true")
	if !strings.Contains(found, " has waited for a reader for 3h, and no worker starts before that; pulse-queue show ") ||
		!strings.Contains(found, "or if nothing reads: READER in /etc/pulse/environment (") || strings.Contains(found, "overdue") {
		t.Error(found)
	}
	a.ago(2*time.Hour, queuetest.StartReader, queuetest.FinishReader(0, queuetest.Prose))
	said := a.now("pulse-queue run --notify " + a.path("tell") + ` --extract -- echo '{"request":"canary"}'`)
	if !strings.Contains(said, "its reader made no extract (extract_unfit): it awaits a person: what the reader printed does not fit the schema: ") ||
		strings.Contains(said, "canary") {
		t.Error(said)
	}
	if heard := a.heard(); len(heard) != 1 || !strings.Contains(heard[0], `"count":1`) {
		t.Errorf("%q", heard)
	}
	id := strings.TrimSpace(a.now("pulse-queue list --json | jq -r .task.id"))
	story := a.now("pulse-queue show " + id)
	for _, want := range []string{
		"awaiting_review since", "(extract_unfit)", "result\n  | {\"request\":\"canary\"}", "a yes hands the whole text to the worker",
		"parked -> awaiting_review (extract_unfit), queue_for_review by extract.require",
	} {
		if !strings.Contains(story, want) {
			t.Errorf("%q is missing in\n%s", want, story)
		}
	}
	if why := a.now("pulse-queue log --why"); !strings.Contains(why, "extract_unfit") {
		t.Error(why)
	}
	if found := a.now("pulse-queue digest"); !strings.Contains(found, id) {
		t.Error(found)
	}
}

// TestKilledInside: of a worker that was killed inside a shell or a box, not all is heard.
func TestKilledInside(t *testing.T) {
	a := newAged(t)
	a.write("policy.toml", "owners = [\"me@example.com\"]\n", 0o600)
	for _, status := range []int{1, 75, 128, 137, 143} {
		a.ago(time.Hour, queuetest.Add(queuetest.Mail(status, terms.Allow)))
	}
	a.now("pulse-queue run --proposals -- sh -c 'exit $(jq -r .message.id | tr -dc 0-9)'")
	got := a.now("pulse-queue list --json | jq -c '[.message.uid, .identity.labels]'")
	const want = `[1,null]
[75,null]
[128,null]
[137,["private","untrusted"]]
[143,["private","untrusted"]]
`
	if got != want {
		t.Error(got)
	}
}
