package main

import (
	"fmt"
	"strings"
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
	"pulse/lib/shared/escape/escapetest"
)

func TestEveryWord(t *testing.T) {
	if cmdlinetest.Apart(t) {
		return
	}
	d := newDesk(t)
	d.must("", "pulse-queue", "init")
	t.Setenv("PULSE_QUEUE", d.path("q"))
	t.Setenv("PULSE_POLICY", d.path("policy.toml"))
	cmdlinetest.Words(t, app, func(attack string) [][]string {
		return [][]string{
			{"grant", attack, "--task", attack}, {"grant", attack, "--for", attack}, {"session", "me@example.com", "--for", attack, "--max", "1"},
			{"consume", attack, "--task", attack}, {"grants", "--queue", attack}, {"no", attack, "--reason", attack},
		}
	})
}

func TestEveryPolicy(t *testing.T) {
	if cmdlinetest.Apart(t) {
		return
	}
	d := newDesk(t)
	d.must("", "pulse-queue", "init")
	t.Setenv("PULSE_QUEUE", d.path("q"))
	cmdlinetest.Policies(t, func(t *testing.T, policy ...string) {
		for _, command := range [][]string{{"yes", "x"}, {"yes", "x", "--key", policy[1]}, {"session", "x", "--for", "1h", "--max", "1"}, {"consume", "x"}} {
			args := append(command, policy...)
			stdout, stderr, _ := cmdlinetest.Typed(app(), "", args...)
			cmdlinetest.Fine(t, fmt.Sprintf("%q", args), stdout, stderr)
		}
	})
}

// TestEveryQuestion: what a person is asked that is not about a task, and the tables
// of what was answered.
func TestEveryQuestion(t *testing.T) {
	for _, a := range escapetest.Attacks {
		t.Run(a.Name, func(t *testing.T) {
			d := newDesk(t)
			id := d.add(proposal)
			looks := func(screen string) {
				t.Helper()
				if why := escapetest.Wrong(escapetest.Shown([]byte(screen))); why != "" {
					t.Errorf("the terminal was given %s", why)
				}
				for line := range strings.Lines(screen) {
					if word, _, _ := strings.Cut(line, " "); word == "code:" && !strings.HasSuffix(screen, line) && len(line) != len("code: abcd\r\n") {
						t.Errorf("%q passes for a code", line)
					}
				}
			}
			if _, screen := d.answer(right, "grant", a.Text); screen != "" {
				looks(screen)
			}
			for _, args := range [][]string{{"grants"}, {"grants", "--json"}} {
				stdout := d.must("", "pulse-approve", args...)
				if strings.HasPrefix(stdout, "{") {
					cmdlinetest.FineData(t, "grants --json", stdout, "")
				} else {
					cmdlinetest.Fine(t, "grants", stdout, "")
				}
			}
			p := d.sit("revoke", a.Text)
			if code, err := p.Code(); err == nil {
				p.Type(code + "\n")
			}
			_, screen := p.Wait()
			looks(string(screen))
			_, answered := d.answer(right, "no", id, "--reason", a.Text)
			looks(answered)
			_, screen = d.sit("yes", id).Wait()
			looks(string(screen))
			for _, args := range [][]string{{"show", id}, {"log"}, {"list", "--all"}, {"health"}} {
				stdout, _ := d.run("", "pulse-queue", args...)
				cmdlinetest.Fine(t, fmt.Sprint(args), stdout, "")
			}
		})
	}
}
