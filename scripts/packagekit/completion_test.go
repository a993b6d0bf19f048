package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// shell is an interactive shell that somebody types into.
type shell struct {
	*os.File
	seen []byte
}

// interactive starts a shell whose commands print what they were given.
func interactive(t *testing.T, dir, program string, args ...string) *shell {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + dir + "/fake:/usr/bin:/bin", "HOME=" + dir + "/home", "TERM=vt100", "LC_ALL=C.UTF-8"}
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 400})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &shell{File: f}
}

// typed types a line and returns the arguments that a command was given, each in <>.
func (s *shell) typed(t *testing.T, line string) string {
	t.Helper()
	if _, err := io.WriteString(s, line+"\r"); err != nil {
		t.Fatal(err)
	}
	if err := s.SetReadDeadline(time.Now().Add(10 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	for b := make([]byte, 1<<16); ; {
		if _, after, found := bytes.Cut(s.seen, []byte("GOT<")); found {
			if got, rest, whole := bytes.Cut(after, []byte(">END")); whole {
				s.seen = bytes.Clone(rest)
				return "<" + string(got) + ">"
			}
		}
		n, err := s.Read(b)
		if err != nil {
			t.Fatalf("%q: %v: %q", line, err, s.seen)
		}
		s.seen = append(s.seen, b[:n]...)
	}
}

// shells start each of the shells with the completions.
var shells = map[string]func(t *testing.T, dir string) *shell{
	"bash": func(t *testing.T, dir string) *shell {
		s := interactive(t, dir, "bash", "--norc", "--noprofile", "-i")
		s.typed(t, "for f in share/bash-completion/completions/*; do source $f; done; pulse-queue ready")
		return s
	},
	"zsh": func(t *testing.T, dir string) *shell {
		s := interactive(t, dir, "zsh", "-f", "-i")
		s.typed(t, "fpath=($PWD/share/zsh/vendor-completions $fpath); autoload -U compinit; compinit -u -D; pulse-queue ready")
		return s
	},
	"fish": func(t *testing.T, dir string) *shell {
		s := interactive(t, dir, "fish", "--private", "--no-config", "-i")
		s.typed(t, "set fish_complete_path $PWD/share/fish/vendor_completions.d $fish_complete_path; set -g fish_autosuggestion_enabled 0; pulse-queue ready")
		return s
	},
}

// fakes makes commands that print their arguments, and files to complete.
func fakes(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, sub := range []string{"fake", "home", "queues"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(dir+"/policy.toml", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, command := range built(t) {
		text := "#!/bin/sh\nprintf GOT; printf '<%s>' \"$@\"; echo END\n"
		if err := os.WriteFile(dir+"/fake/"+filepath.Base(command), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func (c command) flagNames() (names []string) {
	for _, f := range c.flags {
		names = append(names, "--"+f.name)
	}
	return names
}

// Every subcommand and every flag of its own is completed by each shell from all its
// letters but the last.
func TestCompletions(t *testing.T) {
	dir := fakes(t)
	if err := completions(dir+"/share", "vendor-completions", built(t)); err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{
		"pulse-fetch --scope sni\t":                       "<--scope><snippet>",
		"pulse-fetch --sandbox=req\t":                     "<--sandbox=require>",
		"pulse-fetch --scope full --dki\t poli\t":         "<--scope><full><--dkim><policy.toml>",
		"pulse-fetch --policy poli\t":                     "<--policy><policy.toml>",
		"pulse-queue list --state sched\t":                "<list><--state><scheduled>",
		"pulse-queue list --state failed,rej\t":           "<list><--state><failed,rejected>",
		"pulse-queue health --accept=silent,not_separa\t": "<health><--accept=silent,not_separated>",
		"pulse-queue log --event start\t":                 "<log><--event><started>",
		"pulse-queue list --queue queu\t":                 "<list><--queue><queues>",
		"pulse-queue run --as daemo\t":                    "<run><--as><daemon>",
		"pulse-queue init --worker-group daemo\t":         "<init><--worker-group><daemon>",
		"pulse-queue run --notify pulse-clas\t":           "<run><--notify><pulse-classify>",
		"pulse-queue run -- pulse-clas\t":                 "<run><--><pulse-classify>",
		"pulse-queue run --max 3 -- cat poli\t":           "<run><--max><3><--><cat><policy.toml>",
		"pulse-queue snapshot queu\t":                     "<snapshot><queues>",
		"pulse-queue hold --jso\t":                        "<hold><--jso>",
		"pulse-queue log poli\t":                          "<log><poli>",
		"pulse-approve yes --polic\t":                     "<yes><--policy>",
		"pulse-queue --versio\t":                          "<--version>",
		"pulse-queue submit --at 07:30 --actio\t":         "<submit><--at><07:30><--action>",
	}
	ambiguous := 0
	for _, path := range built(t) {
		c, err := help(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, level := range c.levels() {
			words := level.flagNames()
			if level.name == "" {
				words = append(words, strings.Fields(terse(c.subs))...)
			}
			for _, word := range words {
				typed := word[:len(word)-1]
				if n := strings.Count(" "+strings.Join(words, " "), " "+typed); n != 1 {
					ambiguous++
					continue
				}
				args := strings.Join(strings.Fields(level.name+" "+word), "><")
				lines[strings.Join(strings.Fields(c.name+" "+level.name+" "+typed), " ")+"\t"] = "<" + args + ">"
			}
		}
	}
	if len(lines) < 150 || ambiguous > 10 {
		t.Errorf("%d lines, %d ambiguous", len(lines), ambiguous)
	}
	for name, start := range shells {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, dir)
			for line, want := range lines {
				if got := strings.ReplaceAll(s.typed(t, line), "/>", ">"); got != want {
					t.Errorf("%q became %s, want %s", line, got, want)
				}
			}
		})
	}
}
