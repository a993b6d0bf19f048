package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/clock"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/spool"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/cmdline/cmdlinetest"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// aged is a queue whose tasks came long ago, and the commands that meet it now.
type aged struct {
	*testing.T
	dir, bin string
}

func newAged(t *testing.T) *aged {
	t.Helper()
	a := &aged{t, t.TempDir(), t.TempDir()}
	if err := cmdlinetest.Build(a.bin, "pulse-queue", "pulse-approve", "pulse-authorize"); err != nil {
		t.Fatal(err)
	}
	if err := spool.Create(a.path("q"), spool.Options{}); err != nil {
		t.Fatal(err)
	}
	a.write("policy.toml", "owners = [\"me@example.com\"]\nallowed_external = [\"friend@partner.example\"]\n", 0o600)
	a.write("tell", "#!/bin/sh\ncat >>"+a.path("heard")+"\n", 0o700)
	return a
}

func (a *aged) path(name string) string { return filepath.Join(a.dir, name) }

func (a *aged) write(name, text string, mode os.FileMode) {
	a.Helper()
	if err := os.WriteFile(a.path(name), []byte(text), mode); err != nil {
		a.Fatal(err)
	}
}

// ago does what a command did so long ago.
func (a *aged) ago(d time.Duration, ops ...queuetest.Operation) {
	a.Helper()
	s, err := spool.Open(a.path("q"))
	if err != nil {
		a.Fatal(err)
	}
	defer s.Close()
	for _, op := range ops {
		if err := op.Do(s, time.Now().Add(-d)); err != nil {
			a.Fatal(op.Name, err)
		}
	}
}

// now runs a line of shell, which has to end well, and returns what it printed.
func (a *aged) now(line string) string {
	a.Helper()
	cmd := exec.Command("/bin/sh", "-c", line)
	cmd.Env = append(os.Environ(), "PULSE_QUEUE="+a.path("q"), "PULSE_POLICY="+a.path("policy.toml"),
		"PATH="+a.bin+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		a.Errorf("%s: %v: %s", line, err, out)
	}
	return string(out)
}

// events returns the events of the tasks that the log has.
func (a *aged) events(of task.Event) []string {
	a.Helper()
	return strings.Fields(a.now("pulse-queue log --json --event " + string(of) + " | jq -r .task"))
}

func (a *aged) heard() (all []string) {
	a.Helper()
	b, err := os.ReadFile(a.path("heard"))
	if err != nil && !os.IsNotExist(err) {
		a.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

// TestNobodyRanForWeeks: what waited all that time is told of first, by the log, the
// notice, show and the sheet, and only what nobody answers then expires.
func TestNobodyRanForWeeks(t *testing.T) {
	a := newAged(t)
	a.ago(20*24*time.Hour, queuetest.Add(queuetest.Mail(1, terms.Review)))
	a.ago(time.Hour, queuetest.Add(queuetest.Mail(2, terms.Review)))
	old := strings.Fields(a.now("pulse-queue list --json --older-than 1d | jq -r .task.id"))
	if len(old) != 1 {
		t.Fatal(old)
	}
	if text := a.now("pulse-queue show " + old[0]); !strings.Contains(text, "rejected some time after a run has told of it once more:") {
		t.Errorf("%s", text)
	}
	for range 3 {
		if said := a.now("pulse-queue run --notify " + a.path("tell") + " -- true"); said != "" {
			t.Error(said)
		}
	}
	if got := a.events(audit.Resurfaced); len(got) != 1 || got[0] != old[0] {
		t.Errorf("told of %s", got)
	}
	if got := a.events(task.Expired); len(got) != 0 {
		t.Errorf("expired: %s", got)
	}
	var notice struct {
		Count      int
		IDs, Again []string
	}
	heard := a.heard()
	if err := json.Unmarshal([]byte(heard[0]), &notice); err != nil || len(heard) != 1 || notice.Count != 1 || notice.IDs[0] != old[0] || notice.Again[0] != old[0] {
		t.Errorf("%q", heard)
	}
	var is struct{ Since, Told time.Time }
	a.member(old[0], &is)
	if time.Since(is.Told) > time.Hour || time.Since(is.Since) < 19*24*time.Hour {
		t.Errorf("%+v", is)
	}
	told := "\ntold     once more at " + is.Told.UTC().Format(time.RFC3339)
	if text := a.now("pulse-queue show " + old[0]); !strings.Contains(text, told) || !strings.Contains(text, "resurfaced") {
		t.Errorf("%s", text)
	}
	if table := a.now("pulse-queue log --event resurfaced"); !strings.Contains(table, "resurfaced") || !strings.Contains(table, "awaiting_review ") || strings.Contains(table, "->") {
		t.Errorf("%s", table)
	}
	a.now("pulse-queue verify")
	// The time for an answer passes: a tenth of what lies between the two limits.
	a.ago(-27*time.Hour, expire(&policy.Default().Limits))
	if got := a.events(task.Expired); len(got) != 1 || got[0] != old[0] {
		t.Errorf("expired: %s", got)
	}
	a.now("pulse-queue verify")
}

func (a *aged) member(id string, dst any) {
	a.Helper()
	text := a.now("pulse-queue show --json " + id + " | jq -c .task")
	if err := json.Unmarshal([]byte(text), dst); err != nil {
		a.Fatal(err, text)
	}
}

func expire(limits *policy.Limits) queuetest.Operation {
	return queuetest.Update("expire", func(tx *queue.Tx, now time.Time) error {
		_, err := queue.Expire(tx, limits, now)
		return err
	})
}

// TestAddTells: add tells of what waits if it knows a policy, also with nothing to add.
func TestAddTells(t *testing.T) {
	a := newAged(t)
	a.ago(80*time.Hour, queuetest.Add(queuetest.Mail(1, terms.Review)))
	a.ago(61*time.Minute, queuetest.Brake(audit.Released)) // after days without a line, the clock is believed an hour later
	a.now("PULSE_POLICY= pulse-queue add </dev/null")
	if got := a.events(audit.Resurfaced); len(got) != 0 {
		t.Errorf("told of %s without a policy", got)
	}
	a.now("pulse-queue add --notify " + a.path("tell") + " </dev/null")
	if got := a.events(audit.Resurfaced); len(got) != 1 || len(a.heard()) != 1 {
		t.Errorf("told of %s, heard %q", got, a.heard())
	}
	a.now("pulse-queue verify")
}

// TestToldOnceADay: what still is wrong is told again when a person was told of it a day ago, and
// then not for a day; what a stage noted is told, too, and ends when the stage or a person says so.
func TestToldOnceADay(t *testing.T) {
	a := newAged(t)
	const health = "pulse-queue health --accept clock_jumped || [ $? = 1 ]" // the clock is set back below
	a.ago(50*time.Hour, queuetest.Find(audit.FindingOpened, "login"))
	a.ago(20*time.Hour, queuetest.Find(audit.FindingTold, "login"), queuetest.Find(audit.FindingOpened, "unreachable"))
	if said := a.now(health); said != "" {
		t.Errorf("told 20 hours ago: %s", said)
	}
	a.ago(25*time.Hour, queuetest.Find(audit.FindingTold, "login"))
	said := a.now(health)
	if strings.Count(said, "\n") != 2 || !strings.Contains(said, "login: it is away; pulse-queue finding close login imaps://") {
		t.Errorf("told 25 hours ago, and the other 20: %s", said)
	}
	if said := a.now(health + "; " + health); said != "" {
		t.Errorf("told just now: %s", said)
	}
	a.now("pulse-queue verify")
}

// TestNoLineForDays: health tells that nothing ran, or that the clock jumped, until a person vouches
// for the clock.
func TestNoLineForDays(t *testing.T) {
	a := newAged(t)
	const health = "pulse-queue health --all --accept not_separated,refused || [ $? = 1 ]"
	a.ago(15*24*time.Hour, queuetest.Add(queuetest.Mail(1, terms.Allow)))
	a.ago(3*24*time.Hour, queuetest.Start(""), queuetest.Finish(queue.End{}))
	if said := a.now(health); strings.Count(said, "\n") != 1 || !strings.Contains(said, "clock_jumped: the log has no line for 12d, until ") {
		t.Errorf("twelve days without a line: %s", said)
	}
	if said := a.now("pulse-queue health --all --accept silent,not_separated,refused"); said != "" {
		t.Errorf("silence is accepted: %s", said)
	}
	if page := a.now("pulse-queue digest --accept not_separated,refused"); !strings.Contains(page, "clock_jumped") {
		t.Errorf("digest: %s", page)
	}
	a.ago(0, queuetest.Confirm)
	if said := a.now(health); strings.Contains(said, "clock_jumped") {
		t.Errorf("a person vouches for it: %s", said)
	}
	a.now("pulse-queue verify")
}

// TestDoubtful: a person is asked of a clock that is not believed, or that health tells of.
func TestDoubtful(t *testing.T) {
	at := func(ago time.Duration) time.Time { return time.Now().Add(-ago) }
	const d = 24 * time.Hour
	for want, list := range map[bool][]clock.Jump{
		true:  {{From: at(9 * d), To: at(time.Minute)}, {From: at(9 * d), To: at(5 * d)}, {From: at(0), To: at(time.Minute)}},
		false: {{}, {From: at(19 * d), To: at(8 * d)}, {From: at(9 * d), To: at(5 * d), By: "me"}, {From: at(0), To: at(2 * d)}},
	} {
		for _, j := range list {
			c := clock.Clock{Now: at(0), Jump: j}
			if c.Confirmed = j.To.IsZero() || j.By != "" || c.Now.Sub(j.To) >= clock.Confirming; doubtful(&c) != want {
				t.Errorf("%+v: %v", j, !want)
			}
		}
	}
}

// TestClockJumped: one tick with a clock that is years off is told for seven days, with what was
// done in it; nothing is pruned until the clock is believed; and no month's file is begun by it.
func TestClockJumped(t *testing.T) {
	a := newAged(t)
	const health = "pulse-queue health --all --accept not_separated,silent,refused || [ $? = 1 ]"
	a.ago(6*24*time.Hour, queuetest.Add(queuetest.Mail(1, terms.Allow)), queuetest.Start(""), queuetest.Finish(queue.End{}))
	a.ago(3*24*time.Hour, queuetest.Brake(audit.Released))
	a.ago(-3650*24*time.Hour, queuetest.Add(queuetest.Mail(2, terms.Review)), queuetest.Add(queuetest.Mail(3, terms.Review)))
	a.ago(0, queuetest.Brake(audit.Released))
	said := a.now(health)
	if !strings.Contains(said, "clock_jumped: the clock jumped 3653d ahead, from ") || !strings.Contains(said, ", and then to ") ||
		!strings.Contains(said, "before it was believed, 2 added; ") || strings.Count(said, "clock_jumped: ") != 1 {
		t.Error(said)
	}
	for _, name := range strings.Fields(a.now("pulse-queue verify >/dev/null; ls $PULSE_QUEUE/audit")) {
		if name > time.Now().UTC().Format("2006-01.jsonl") {
			t.Errorf("a month that has not begun has a file: %s", name)
		}
	}
	pruned := "pulse-queue prune --older-than 5d; echo $?"
	if said := a.now(pruned); said != "75\n" {
		t.Errorf("pruned by a clock that is not believed: %s", said)
	}
	a.ago(0, queuetest.Confirm)
	if said := a.now(pruned + "; pulse-queue verify >/dev/null"); said != "0\n" {
		t.Error(said)
	}
	if got := a.events(task.Pruned); len(got) != 1 {
		t.Errorf("pruned %s", got)
	}
}
