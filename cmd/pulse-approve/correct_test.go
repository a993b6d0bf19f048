package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

// corrects starts pulse-approve at a terminal, with a shell script for an editor; $1 is the file.
func (d *world) corrects(script string, rows, columns uint16, args ...string) *seat {
	d.t.Helper()
	d.write("editor", "#!/bin/sh\n"+script+"\n")
	if err := os.Chmod(d.path("editor"), 0o700); err != nil {
		d.t.Fatal(err)
	}
	cmd := d.command("pulse-approve", args...)
	cmd.Env = append(cmd.Env, "VISUAL="+d.path("editor"))
	p, err := cmdlinetest.SitAt(cmd, rows, columns)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(p.Leave)
	return &seat{d.t, p}
}

// pages turns pages until a prompt for a code, and returns that.
func (s *seat) pages() string {
	s.t.Helper()
	for {
		if code := s.sees(`(?:` + pagePrompt + `|` + codePrompt + `)`); code != "" {
			return code
		}
		s.types("")
	}
}

// letter is a proposal as a worker makes it of a mail.
var letter = strings.Replace(proposal, `"target":"bob@partner.example","tool":"","args":{"text":"hi"}`, `"target":["bob@partner.example"],"args":{"subject":"Friday","text":"We meet on Friday.\nBring the figures.","count":3}`, 1)

// of returns the id of the effect that took the place of another one.
func (d *world) of(id string) string {
	d.t.Helper()
	as, ok := strings.CutPrefix(d.show(id).Reason, "corrected as ")
	if !ok {
		d.t.Fatalf("%+v", d.show(id))
	}
	return as
}

// TestCorrect: a person changes subject and text, sees what that changes, and says yes to that: by
// the command, and in a walk that is not confined, on a telephone, too.
func TestCorrect(t *testing.T) {
	for _, walk := range []bool{false, true} {
		d := newDesk(t)
		id, other := d.add(letter), d.add(to("eve"))
		script := `env >` + d.path("env") + `; ls -l /proc/self/fd >` + d.path("fds") + `; stat -c %a "$1" . >` + d.path("modes") +
			`; cp "$1" ` + d.path("form") + `; sed -i 's/Friday/Monday/' "$1"`
		args := []string{"correct", id}
		if walk {
			args = []string{"--sandbox", "off"}
		}
		s := d.corrects(script, 24, 40, args...)
		if walk {
			for s.sees(`(?:`+pagePrompt+`|(your answer .*: $))`) == "" {
				s.types("")
			}
			s.types("e")
		}
		code := s.pages()
		s.types(code)
		if walk {
			for s.sees(`(?:`+pagePrompt+`|(your answer .*: $))`) == "" {
				s.types("")
			}
			s.types("q")
		}
		screen := s.ends(0)
		for _, want := range []string{"  | -args.subject: Friday\r\n  | +args.subject: Monday\r\n  | -We meet on Friday.\r\n  | +We meet on Monday.\r\n", "corrects task " + id[:20]} {
			if !strings.Contains(screen, want) {
				t.Errorf("no %q in\n%s", want, screen)
			}
		}
		as := d.of(id)
		if got := d.states(id, other, as); !slices.Equal(got, []string{"rejected", "awaiting_review", "scheduled"}) {
			t.Error(got)
		}
		record := d.must("", "pulse-queue", "show", as, "--json")
		for _, want := range []string{`"subject":"Monday","text":"We meet on Monday.\nBring the figures.","count":3`, `"target":["bob@partner.example"]`} {
			if !strings.Contains(record, want) {
				t.Errorf("no %s in %s", want, record)
			}
		}
		if got := d.read("form"); got != "target: bob@partner.example\nargs.subject: Friday\nargs.count: 3\n\nWe meet on Friday.\nBring the figures.\n" {
			t.Errorf("%q", got)
		}
		if strings.Contains(d.read("env"), "PULSE") || strings.Contains(d.read("fds"), "/q/") || d.read("modes") != "600\n700\n" {
			t.Errorf("%s\n%s\n%s", d.read("env"), d.read("fds"), d.read("modes"))
		}
		d.must("", "pulse-queue", "verify")
		d.send("cat")
		if got := d.show(as); got.State != "completed" {
			t.Errorf("%+v", got)
		}
	}
}

// TestCorrectNot: whatever an editor leaves that is no correction changes nothing.
func TestCorrectNot(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"fails":           {"exit 1", "the editor left no text"},
		"unchanged":       {":", "nothing was changed"},
		"touched":         {`printf '\n' >>"$1"; sed -i '$d' "$1"`, "nothing was changed"},
		"removes it":      {`rm "$1"`, "the editor left no text"},
		"a link":          {`cp "$1" x; ln -sf x "$1"`, "the editor left no text"},
		"a FIFO":          {`rm "$1"; mkfifo "$1"`, "not a regular file"},
		"a directory":     {`rm "$1"; mkdir "$1"`, "not a regular file"},
		"huge":            {`head -c 300000 /dev/zero | tr '\0' x >>"$1"`, "longer than"},
		"no UTF-8":        {`printf '\377' >>"$1"`, "UTF-8"},
		"empty":           {`: >"$1"`, "is gone"},
		"a target more":   {`sed -i '1s/^/target: eve@evil.example\n/' "$1"`, "outbound.allow does not list eve@evil.example"},
		"another target":  {`sed -i '1s/bob/eve/' "$1"`, "outbound.allow does not list eve@partner.example"},
		"no target":       {`sed -i 1d "$1"`, "no target any more"},
		"two in a line":   {`sed -i '1s/$/, eve@evil.example/' "$1"`, "bad_target"},
		"another member":  {`sed -i '1s/^/args.bcc: eve@evil.example\n/' "$1"`, "was not there before"},
		"a member twice":  {`sed -i '1s/^/args.count: 4\n/' "$1"`, "is there twice"},
		"another type":    {`sed -i 's/count: 3/count: three/' "$1"`, "of another type"},
		"another action":  {`sed -i '1s/^/action: destructive\n/' "$1"`, "a line begins neither"},
		"writes the task": {`sed -i s/Friday/Sunday/ "$1"; sed -i s/Friday/Monday/ ` + "q/awaiting_review/*.json", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			id := d.add(letter)
			before := d.must("", "sh", "-c", "cat q/audit/*")
			s := d.corrects("cd "+d.dir+"\n"+c.script, 50, 80, "correct", id)
			if c.want == "" {
				s.types(s.pages())
			}
			screen := s.ends(77)
			if !strings.Contains(strings.Join(strings.Fields(screen), " "), c.want) {
				t.Errorf("no %q in\n%s", c.want, screen)
			}
			if after := d.must("", "sh", "-c", "cat q/audit/*"); after != before {
				t.Errorf("the log:\n%s", after)
			}
		})
	}
}

// TestCorrectedMeanwhile: another person answers, or types no code, or corrects it to what was
// refused before: nothing comes of it.
func TestCorrectedMeanwhile(t *testing.T) {
	d := newDesk(t)
	id := d.add(letter)
	s := d.corrects(`sed -i s/Friday/Monday/ "$1"`, 50, 80, "correct", id)
	s.types("no code" + s.pages()[:0])
	s.ends(77)
	if got := d.states(id); got[0] != "awaiting_review" {
		t.Error(got)
	}
	s = d.corrects(`sed -i s/Friday/Monday/ "$1"`, 50, 80, "correct", id)
	code := s.pages()
	if status, screen := d.answer(right, "no", id, "--reason", "not at all"); status != 0 {
		t.Fatal(screen)
	}
	s.types(code)
	s.ends(77)
	if got := d.states(id); got[0] != "rejected" || strings.HasPrefix(d.show(id).Reason, "corrected") {
		t.Errorf("%+v", d.show(id))
	}
	again := d.add(strings.Replace(letter, "Friday.", "Monday.", 1))
	s = d.corrects(`sed -i s/Monday/Friday/ "$1"`, 50, 80, "correct", again)
	s.types(s.pages())
	if screen := s.ends(77); !strings.Contains(screen, "was there before, and is") || d.states(again)[0] != "awaiting_review" {
		t.Error(screen)
	}
	d.must("", "pulse-queue", "verify")
}

// TestCorrectListed: a target that outbound.allow lists may be added.
func TestCorrectListed(t *testing.T) {
	d := newDesk(t)
	id := d.add(letter)
	d.write("policy.toml", rules+"[outbound]\nallow = [\"@partner.example\"]\n")
	s := d.corrects(`sed -i '1s/^/target: eve@partner.example\n/' "$1"`, 50, 80, "correct", id)
	s.types(s.pages())
	s.ends(0)
	if record := d.must("", "pulse-queue", "show", d.of(id), "--json"); !strings.Contains(record, `"target":["eve@partner.example","bob@partner.example"]`) {
		t.Error(record)
	}
}
