package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
	"pulse/lib/shared/escape/escapetest"
)

// exhibit is a queue in which everything that holds text holds an attack.
type exhibit struct {
	t      *testing.T
	attack escapetest.Attack
}

// newExhibit works in a directory of its own, whose name and whose queue's name are
// attacks.
func newExhibit(t *testing.T, a escapetest.Attack) *exhibit {
	t.Helper()
	dir := filepath.Join(t.TempDir(), a.FileName()[:min(len(a.FileName()), 60)])
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	t.Setenv("PULSE_QUEUE", filepath.Join(dir, a.FileName()))
	t.Setenv("PULSE_POLICY", filepath.Join(dir, "policy.toml"))
	t.Setenv("USER", a.Text)
	t.Setenv("LOGNAME", a.Text)
	e := &exhibit{t, a}
	e.write("policy.toml", "owners = [\"me@example.com\"]\n[matrix.unknown]\nallow = [\"read_public\"]\n[limits]\nmax_attempts = 1\n")
	e.shows("", "init")
	return e
}

func (e *exhibit) write(name, text string) {
	e.t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		e.t.Fatal(err)
	}
}

func (e *exhibit) in(name string) string { return filepath.Join(os.Getenv("PULSE_QUEUE"), name) }

// shows runs a command and looks at what it prints.
func (e *exhibit) shows(stdin string, args ...string) (stdout, stderr string, status int) {
	e.t.Helper()
	stdout, stderr, status = cmdlinetest.Typed(app(), stdin, args...)
	fine := cmdlinetest.Fine
	if strings.HasPrefix(stdout, "{") {
		fine = cmdlinetest.FineData
	}
	fine(e.t, fmt.Sprintf("%s: pulse-queue %q", e.attack.Name, args), stdout, stderr)
	return stdout, stderr, status
}

// ids returns the ids of the receipts.
func (e *exhibit) ids(receipts string) (ids []string) {
	e.t.Helper()
	for line := range strings.Lines(receipts) {
		var rec struct{ Task struct{ ID string } }
		if err := json.Unmarshal([]byte(line), &rec); err != nil || rec.Task.ID == "" {
			e.t.Fatalf("%q: %v", line, err)
		}
		ids = append(ids, rec.Task.ID)
	}
	return ids
}

// everywhere looks at all that a queue is told about with.
func (e *exhibit) everywhere(ids ...string) {
	e.t.Helper()
	for _, line := range []string{
		"list", "list --all", "list --all --json", "log", "log --json", "stats", "stats --json", "stats --prometheus -", "stats --html", "stats --html --subjects",
		"health", "health --json", "digest", "digest --subjects", "verify", "outbox", "positions", "sessions", "prune --older-than 0",
	} {
		e.shows("", strings.Fields(line)...)
	}
	for _, id := range ids {
		e.shows("", "show", id)
		e.shows("", "show", id, "--json")
		e.shows("", "thread", id)
		e.shows("", "thread", id, "--json")
		e.shows("", "log", "--task", id)
	}
}

// some returns all of them, or in a short test every third.
func some(all []escapetest.Attack) (list []escapetest.Attack) {
	for i, a := range all {
		if !testing.Short() || i%3 == 0 {
			list = append(list, a)
		}
	}
	return list
}

// TestEveryField: whatever a record holds, and a worker says of it, no table, story,
// finding or message shows anything but lines that move nothing and hide nothing.
func TestEveryField(t *testing.T) {
	for _, a := range some(escapetest.Records()) {
		t.Run(a.Name, func(t *testing.T) {
			e := newExhibit(t, a)
			stdout, stderr, status := e.shows(escapetest.Mail(a)+escapetest.Effect(a), "add", "--notify", "false")
			if status != 0 {
				t.Fatalf("exit %d: %s", status, stderr)
			}
			ids := e.ids(stdout)
			e.everywhere(ids...)
			_, stderr, status = e.shows("", "run", "--", "sh", "-c", `cat >/dev/null; printf %s "$1"; printf %s "$1" >&2; exit 3`, "sh", a.Text)
			if status != 0 || !strings.Contains(stderr, "task "+ids[0]) {
				t.Errorf("exit %d: %q", status, stderr)
			}
			e.shows("", "cancel", ids[0])
			e.everywhere(ids...)
			e.shows("", "hold")
			e.shows("", "run", "--", "true")
			e.everywhere(ids...)
		})
	}
}

// TestEveryProgram: what workers and programs of --notify say may be any bytes.
func TestEveryProgram(t *testing.T) {
	for _, a := range some(escapetest.Attacks) {
		t.Run(a.Name, func(t *testing.T) {
			e := newExhibit(t, a)
			name := "p" + a.FileName()
			e.write(name, "#!/bin/sh\ncat >/dev/null\nprintf %s "+shell(a.Text)+" >&2\nprintf %s "+shell(a.Text)+"\nexit 9\n")
			if err := os.Chmod(name, 0o700); err != nil {
				t.Fatal(err)
			}
			e.shows("", "init")
			stdout, _, _ := e.shows(escapetest.Mail(escapetest.Attack{Text: "x"})+escapetest.Effect(escapetest.Attack{Text: "x"}), "add", "--notify", "./"+name)
			_, stderr, _ := e.shows("", "run", "--", "./"+name)
			if !strings.Contains(stderr, "(exit status 9)") && !strings.Contains(stderr, "9") {
				t.Errorf("the worker's end is not told: %q", stderr)
			}
			e.everywhere(e.ids(stdout)...)
		})
	}
}

func shell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// TestEveryWord: what is typed comes back escaped, wherever it is wrong.
func TestEveryWord(t *testing.T) {
	for _, a := range some(escapetest.Attacks) {
		t.Run(a.Name, func(t *testing.T) {
			e := newExhibit(t, a)
			e.shows("", "init")
			for _, args := range cmdlinetest.EveryWord(app(), a.Text) {
				if _, stderr, status := e.shows("", args...); status == 0 && stderr != "" {
					t.Errorf("%q: exit 0, and %q", args, stderr)
				}
			}
		})
	}
}

// TestEveryBadRecord: why a line is refused is said of it, not by it.
func TestEveryBadRecord(t *testing.T) {
	for _, a := range some(escapetest.Attacks) {
		t.Run(a.Name, func(t *testing.T) {
			e := newExhibit(t, a)
			e.shows("", "init")
			text, err := json.Marshal(a.Text)
			if err != nil {
				t.Fatal(err)
			}
			good := escapetest.Effect(escapetest.Attack{Text: "x"})
			for _, line := range []string{
				a.Text, "{" + a.Text + "}", `{"message":` + a.Text + `}`, `"` + a.Text + `"`, `{"` + a.Text + `":1}`,
				`{"message":{"id":"` + a.Text + `"}}`,
				fmt.Sprintf(`{%s:1,%s:2}`, text, text), fmt.Sprintf(`{"message":{%s:1,%s:2}}`, text, text),
				strings.Replace(good, `"external_send"`, string(text), 1), strings.Replace(good, `"external_send","outcome"`, string(text)+`,"outcome"`, 1),
				strings.Replace(good, `"require_owner_confirmation"`, string(text), 1),
				strings.Replace(good, `"owner_verified_email"`, string(text), 1),
				strings.Replace(good, `"verified":true`, `"verified":`+string(text), 1),
				strings.Replace(good, `"via":"agent"`, `"via":`+string(text), 1),
				strings.Replace(good, `"bob@partner.example"`, string(text), 1),
				strings.Replace(good, `"2026-11-21T06:55:00Z"`, string(text), 1),
				strings.Replace(good, `["From"`, `[`+string(text)+`,"x"`, 1),
			} {
				e.shows(line+"\n", "add")
			}
		})
	}
}

// TestEveryFile: what lies in the queue, under whatever name, is told of escaped: by
// those who find it wrong too.
func TestEveryFile(t *testing.T) {
	good := escapetest.Attack{Text: "x"}
	dirs := []string{"", "scheduled", "awaiting_review", "running", "completed", "failed", "rejected", "corrupt", "audit", "grants", "approvals", "sessions", "workers", "results"}
	for i, a := range some(escapetest.Attacks) {
		t.Run(a.Name, func(t *testing.T) {
			for j, dir := range dirs {
				if (i+j)%7 != 0 { // each attack in two of them, each of them with five attacks
					continue
				}
				e := newExhibit(t, a)
				receipts, _, _ := e.shows(escapetest.Mail(good)+escapetest.Effect(good), "add")
				ids := e.ids(receipts)
				if err := os.MkdirAll(e.in(dir), 0o700); err != nil {
					t.Fatal(err)
				}
				e.write(filepath.Join(e.in(dir), a.FileName()), a.Text)
				e.write(filepath.Join(e.in(dir), ids[1]+".json"), a.Text)
				e.write(filepath.Join(e.in(dir), strings.Repeat("a", 32)+".json"), `{"by":"`+a.Text+`"}`)
				e.everywhere(append(ids, a.Text)...)
				e.shows("", "run", "--", "true")
				e.everywhere(ids...)
			}
		})
	}
}

// TestEveryLog: a log that somebody wrote into.
func TestEveryLog(t *testing.T) {
	for _, a := range some(escapetest.Attacks) {
		t.Run(a.Name, func(t *testing.T) {
			text, _ := json.Marshal(a.Text)
			for _, line := range []string{
				a.Text, `{"time":` + string(text) + `}`, `{"event":"` + a.Text + `"}`, "{" + string(text) + ":1}",
			} {
				e := newExhibit(t, a)
				receipts, _, _ := e.shows(escapetest.Mail(escapetest.Attack{Text: "x"}), "add")
				logs, _ := filepath.Glob(strings.NewReplacer(`\`, `\\`, "[", `\[`, "*", `\*`, "?", `\?`).Replace(e.in("audit")) + "/*.jsonl")
				if len(logs) != 1 {
					t.Fatal(logs)
				}
				f, err := os.OpenFile(logs[0], os.O_APPEND|os.O_WRONLY, 0)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintln(f, line)
				f.Close()
				e.everywhere(e.ids(receipts)...)
				e.shows("", "run", "--", "true")
			}
		})
	}
}
