package main

import (
	"path/filepath"
	"strings"
)

// way is where a program's bytes go.
type way struct {
	where, why string
	boxed      bool
	keeps      string // where it keeps what it was given; empty: nowhere
}

// program is a program of pulse, by its name below libexec/pulse.
type program struct {
	asks string // which hosts it is known to ask; nobody holds it to these
}

var programs = map[string]program{
	"readers/claude": {asks: "api.anthropic.com"},
	"readers/llm":    {asks: "the host of its model"},
	"workers/claude": {asks: "api.anthropic.com"},
	"workers/codex":  {asks: "api.openai.com or chatgpt.com"},
	"workers/gemini": {asks: "generativelanguage.googleapis.com"},
	"workers/llm":    {asks: "the host of its model"},
	"workers/shell":  {asks: "nobody"},
	"senders/msmtp":  {asks: "the mail server of its account"},
	"senders/drafts": {asks: "the IMAP server of its last argument"},
}

// flagsOf are the flags that stand before a program.
var flagsOf = map[string]string{"READER": "READ_FLAGS", "WORKER": "RUN_FLAGS"}

// runFlags are those that leave it as it is which program is given which tasks, and whether
// a value comes with them.
var runFlags = map[string]bool{"--proposals": false, "--env": true, "--max": true, "--timeout": true, "--notify": true}

// unlike returns the first word of some flags that is none of these: a program, or a flag for
// other tasks, another queue or policy.
func unlike(flags string) string {
	words := strings.Fields(flags)
	for i := 0; i < len(words); i++ {
		name, _, whole := strings.Cut(words[i], "=")
		valued, known := runFlags[name]
		if !known {
			return words[i]
		}
		if valued && !whole {
			i++
		}
	}
	return ""
}

const libexec = "/libexec/pulse/"

// named returns the name of a program of pulse.
func named(path string) string {
	if _, name, ok := strings.Cut(path, libexec); ok && strings.HasPrefix(path, "/") && filepath.Clean(path) == path {
		return name
	}
	return ""
}

// way returns where the program in a variable has a way to. A box leaves it one socket, whatever
// it is; without one, nothing here holds it.
func (l *layout) way(variable, account string) way {
	words := strings.Fields(l.values[variable])
	if len(words) == 0 {
		return way{where: l.absent(nowhere), why: l.without(variable)}
	}
	if word := unlike(l.values[flagsOf[variable]]); word != "" {
		return way{where: unknown, why: flagsOf[variable] + " has " + word + ", which may start something else"}
	}
	if named(words[0]) == "box" {
		return l.box(variable, words)
	}
	w := way{where: unknown}
	p, ok := programs[named(words[0])]
	if !ok {
		w.why = variable + ", " + words[0] + ", which pulse does not know, in no box"
		w.keeps = "the home of " + account + ", if " + variable + " keeps one"
	} else {
		w.where, w.why = "anywhere", variable+", "+named(words[0])+", in no box: it asks "+p.asks
	}
	if host := l.out(account); host != "" {
		w.why += "; under systemd " + host + " and sockets of this machine"
	}
	return w
}

// box returns where a program in a box has a way to, by the flags of the box.
func (l *layout) box(variable string, words []string) way {
	w := way{where: nowhere, boxed: true}
	seen, socket, i := []string{}, "", 1
	for ; i+1 < len(words) && words[i] != "--"; i += 2 {
		switch words[i] {
		case "--model":
			w.where, socket = l.socket(words[i+1]), ", "+words[i+1]
		case "--ro", "--rw":
			seen = append(seen, words[i+1])
		case "--env":
		default:
			return way{where: unknown, why: variable + ", a box with " + words[i]}
		}
	}
	if i+1 >= len(words) || words[i] != "--" {
		return way{where: unknown, why: variable + ", a box without a program"}
	}
	name := named(words[i+1])
	if _, ok := programs[name]; !ok {
		name = words[i+1]
	}
	w.why = variable + ", " + name + " in a box" + socket
	if len(seen) > 0 {
		w.where += ", and sockets in " + strings.Join(seen, " ")
		w.keeps = "what it may write of " + strings.Join(seen, " ")
	}
	return w
}

// socket returns where a socket that a box has leads to. It lies in one of two directories: the
// second is for a gate without root, which has all in one.
func (l *layout) socket(path string) string {
	dir, account := filepath.Split(path)
	own, err := filepath.Abs(filepath.Join(l.dir, "out"))
	if dir == "/run/pulse-out/" || err == nil && dir == own+"/" {
		if host := l.out(account); host != "" {
			return host
		}
	}
	return unknown
}

// out returns the one host behind an account's socket, or nothing if that is not known.
func (l *layout) out(account string) string {
	values, err := variables(filepath.Join(l.dir, "out-"+account))
	if err != nil {
		return ""
	}
	return values["TO"]
}
