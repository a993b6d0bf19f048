package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

// proposes has an ask of this account propose mails, each a target and a text, and returns the
// ids of the effects.
func (d *world) proposes(ask string, mails ...string) (ids []string) {
	d.t.Helper()
	d.must("", "pulse-queue", "submit", "--action", "write_local", ask)
	var out strings.Builder
	for _, m := range mails {
		to, text, _ := strings.Cut(m, ",")
		out.WriteString(`{"action":"external_send","target":"` + to + `","args":{"text":"` + text + `"}}` + "\n")
	}
	d.write("wants", out.String())
	d.must("", "pulse-queue", "run", "--proposals", "--", "sh", "-c", `cat >/dev/null; cat "$1"`, "sh", d.path("wants"))
	added := d.must(d.must(d.must("", "pulse-queue", "outbox"), "pulse-authorize"), "pulse-queue", "add")
	for line := range strings.Lines(added) {
		if strings.Contains(line, `"state":"awaiting_review"`) {
			ids = append(ids, d.task(line).ID)
		}
	}
	return ids
}

const both = "Write to ann@x.example and bob@x.example."

// TestYesToChanged: a code for a page is for none of it if one of its tasks is not what was shown.
func TestYesToChanged(t *testing.T) {
	for name, change := range map[string]func(*world, string){
		"answered": func(d *world, id string) {
			if status, _ := d.answer(right, "no", id, "--reason", "x"); status != 0 {
				t.Fatal(status)
			}
		},
		"written over": func(d *world, id string) {
			file := d.path("q/awaiting_review/" + id + ".json")
			b, err := os.ReadFile(file)
			if err == nil {
				err = os.WriteFile(file, []byte(strings.Replace(string(b), "two", "six", 1)), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		},
	} {
		d := newDesk(t)
		ids := d.proposes(both, "ann@x.example,one", "ann@x.example,two", "ann@x.example,three")
		s := d.many(append([]string{"yes"}, ids...)...)
		code := s.turns()
		change(d, ids[1])
		s.types(code)
		screen := s.ends(77)
		if !strings.Contains(screen, "task "+ids[1]+" is not what was shown any more, so none of the 3 was approved") {
			t.Errorf("%s: %s", name, screen)
		}
		if out := d.must("", "pulse-queue", "log", "--json", "--event", "approved"); out != "" {
			t.Errorf("%s: %s", name, out)
		}
	}
}

// TestYesUnseen: there is no code while a page of the text was skipped, and what is typed in its
// place approves nothing.
func TestYesUnseen(t *testing.T) {
	d := newDesk(t)
	ids := d.proposes(both, "ann@x.example,one", "ann@x.example,"+strings.Repeat("long ", 800), "ann@x.example,three")
	s := d.many(append([]string{"yes"}, ids...)...)
	s.sees(pagePrompt)
	s.types("G")
	s.sees(`skipped: no answer before they were shown\r\n` + pagePrompt)
	s.types("q")
	if screen := s.ends(77); strings.Contains(screen, "code:") {
		t.Error(screen)
	}
	if got := d.states(ids...); !slices.Equal(got, []string{"awaiting_review", "awaiting_review", "awaiting_review"}) {
		t.Error(got)
	}
}

// TestPageOfWalk: m approves what stands on one page with what is shown, on a telephone too, and the
// walk goes on with the rest, which it shows alone.
func TestPageOfWalk(t *testing.T) {
	d := newDesk(t)
	first := d.proposes(both, "ann@x.example,one", "ann@x.example,two", "bob@x.example,three", "evil@y.example,four")
	second := d.proposes("Write to ann@x.example.", "ann@x.example,five")
	s := d.walk(20, 40)
	answers := func(keys ...string) {
		t.Helper()
		for s.sees(`(?:`+pagePrompt+`|(your answer .*: $))`) == "" {
			s.types("")
		}
		s.types(keys...)
	}
	answers("m")
	wrong := s.turns()
	s.types("x" + wrong[1:] + "y")
	answers("m")
	s.types(s.turns())
	s.sees(`\r\napproved: 2\r\n`)
	answers("m")
	s.sees(`nothing else may stand on its page`)
	answers("s")
	answers("s")
	answers("q")
	if screen := s.ends(0); !strings.Contains(screen, "type the code to approve all 2 of these") ||
		!strings.HasSuffix(screen, "\r\n2 approved, 0 refused, 3 left\r\n") {
		t.Error(screen)
	}
	want := []string{"scheduled", "scheduled", "awaiting_review", "awaiting_review", "awaiting_review"}
	if got := d.states(append(first, second...)...); !slices.Equal(got, want) {
		t.Error(got)
	}
	d.must("", "pulse-queue", "verify")
}

// TestPartOfWalk: a walk may be about an ask, an action or a sender, and counts these alone.
func TestPartOfWalk(t *testing.T) {
	d := newDesk(t)
	first := d.proposes(both, "ann@x.example,one", "bob@x.example,two")
	d.proposes("Write to ann@x.example.", "ann@x.example,three")
	for args, want := range map[string]string{
		"--task " + first[1]:                            "0 approved, 0 refused, 2 left",
		"--action external_send":                        "0 approved, 0 refused, 3 left",
		"--action destructive":                          "nothing with destructive waits for a person",
		"--sender me@example.com":                       "nothing of me@example.com waits for a person",
		"--action external_send --task " + first[0][:8]: "0 approved, 0 refused, 2 left",
	} {
		p, err := cmdlinetest.SitAt(d.command("pulse-approve", strings.Fields(args)...), 24, 80)
		if err != nil {
			t.Fatal(err)
		}
		s := &seat{t, p}
		for answer := ""; strings.HasPrefix(want, "0") && answer == ""; s.types("") {
			if answer = s.sees(`(?:` + pagePrompt + `|(your answer .*: $))`); answer != "" {
				s.types("q")
				break
			}
		}
		if screen := s.ends(0); !strings.HasSuffix(screen, want+"\r\n") {
			t.Errorf("%s: %s", args, screen)
		}
	}
	if _, status := d.run("", "pulse-approve", "--action", "send"); status != 64 {
		t.Error(status)
	}
	if _, status := d.run("", "pulse-approve", "--task", ""); status != 64 {
		t.Error(status)
	}
}
