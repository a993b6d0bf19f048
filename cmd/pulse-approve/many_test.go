package main

import (
	"bufio"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

// many is a no to several tasks at a terminal of 24 rows.
func (d *world) many(args ...string) *seat {
	d.t.Helper()
	p, err := cmdlinetest.SitAt(d.command("pulse-approve", args...), 24, 80)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(p.Leave)
	return &seat{d.t, p}
}

// turns turns pages until the code stands there, and returns it.
func (s *seat) turns() (code string) {
	s.t.Helper()
	for code = s.sees(`(?:` + pagePrompt + `|` + codePrompt + `)`); code == ""; code = s.sees(`(?:` + pagePrompt + `|` + codePrompt + `)`) {
		s.types("")
	}
	return code
}

// from is a proposal of another sender's.
func from(sender, line string) string { return strings.Replace(line, "me@example.com", sender, 1) }

// TestSeveralNoes: all are shown whole, and refused by one code; without it none is.
func TestSeveralNoes(t *testing.T) {
	d := newDesk(t)
	one, two, three := d.add(saying("first")), d.add(saying("second "+strings.Repeat("long ", 500)+"end")), d.add(to("c"))
	unasked := func(status int, args ...string) {
		t.Helper()
		if got, screen := d.sit(append([]string{"no", "--reason", "x"}, args...)...).Wait(); got != status || strings.Contains(string(screen), "code:") {
			t.Errorf("%v: exit %d, want %d\n%s", args, got, status, screen)
		}
	}
	unasked(1, one, strings.Repeat("0", 32))
	unasked(64)
	unasked(64, "")
	unasked(64, one, "--sender", "me@example.com")
	unasked(64, "--sender", "@not a domain")
	unasked(64, "--sender", "")
	unasked(1, "--sender", "you@example.com")
	for code, status := range map[string]int{"no": 77, "": 0} {
		s := d.many("no", one, two[:8], three, one, "--reason", "not wanted")
		s.types(code + strings.Repeat(s.turns(), 1-min(1, len(code))))
		screen := s.ends(status)
		for _, want := range []string{"shown    1 of 3", "first", "end", "shown    3 of 3", "target   c@partner.example", "type the code to refuse all 3 of these,"} {
			if !strings.Contains(screen, want) {
				t.Errorf("%s\nlacks %s", screen, want)
			}
		}
		want := map[int]string{77: "awaiting_review", 0: "rejected"}[status]
		if got := d.states(one, two, three); !slices.Equal(got, []string{want, want, want}) {
			t.Errorf("exit %d: %v", status, got)
		}
		if status == 0 {
			break
		}
	}
	unasked(1, three, one)
	d.must("", "pulse-queue", "verify")
}

// TestNoToChanged: what was answered while the code was awaited is left and named, and the
// others are refused.
func TestNoToChanged(t *testing.T) {
	d := newDesk(t)
	ids := []string{d.add(to("a")), d.add(to("b")), d.add(to("c"))}
	s := d.many("no", "--sender", "ME@example.com", "--reason", "not wanted")
	code := s.turns()
	if status, _ := d.answer(right, "yes", ids[1]); status != 0 {
		t.Fatal(status)
	}
	s.types(code)
	screen := s.ends(1)
	if !strings.Contains(screen, "task "+ids[1]+" was left as it is: ") || !strings.Contains(screen, "1 of 3 tasks are not what was shown any more") {
		t.Error(screen)
	}
	if got := d.states(ids...); !slices.Equal(got, []string{"rejected", "scheduled", "rejected"}) {
		t.Error(got)
	}
	d.must("", "pulse-queue", "verify")
}

// TestNoToSender: all of a sender, or of a domain, and nobody else's.
func TestNoToSender(t *testing.T) {
	d := newDesk(t)
	rules := rules + "allowed_external = [\"@x.example\"]\n[matrix.external_verified]\nrequire_owner_confirmation = [\"external_send\"]\n"
	d.write("policy.toml", rules)
	external := strings.Replace(proposal, "owner_verified_email", "external_verified", 1)
	ours := d.add(proposal)
	theirs := func(sender string) string { // the sender is not in the id of an effect: its text is
		return d.add(from(sender, strings.Replace(external, `"hi"`, `"`+sender+`"`, 1)))
	}
	a, b, other := theirs("a@x.example"), theirs("B@X.example"), theirs("c@sub.x.example")
	s := d.many("no", "--sender", "@x.example", "--reason", "not wanted")
	s.types(s.turns())
	s.ends(0)
	if got := d.states(ours, a, b, other); !slices.Equal(got, []string{"awaiting_review", "rejected", "rejected", "awaiting_review"}) {
		t.Error(got)
	}
}

// TestTwoHundredNoes: two hundred are refused by one code, and an add in between waits for
// none but the one that is being written.
func TestTwoHundredNoes(t *testing.T) {
	d := newDesk(t)
	var lines strings.Builder
	for i := range 200 {
		lines.WriteString(to(fmt.Sprint("t", i)))
	}
	d.must(d.must(lines.String(), "pulse-authorize"), "pulse-queue", "add")
	s := d.many("no", "--sender", "me@example.com", "--reason", "not wanted")
	if err := s.p.Answer("G"); err != nil { // without G, a page each
		t.Fatal(err)
	}
	s.types(s.turns())
	for i, began := 0, time.Now(); time.Since(began) < 10*time.Minute && !strings.Contains(d.must("", "pulse-queue", "stats", "--json"), `"rejected":200`); i++ {
		d.add(to(fmt.Sprint("later", i)))
	}
	screen := s.ends(0)
	if n := strings.Count(d.must("", "pulse-queue", "list", "--state", "rejected"), "\n"); n != 201 {
		t.Errorf("%d lines\n%.500s", n, screen)
	}
	// The lock is given back after each commit, so an add waits for one no. Which of them comes
	// next is the kernel's choice.
	if n := d.must("", "sh", "-c", `grep -h '"event":"denied"' q/audit/* | grep -vc '"more":true'`); n != "200\n" {
		t.Errorf("two hundred noes are %s commits", n)
	}
	d.must("", "pulse-queue", "verify")
}

// TestNoesInParts: a sender chooses how much there is to show. What is too much at once is
// shown and refused in parts, each with a code of its own.
func TestNoesInParts(t *testing.T) {
	d := newDesk(t)
	var ids []string
	for i := range 3 {
		ids = append(ids, d.add(saying(fmt.Sprint("task ", i, strings.Repeat(" x", 1<<18)))))
	}
	cmd := d.command("pulse-approve", append([]string{"no", "--reason", "not wanted"}, ids...)...)
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 65000, Cols: 1000}) // a part is a page
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	var ours []string
	codes := 0
	for lines := bufio.NewScanner(tty); lines.Scan(); {
		line := lines.Text()
		if !strings.HasPrefix(line, "  | ") {
			ours = append(ours, line)
		}
		if code, ok := strings.CutPrefix(line, "code: "); ok {
			codes++
			if codes == 2 {
				code = "no"
			}
			if _, err := tty.WriteString(code + "\n"); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait()
	screen := strings.Join(ours, "\n")
	for _, want := range []string{"to refuse all 2 of these,", "to refuse this,", "2 of 3 tasks were answered before that, and stay so"} {
		if !strings.Contains(screen, want) {
			t.Errorf("%s\nlacks %s", screen, want)
		}
	}
	if got := d.states(ids...); cmd.ProcessState.ExitCode() != 77 || !slices.Equal(got, []string{"rejected", "rejected", "awaiting_review"}) {
		t.Error(cmd.ProcessState, got)
	}
}

// TestWalkOfSender: a walk over one sender's tasks shows them and nobody else's, whole: no
// page of them can be passed over.
func TestWalkOfSender(t *testing.T) {
	d := newDesk(t)
	long := d.add(saying("begin " + strings.Repeat("long ", 1000) + "end"))
	other := d.add(from("you@example.com", to("other")))
	cmd := d.command("pulse-approve", "--sender", "me@example.com")
	p, err := cmdlinetest.SitAt(cmd, 24, 80)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Leave)
	s := &seat{t, p}
	s.sees(pagePrompt)
	s.types("G") // to the end, which in a walk over everything would be enough for an answer
	for s.sees(`(?:`+pagePrompt+`|(your answer .*: $))`) == "" {
		s.types("")
	}
	s.yes()
	screen := s.ends(0)
	if !strings.HasSuffix(screen, "\r\n1 approved, 0 refused, 0 left\r\n") || strings.Contains(screen, "other@") || !strings.Contains(screen, "waiting  1 of 1") {
		t.Error(screen)
	}
	if got := d.states(long, other); !slices.Equal(got, []string{"scheduled", "awaiting_review"}) {
		t.Error(got)
	}
	status, text := d.sit("--sender", "nobody@example.com").Wait()
	if status != 0 || !strings.Contains(string(text), "nothing of nobody@example.com waits for a person") {
		t.Errorf("exit %d: %s", status, text)
	}
}
