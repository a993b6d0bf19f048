package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
	"pulse/lib/shared/escape/escapetest"
)

// seat is a person who walks.
type seat struct {
	t *testing.T
	p *cmdlinetest.Person
}

// walk starts a walk at a terminal of so many rows and columns.
func (d *world) walk(rows, columns uint16, env ...string) *seat {
	d.t.Helper()
	cmd := d.command("pulse-approve")
	cmd.Env = append(cmd.Env, env...)
	p, err := cmdlinetest.SitAt(cmd, rows, columns)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(p.Leave)
	return &seat{d.t, p}
}

// The prompts.
const (
	keysPrompt   = `your answer \[y,m,n,e,r,s,b,t,a,q,\?\]: $`
	pagePrompt   = `page \d+ of \d+ \[Enter,b,G,q,\?\]: $`
	reasonPrompt = `why, in one line, for the log: $`
	codePrompt   = `\r\ncode: ([a-z0-9]{4})\r\n[^\r\n]*: $`
)

// sees waits for a pattern and returns its last group.
func (s *seat) sees(pattern string) string {
	s.t.Helper()
	m, err := s.p.Sees(pattern)
	if err != nil {
		s.t.Fatal(err)
	}
	return m[len(m)-1]
}

// types types lines, each at the next prompt.
func (s *seat) types(lines ...string) {
	s.t.Helper()
	for _, l := range lines {
		s.sees(`: $`)
		if err := s.p.Answer(l); err != nil {
			s.t.Fatal(err)
		}
	}
}

// yes answers the keys with y, or another line, and types the code.
func (s *seat) yes(lines ...string) {
	s.t.Helper()
	s.sees(keysPrompt)
	s.types(append(lines, "y")...)
	s.types(s.sees(codePrompt))
}

// ends waits for the end and returns the screen.
func (s *seat) ends(status int) string {
	s.t.Helper()
	got, screen := s.p.Wait()
	if got != status {
		s.t.Errorf("exit %d, want %d:\n%s", got, status, screen)
	}
	return string(screen)
}

// to is a proposal to another target.
func to(name string) string { return strings.Replace(proposal, "bob@", name+"@", 1) }

// saying is a proposal with another text.
func saying(text string) string {
	return strings.Replace(proposal, `"text":"hi"`, `"text":"`+text+`"`, 1)
}

func (d *world) states(ids ...string) (states []string) {
	for _, id := range ids {
		states = append(states, d.show(id).State)
	}
	return states
}

var sizes = [][2]uint16{{24, 80}, {20, 40}, {5, 40}}

// TestWalk: five tasks, the oldest first, each with an answer of its own.
func TestWalk(t *testing.T) {
	for _, size := range sizes {
		d := newDesk(t)
		var ids []string
		for _, name := range []string{"ann", "ben", "cia", "dan", "eve"} {
			ids = append(ids, d.add(to(name)))
		}
		s := d.walk(size[0], size[1])
		read := func(target string) {
			t.Helper()
			for s.sees(`(?:`+pagePrompt+`|(your answer .*: $))`) == "" {
				s.types("")
			}
			s.sees(`\r\ntarget   ` + target + `@partner.example\r\n`)
		}
		read("ann")
		s.yes("", "yes", "Y", "?")
		read("ben")
		s.types("n", "not\x1b[1m wanted")
		s.types(s.sees(codePrompt))
		read("cia")
		s.types("s")
		read("dan")
		s.types("b")
		read("dan")
		s.yes()
		read("eve")
		s.types("q")
		screen := s.ends(0)
		if !strings.HasSuffix(screen, "\r\n2 approved, 1 refused, 2 left\r\n") {
			t.Error(screen)
		}
		if got := d.states(ids...); !slices.Equal(got, []string{"scheduled", "rejected", "awaiting_review", "scheduled", "awaiting_review"}) {
			t.Error(got)
		}
		if got := d.show(ids[1]).Reason; got != `not\x1b[1m wanted` {
			t.Errorf("the reason is %q", got)
		}
		if strings.Contains(screen, "\x1b") {
			t.Errorf("%q", screen)
		}
		d.must("", "pulse-queue", "verify")
	}
}

// tenLines is the text of a mail, as JSON.
const tenLines = `one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten`

// TestTelephone: what decides about a mail of ten lines is on the first page of a telephone, and
// nothing else is.
func TestTelephone(t *testing.T) {
	d := newDesk(t)
	d.add(strings.Replace(proposal, `"args":{"text":"hi"}`, `"args":{"subject":"Friday","text":"`+tenLines+`"}`, 1))
	s := d.walk(24, 40)
	first := s.sees(`(?s)^(.*)page 1 of 3 [^\n]*: $`)
	for _, want := range []string{"proven   yes, an owner\r\n", "target   bob@partner.example\r\n", "  |   ten\r\n", "warning  its ask"} {
		if !strings.Contains(first, want) {
			t.Errorf("no %q on the first page:\n%s", want, first)
		}
	}
	if strings.Contains(first, "details") {
		t.Errorf("the first page has details:\n%s", first)
	}
	s.types("", "")
	s.sees(`details\r\ntask (?s:.*)` + keysPrompt)
	s.types("t")
	s.sees(`its ask is not in this queue(?s:.*)` + keysPrompt)
	s.types("?")
	s.sees(`proof    the level(?s:.*)` + keysPrompt)
	s.yes()
	if screen := s.ends(0); !strings.Contains(strings.Join(strings.Fields(screen), " "), "approved: the next pulse-queue run --effect external_send starts it") {
		t.Error(screen)
	}
}

// TestEnterGoesOn: after a jump to the end Enter shows what was skipped.
func TestEnterGoesOn(t *testing.T) {
	d := newDesk(t)
	d.add(saying(strings.Repeat(`0123456789\n`, 50)))
	s := d.walk(24, 80)
	s.sees(`page 1 of 4 .*: $`)
	s.types("G")
	s.sees(`pages 2 to 3 were skipped: .*; Enter shows them\r\n` + keysPrompt)
	s.types("")
	s.sees(`page 2 of 4 .*: $`)
	s.types("")
	s.sees(`page 3 of 4 .*: $`)
	s.types("")
	s.yes()
	s.ends(0)
}

func TestNothingWaits(t *testing.T) {
	d := newDesk(t)
	d.must("", "pulse-queue", "init")
	if screen := d.walk(24, 80).ends(0); screen != "nothing waits for a person\r\n" {
		t.Errorf("%q", screen)
	}
}

// TestArrivedMeanwhile: what comes during the walk comes last.
func TestArrivedMeanwhile(t *testing.T) {
	d := newDesk(t)
	d.add(to("ann"))
	d.add(to("ben"))
	s := d.walk(24, 80)
	s.sees(`(?s)waiting  1 of 2,.*ann@.*` + keysPrompt)
	d.add(to("cia"))
	s.types("s")
	s.sees(`(?s)waiting  2 of 2,.*ben@.*` + keysPrompt)
	s.types("s")
	s.sees(`(?s)waiting  3 of 3,.*cia@.*` + keysPrompt)
	s.types("s")
	if screen := s.ends(0); !strings.HasSuffix(screen, "\r\n0 approved, 0 refused, 3 left\r\n") {
		t.Error(screen)
	}
}

// TestSkippedPages: a jump to the end is no reading.
func TestSkippedPages(t *testing.T) {
	d := newDesk(t)
	id := d.add(saying(strings.Repeat(`0123456789\n`, 100)))
	s := d.walk(24, 80)
	s.sees(`page 1 of 6 .*: $`)
	s.types("y") // no key here
	s.sees(`page 1 of 6 .*: $`)
	s.types("", "b", "", "G")
	s.sees(`pages 3 to 5 were skipped: no y before they were shown; Enter shows them\r\n` + keysPrompt)
	s.types("y")
	s.sees(`pages 3 to 5 were skipped: .*\r\n` + keysPrompt)
	s.types("b", "", "", "", "", "")
	s.yes()
	s.ends(0)
	if got := d.show(id); got.State != "scheduled" {
		t.Errorf("%+v", got)
	}
	// Asked for by name, it has no prompt to answer before every page was shown.
	id = d.add(saying(strings.Repeat(`abcdefghij\n`, 100)))
	p := d.sit("yes", id)
	one := &seat{t, p}
	one.types("G")
	one.sees(`pages 2 to 5 were skipped: no answer before they were shown\r\npage 6 of 6 .*: $`)
	one.types("")
	one.sees(`page 2 of 6 .*: $`)
	one.types("", "", "", "")
	one.types(one.sees(codePrompt))
	one.ends(0)
	if got := d.show(id); got.State != "scheduled" {
		t.Errorf("%+v", got)
	}
}

// TestLongText: a text of a mebibyte is paged all the same.
func TestLongText(t *testing.T) {
	d := newDesk(t)
	d.add(saying(strings.Repeat("x", 1<<20)))
	s := d.walk(20, 40)
	s.sees(`page 1 of 1\d{3} .*: $`)
	s.types("G")
	s.sees(`\r\nagain    external_send to(?s:.*)\r\npages 2 to 1\d{3} were skipped: (?s:.*)\r\n` + keysPrompt)
	s.types("n", "too long")
	s.types(s.sees(codePrompt))
	if screen := s.ends(0); !strings.HasSuffix(screen, "\r\n0 approved, 1 refused, 0 left\r\n") {
		t.Errorf("%.2000s", screen)
	}
}

// TestWrongCode: it skips nothing and changes nothing.
func TestWrongCode(t *testing.T) {
	d := newDesk(t)
	id := d.add(proposal)
	s := d.walk(24, 80)
	s.types("y")
	first := s.sees(codePrompt)
	s.types("0000")
	s.sees(`that is not the code: nothing was changed\r\n` + keysPrompt)
	s.types("n", "")
	s.sees(`no reason, no answer: nothing was changed\r\n` + keysPrompt)
	s.types("n", "no")
	second := s.sees(codePrompt)
	s.types(first)
	s.sees(`that is not the code: nothing was changed\r\n` + keysPrompt)
	if first == second {
		t.Errorf("the code was %s twice", first)
	}
	if got := d.show(id); got.State != "awaiting_review" {
		t.Errorf("%+v", got)
	}
	s.yes()
	s.ends(0)
}

// TestWalkEnds: the end of input at any prompt changes nothing.
func TestWalkEnds(t *testing.T) {
	for name, lines := range map[string][]string{
		"at the keys": {}, "at the code": {"y"}, "at the reason": {"n"}, "at the code to a no": {"n", "no"},
	} {
		d := newDesk(t)
		id := d.add(proposal)
		s := d.walk(24, 80)
		s.types(lines...)
		s.sees(`: $`)
		if err := s.p.Type("\x04"); err != nil {
			t.Fatal(err)
		}
		screen := s.ends(77)
		if got := d.show(id); got.State != "awaiting_review" || !strings.Contains(screen, "\r\n0 approved, 0 refused, 1 left\r\n") {
			t.Errorf("%s: %+v\n%s", name, got, screen)
		}
	}
	d := newDesk(t)
	id := d.add(saying(strings.Repeat(`x\n`, 100)))
	s := d.walk(24, 80)
	s.sees(pagePrompt)
	s.p.Type("\x04")
	s.ends(77)
	s = d.walk(24, 80)
	s.types("y")
	s.sees(`: $`)
	s.p.Leave()
	s.p.Wait()
	if got := d.show(id); got.State != "awaiting_review" {
		t.Errorf("%+v", got)
	}
}

// TestBurst: of lines typed at once the first is an answer, and no other: they were
// typed before the next prompt was shown.
func TestBurst(t *testing.T) {
	d := newDesk(t)
	id := d.add(saying(strings.Repeat(`x\n`, 100)))
	s := d.walk(24, 80)
	s.sees(`page 1 of 6 .*: $`)
	if err := s.p.Type("\n\n\n\n\n\ny\nn\nq\n"); err != nil {
		t.Fatal(err)
	}
	s.sees(`page 2 of 6 .*: $`)
	s.types("G")
	s.sees(keysPrompt)
	if err := s.p.Type("n\nbecause\n\ns\nq\n"); err != nil {
		t.Fatal(err)
	}
	s.sees(reasonPrompt)
	s.types("", "q")
	s.ends(0)
	if got := d.show(id); got.State != "awaiting_review" {
		t.Errorf("%+v", got)
	}
}

// TestTwoApprovers: one wins, the other is told, and walks on.
func TestTwoApprovers(t *testing.T) {
	for name, other := range map[string][]string{
		"approved": {"yes", "%s"}, "denied": {"no", "%s", "--reason", "not now"},
	} {
		d := newDesk(t)
		id, next := d.add(to("ann")), d.add(to("ben"))
		s := d.walk(24, 80)
		s.types("y")
		code := s.sees(codePrompt)
		other[1] = id
		if status, screen := d.answer(right, other...); status != 0 {
			t.Fatal(screen)
		}
		before := d.must("", "sh", "-c", "cat q/audit/*")
		s.types(code)
		state := d.show(id).State
		s.sees(`\r\ntask ` + id[:12] + `: ` + name + ` by (?s:.*) meanwhile; it is\s+` + state + `\s+now\r\nwaiting  2 of 2`)
		if after := d.must("", "sh", "-c", "cat q/audit/*"); after != before {
			t.Errorf("%s: the log:\n%s", name, after)
		}
		s.yes()
		if screen := s.ends(0); !strings.HasSuffix(screen, "\r\n1 approved, 0 refused, 0 left\r\n") || d.show(next).State != "scheduled" {
			t.Error(screen)
		}
		// One that was answered before its turn is not shown at all.
		last := d.add(to("dan"))
		first := d.add(to("cia"))
		s = d.walk(24, 80)
		s.sees(keysPrompt)
		d.answer(right, "yes", first)
		s.types("s")
		screen := s.ends(0)
		if !strings.Contains(screen, "task "+first[:12]+": approved by ") || d.show(last).State != "awaiting_review" {
			t.Error(screen)
		}
	}
}

// TestCameBack: what was shown was approved by somebody else, started, and came
// back as effect_unknown. A yes to the screen from before is none.
func TestCameBack(t *testing.T) {
	d := newDesk(t)
	id := d.add(proposal)
	s, p := d.walk(30, 80), d.sit("yes", id)
	s.types("y")
	codes := []string{s.sees(codePrompt), d.code(p)}
	if status, screen := d.answer(right, "yes", id); status != 0 {
		t.Fatal(screen)
	}
	d.send("exit 1")
	if got := d.show(id); got.Reason != "effect_unknown" {
		t.Fatalf("%+v", got)
	}
	p.Type(codes[1] + "\n")
	if status, screen := p.Wait(); status != 77 || d.show(id).State != "awaiting_review" {
		t.Errorf("exit %d:\n%s", status, screen)
	}
	s.types(codes[0])
	s.sees(`waits again: it comes once more\r\nwaiting  2 of 2(?s:.*)caution  effect_unknown: (?s:.*)` + keysPrompt)
	s.types("q")
	s.ends(0)
	if got := d.show(id); got.State != "awaiting_review" || d.approvals() != 0 {
		t.Errorf("%+v", got)
	}
}

// TestEditedWhileWalked: the walk ends there; nobody's rule changed that file.
func TestEditedWhileWalked(t *testing.T) {
	for name, change := range map[string]func(d *world, file string){
		"edited":  func(d *world, file string) { d.write(file, strings.Replace(d.read(file), `"hi"`, `"HI"`, 1)) },
		"garbled": func(d *world, file string) { d.write(file, "{}") },
		"removed": func(d *world, file string) { d.must("", "rm", d.path(file)) },
	} {
		for _, key := range []string{"y", "n"} {
			d := newDesk(t)
			id := d.add(proposal)
			d.add(to("eve"))
			s := d.walk(24, 80)
			s.types(key)
			if key == "n" {
				s.types("why")
			}
			code := s.sees(codePrompt)
			change(d, "q/awaiting_review/"+id+".json")
			before := d.must("", "sh", "-c", "cat q/audit/*; ls q/*")
			s.types(code)
			screen := s.ends(77)
			if after := d.must("", "sh", "-c", "cat q/audit/*; ls q/*"); after != before {
				t.Errorf("%s, %s:\n%s", name, key, screen)
			}
		}
	}
}

func TestAlways(t *testing.T) {
	d := newDesk(t)
	d.add(proposal)
	log := d.must("", "sh", "-c", "cat q/audit/*")
	s := d.walk(24, 80)
	s.types("a")
	s.sees(`    \[outbound\]\r\n    allow = \["bob@partner.example"\]\r\n(?s:.*)nothing was stored(?s:.*)` + keysPrompt)
	s.types("q")
	s.ends(0)
	if after := d.must("", "sh", "-c", "cat q/audit/*"); after != log || d.read("policy.toml") != rules {
		t.Error(after)
	}
}

// TestResizedWalk: the window is made narrow between two pages: what follows fits it, nothing is left
// out, and what was shown before counts.
func TestResizedWalk(t *testing.T) {
	d := newDesk(t)
	var words []string
	for i := range 400 {
		words = append(words, fmt.Sprintf("word%d", i))
	}
	id := d.add(saying(strings.Join(words, " ")))
	s := d.walk(24, 80)
	s.sees(pagePrompt)
	if err := s.p.Resize(12, 40); err != nil {
		t.Fatal(err)
	}
	for s.sees(`(?:`+pagePrompt+`|(your answer .*: $))`) == "" {
		s.types("")
	}
	s.yes()
	screen := s.ends(0)
	_, after, _ := strings.Cut(screen, "page 1 of ")
	for line := range strings.SplitSeq(after, "\r\n") {
		if len(line) > 40 && !strings.HasPrefix(line, "type the code") {
			t.Errorf("%q", line)
		}
	}
	for _, w := range words {
		if !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(screen, "  | ", " ")), " ")+" ", w+" ") {
			t.Errorf("no %s", w)
		}
	}
	if got := d.states(id); got[0] != "scheduled" {
		t.Error(got)
	}
}

// ourSequences are all that may reach a terminal besides text and newlines.
var ourSequences = regexp.MustCompile(`\x1b\[[017]m`)

// TestHostileWalk: whatever stands in a record, and however wide the terminal is, in
// colours or not, nothing moves the cursor and only our words begin a line.
func TestHostileWalk(t *testing.T) {
	known := append(slices.Clone(frame), "your", "why,", "2", "refused,", "reason", "always", "skip")
	for i, size := range sizes[:2] {
		for j, term := range []string{"TERM=dumb", "TERM=xterm"} {
			d := newDesk(t)
			d.must("", "pulse-queue", "init")
			var attacks string
			for k, a := range escapetest.Records() {
				if k%4 == 2*i+j { // each once
					attacks += escapetest.Effect(a)
				}
			}
			d.must(attacks, "pulse-queue", "add")
			s := d.walk(size[0], size[1], term, "NO_COLOR=")
			for range strings.Count(attacks, "\n") {
				for s.sees(`(?:`+pagePrompt+`|(your answer .*: $))`) == "" {
					s.types("")
				}
				s.types("a", "s")
			}
			screen := s.ends(0)
			if coloured := ourSequences.MatchString(screen); coloured != (term == "TERM=xterm") {
				t.Errorf("%s: coloured %v", term, coloured)
			}
			for _, line := range strings.Split(ourSequences.ReplaceAllString(screen, ""), "\n") {
				line = strings.TrimSuffix(line, "\r")
				if why := escapetest.Wrong(line); why != "" {
					t.Errorf("%v %s: %s", size, term, why)
				}
				if n := columns(line); n > int(size[1]) {
					t.Errorf("%v: %d columns: %q", size, n, line)
				}
				word, _, _ := strings.Cut(line, " ")
				if word != "" && !slices.Contains(known, word) && !regexp.MustCompile(`^\d+ approved, `).MatchString(line) {
					t.Errorf("%v: %q begins a line", size, word)
				}
			}
			if n := fmt.Sprint(strings.Count(screen, "\ncode: ")); n != "0" {
				t.Errorf("%s lines that look like a code", n)
			}
		}
	}
}
