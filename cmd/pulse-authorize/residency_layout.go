package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"pulse/lib/shared/fault"
	"pulse/lib/shared/safefile"
)

// layout is what the files beside the policy say about programs and hosts (pulse-deploy(7)).
type layout struct {
	dir     string
	name    string            // of the environment file
	values  map[string]string // nil: there is no such file
	strange []string          // names that are not of the layout
	inboxes []inbox

	scope int // of scopes, the widest of all mailboxes; beyond them: not known
}

// inbox is a mailbox, and what those learn who serve it.
type inbox struct {
	why, host, resolver string
	dkim                bool
}

// names are those of the environment file.
var names = []string{"INBOX", "WAIT_FLAGS", "FETCH_FLAGS", "ADD_FLAGS", "HEALTH_FLAGS", "READER", "READ_FLAGS", "WORKER", "RUN_FLAGS", "SENDER", "DRAFTER", "NOTIFY"}

const maxEnvironment = 64 << 10

// readLayout reads the environment file and those beside it. Without the file nothing is known,
// unless it was asked for.
func readLayout(file string, asked bool) (*layout, error) {
	l := &layout{dir: filepath.Dir(file), name: file}
	values, err := variables(file)
	if errors.Is(err, fs.ErrNotExist) && !asked {
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	l.values = values
	for name := range values {
		if !slices.Contains(names, name) {
			l.strange = append(l.strange, name)
		}
	}
	slices.Sort(l.strange)
	if values["INBOX"] != "" {
		l.inbox("INBOX", values)
	}
	more, _ := filepath.Glob(filepath.Join(l.dir, "intake-*")) // the pattern is good
	for _, file := range more {
		if values, err = variables(file); err != nil {
			return nil, err
		}
		l.inbox(filepath.Base(file), values)
	}
	return l, nil
}

// assignment is a line that systemd and bash read alike.
var assignment = regexp.MustCompile("^([A-Za-z_][A-Za-z0-9_]*)=(\"[^\"$`\\\\]*\"|[A-Za-z0-9_@%+=:,./-]*)$")

// variables reads lines NAME="value", of which the last of a name counts.
func variables(file string) (map[string]string, error) {
	b, err := safefile.Read(file, maxEnvironment)
	if err != nil {
		return nil, fault.Usagef("ls -l "+file, "environment: %w", err)
	}
	values := map[string]string{}
	for i, line := range strings.Split(string(b), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' && !strings.HasSuffix(line, `\`) { // systemd may join the next line to it
			continue
		}
		m := assignment.FindStringSubmatch(line)
		if m == nil {
			return nil, fault.Usagef(`NAME="value", without $, backslash and backquote`, "environment: %s:%d: not a line that systemd and bash read alike", file, i+1)
		}
		values[m[1]] = strings.Trim(m[2], `"`)
	}
	return values, nil
}

// option is a flag, written with two dashes, and its value, or a word that is no flag. Which
// flags take a value is not known here, so a word that follows one counts as its value.
type option struct{ word, name, value string }

// words returns the option as it stood on the command line.
func (o option) words() []string {
	if o.value == "" || strings.Contains(o.word, "=") {
		return []string{o.word}
	}
	return []string{o.word, o.value}
}

func options(line string) (list []option) {
	words := strings.Fields(line)
	for i := 0; i < len(words); i++ {
		o := option{word: words[i]}
		var whole bool
		o.name, o.value, whole = strings.Cut(o.word, "=")
		if name := strings.TrimLeft(o.name, "-"); name != o.name && name != "" {
			o.name = "--" + name
			if !whole && i+1 < len(words) && words[i+1][0] != '-' {
				i++
				o.value = words[i]
			}
		}
		list = append(list, o)
	}
	return list
}

// scopes are those of pulse-fetch, the widest last.
var scopes = []struct{ name, reads string }{
	{"headers", "no text"}, {"snippet", "the start of the text, --scope snippet"},
	{"full", "the text, --scope full"}, {"attachments", "text and attachments, --scope attachments"},
}

// inbox notes a mailbox and how much of its mail is read.
func (l *layout) inbox(why string, values map[string]string) {
	in := inbox{why: why, host: hostOf(values["INBOX"]), resolver: "the name servers of this machine"}
	scope := "snippet"
	for _, o := range options(values["WAIT_FLAGS"] + " " + values["FETCH_FLAGS"]) {
		switch o.name {
		case "--scope":
			scope = o.value
		case "--hosts":
			in.host += ", " + o.value
		case "--dkim", "--policy": // another policy may want it
			in.dkim = true
		case "--resolver":
			in.resolver = o.value
		}
	}
	l.inboxes = append(l.inboxes, in)
	wide := slices.IndexFunc(scopes, func(s struct{ name, reads string }) bool { return s.name == scope })
	if l.scope = max(l.scope, wide); wide < 0 {
		l.scope = len(scopes) // not known
	}
}

// hosts are those that the kinds of sources are read from.
var hosts = map[string]string{"maildir": here, "mbox": here, "webhook": here, "gmail": "gmail.googleapis.com"}

// hostOf returns the host that a source of pulse-fetch is read from.
func hostOf(source string) string {
	kind, _, _ := strings.Cut(source, ":")
	u, err := url.Parse(strings.TrimPrefix(source, "jmap:"))
	switch known := hosts[kind]; {
	case known != "":
		return known
	case err == nil && u.Host != "" && slices.Contains([]string{"jmap", "imaps", "imap"}, kind):
		return u.Host
	}
	return unknown
}

// absent says where something goes that the environment file does not name.
func (l *layout) absent(name string) way {
	if l.values == nil {
		return way{where: unknown, why: "there is no " + l.name}
	}
	return way{where: nowhere, why: l.name + " has no " + name}
}

// way is where a program's bytes go.
type way struct {
	where, why string
	boxed      bool
	keeps      string // where it keeps what it was given; empty: nowhere
}

// programs are those of pulse, by their names below libexec/pulse, and which hosts they are
// known to ask; nothing holds them to these.
var programs = map[string]string{
	"readers/claude": "api.anthropic.com",
	"readers/llm":    "the host of its model",
	"workers/claude": "api.anthropic.com",
	"workers/codex":  "api.openai.com or chatgpt.com",
	"workers/gemini": "generativelanguage.googleapis.com",
	"workers/llm":    "the host of its model",
	"workers/shell":  "nobody",
	"senders/msmtp":  "the mail server of its account",
	"senders/drafts": "the IMAP server of its last argument",
}

// flagsOf are the flags that stand before a program, and runFlags those that leave it as it is
// which program is given which tasks, and whether they take a value.
var (
	flagsOf  = map[string]string{"READER": "READ_FLAGS", "WORKER": "RUN_FLAGS"}
	runFlags = map[string]bool{"--proposals": false, "--env": true, "--max": true, "--timeout": true, "--notify": true}
)

// named returns the name of a program of pulse, or the path.
func named(path string) string {
	if _, name, ok := strings.Cut(path, "/libexec/pulse/"); ok && strings.HasPrefix(path, "/") && filepath.Clean(path) == path {
		return name
	}
	return path
}

// way returns where the program in a variable has a way to. A box leaves it one socket, whatever
// it is; without one, nothing here holds it.
func (l *layout) way(variable, account string) way {
	words := strings.Fields(l.values[variable])
	if len(words) == 0 {
		return l.absent(variable)
	}
	for _, o := range options(l.values[flagsOf[variable]]) { // a program, or a flag for other tasks, another queue or policy
		switch valued, known := runFlags[o.name]; {
		case known && !valued && o.value != "" && !strings.Contains(o.word, "="):
			o.word = o.value
			fallthrough
		case !known:
			return way{where: unknown, why: flagsOf[variable] + " has " + o.word + ", which may start something else"}
		}
	}
	name := named(words[0])
	if name == "box" && name != words[0] {
		return l.box(variable, strings.Join(words[1:], " ")+" ")
	}
	w := way{where: "anywhere", why: fmt.Sprintf("%s, %s, in no box: it asks %s", variable, name, programs[name])}
	if programs[name] == "" || name == words[0] {
		w = way{where: unknown, why: variable + ", " + words[0] + ", which pulse does not know, in no box"}
		w.keeps = "the home of " + account + ", if " + variable + " keeps one"
	}
	if host := l.out(account); host != "" {
		w.why += "; under systemd " + host + " and sockets of this machine"
	}
	return w
}

// box returns where a program in a box has a way to, by the flags of the box.
func (l *layout) box(variable, line string) way {
	w, socket := way{where: nowhere, boxed: true}, ""
	var seen []string
	flags, command, found := strings.Cut(" "+line, " -- ")
	for _, o := range options(flags) {
		switch {
		case o.value != "" && o.name == "--model":
			w.where, socket = l.socket(o.value), ", "+o.value
		case o.value != "" && (o.name == "--ro" || o.name == "--rw"):
			seen = append(seen, o.value)
		case o.value == "" || o.name != "--env":
			return way{where: unknown, why: variable + ", a box with " + o.word}
		}
	}
	program, _, _ := strings.Cut(command, " ")
	if !found || program == "" {
		return way{where: unknown, why: variable + ", a box without a program"}
	}
	if programs[named(program)] != "" {
		program = named(program)
	}
	w.why = variable + ", " + program + " in a box" + socket
	if len(seen) > 0 {
		w.where += ", and sockets in " + strings.Join(seen, " ")
		w.keeps = "what it may write of " + strings.Join(seen, " ")
	}
	return w
}

// socket returns where a socket that a box has leads to. It lies in one of two directories: the
// second is for a gate without root, and is where init puts it.
func (l *layout) socket(path string) string {
	dir, account := filepath.Split(path)
	own, err := filepath.Abs(l.dir)
	if dir == "/run/pulse-out/" || err == nil && dir == filepath.Join(dataOf(own), "out")+"/" {
		if host := l.out(account); host != "" {
			return host
		}
	}
	return unknown
}

// out returns the one host behind an account's socket, or nothing if that is not known.
func (l *layout) out(account string) string {
	values, _ := variables(filepath.Join(l.dir, "out-"+account))
	return values["TO"]
}
