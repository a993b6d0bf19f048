package main

import (
	"errors"
	"io/fs"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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

	scope          string // the widest of all mailboxes; empty: not known
	maxText        int
	maxAttachments int
}

// inbox is a mailbox, and what those learn who serve it.
type inbox struct {
	why, host, resolver string
	dkim                bool
}

// names are those of the environment file.
var names = []string{"INBOX", "FETCH_FLAGS", "ADD_FLAGS", "HEALTH_FLAGS", "READER", "READ_FLAGS", "WORKER", "RUN_FLAGS", "SENDER", "DRAFTER", "NOTIFY"}

const maxEnvironment = 64 << 10

// readLayout reads the environment file and those beside it. Without the file nothing is known,
// unless it was asked for.
func readLayout(file string, asked bool) (*layout, error) {
	l := &layout{dir: filepath.Dir(file), name: file, scope: "headers", maxText: 1000}
	values, err := variables(file)
	if errors.Is(err, fs.ErrNotExist) && !asked {
		l.scope = ""
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
		values, err := variables(file)
		if err != nil {
			return nil, err
		}
		l.inbox(filepath.Base(file), values)
	}
	if len(l.inboxes) == 0 {
		l.scope = ""
	}
	return l, nil
}

// assignment is a line that systemd and bash read alike.
const assignment = "^([A-Za-z_][A-Za-z0-9_]*)=(\"[^\"$`\\\\]*\"|[A-Za-z0-9_@%+=:,./-]*)$"

// variables reads lines NAME="value", of which the last of a name counts.
func variables(file string) (map[string]string, error) {
	b, err := safefile.Read(file, maxEnvironment)
	if err != nil {
		return nil, fault.Usagef("ls -l "+file, "environment: %w", err)
	}
	values, form := map[string]string{}, regexp.MustCompile(assignment)
	for i, line := range strings.Split(string(b), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' && !strings.HasSuffix(line, `\`) { // systemd may join the next line to it
			continue
		}
		m := form.FindStringSubmatch(line)
		if m == nil {
			return nil, fault.Usagef(`NAME="value", without $, backslash and backquote`, "environment: %s:%d: not a line that systemd and bash read alike", file, i+1)
		}
		values[m[1]] = strings.Trim(m[2], `"`)
	}
	return values, nil
}

// scopes are those of pulse-fetch, the widest last.
var scopes = []string{"headers", "snippet", "full", "attachments"}

// inbox notes a mailbox and how much of its mail is read.
func (l *layout) inbox(why string, values map[string]string) {
	in := inbox{why: why, host: hostOf(values["INBOX"]), resolver: "the name servers of this machine"}
	scope, text, files, hosts := "snippet", 0, 2<<20, ""
	words := strings.Fields(values["FETCH_FLAGS"])
	for i := 0; i < len(words); i++ {
		name, value, whole := strings.Cut(words[i], "=")
		if !whole && i+1 < len(words) && !strings.HasPrefix(words[i+1], "--") {
			i++
			value = words[i]
		}
		switch name {
		case "--scope":
			scope = value
		case "--max-text":
			text = number(value)
		case "--max-attachments":
			files = number(value)
		case "--hosts":
			hosts = ", " + value
		case "--dkim", "--policy": // another policy may want it
			in.dkim = true
		case "--resolver":
			in.resolver = value
		}
	}
	in.host += hosts
	l.inboxes = append(l.inboxes, in)
	if scope != "attachments" {
		files = 0
	}
	if text == 0 && (scope == "full" || scope == "attachments") {
		text = 20000
	}
	if !slices.Contains(scopes, scope) || text < 0 || files < 0 || l.scope == "" {
		l.scope = ""
		return
	}
	if slices.Index(scopes, scope) > slices.Index(scopes, l.scope) {
		l.scope = scope
	}
	l.maxText, l.maxAttachments = max(l.maxText, text), max(l.maxAttachments, files)
}

// number reads a flag's number, or returns -1.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// hostOf returns the host that a source of pulse-fetch is read from.
func hostOf(source string) string {
	kind, rest, _ := strings.Cut(source, ":")
	switch kind {
	case "maildir", "mbox", "webhook":
		return here
	case "gmail":
		return "gmail.googleapis.com"
	case "jmap":
		source = rest
	case "imaps", "imap":
	default:
		return unknown
	}
	if u, err := url.Parse(source); err == nil && u.Host != "" {
		return u.Host
	}
	return unknown
}

// without says that the environment file does not name a thing.
func (l *layout) without(name string) string {
	if l.values == nil {
		return "there is no " + l.name
	}
	return l.name + " has no " + name
}

// absent returns where something goes that the environment file does not name.
func (l *layout) absent(where string) string {
	if l.values == nil {
		return unknown
	}
	return where
}
