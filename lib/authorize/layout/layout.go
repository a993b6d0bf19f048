// Package layout is about the files of a gate: those that pulse-authorize init writes, and what they say
// about programs and hosts (pulse-deploy(7)).
//
// Invariant: nothing is guessed to be safe; where it is not known where a program's bytes go, that is
// what is said.
package layout

import (
	"cmp"
	"errors"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"pulse/lib/shared/fault"
	"pulse/lib/shared/lazy"
	"pulse/lib/shared/safefile"
)

// Layout is what the files beside the policy say about programs and hosts (pulse-deploy(7)).
type Layout struct {
	Dir     string
	Name    string            // of the environment file
	Values  map[string]string // nil: there is no such file
	Strange []string          // names that are not of the layout
	Inboxes []Inbox

	scope int // of scopes, the widest of all mailboxes; beyond them: not known
}

// Inbox is a mailbox, and what those learn who serve it.
type Inbox struct {
	Why, Host, Resolver string
	DKIM                bool
}

// names are those of the environment file.
var names = []string{"INBOX", "WAIT_FLAGS", "FETCH_FLAGS", "ADD_FLAGS", "HEALTH_FLAGS", "READER", "READ_FLAGS", "WORKER", "RUN_FLAGS", "SENDER", "DRAFTER", "NOTIFY"}

const maxEnvironment = 64 << 10

// Read reads the environment file and those beside it. Without the file nothing is known,
// unless it was asked for.
func Read(file string, asked bool) (*Layout, error) {
	l := &Layout{Dir: filepath.Dir(file), Name: file}
	values, err := Variables(file)
	if errors.Is(err, fs.ErrNotExist) && !asked {
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	l.Values = values
	for name := range values {
		if !slices.Contains(names, name) {
			l.Strange = append(l.Strange, name)
		}
	}
	slices.Sort(l.Strange)
	if values["INBOX"] != "" {
		l.inbox("INBOX", values)
	}
	more, _ := filepath.Glob(filepath.Join(l.Dir, "intake-*")) // the pattern is good
	for _, file := range more {
		if values, err = Variables(file); err != nil {
			return nil, err
		}
		l.inbox(filepath.Base(file), values)
	}
	return l, nil
}

// assignment is a line that systemd and bash read alike.
var assignment = lazy.Regexp("^([A-Za-z_][A-Za-z0-9_]*)=(\"[^\"$`\\\\]*\"|[A-Za-z0-9_@%+=:,./-]*)$")

// Variables reads lines NAME="value", of which the last of a name counts.
func Variables(file string) (map[string]string, error) {
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
		m := assignment().FindStringSubmatch(line)
		if m == nil {
			return nil, fault.Usagef(`NAME="value", without $, backslash and backquote`, "environment: %s:%d: not a line that systemd and bash read alike", file, i+1)
		}
		values[m[1]] = strings.Trim(m[2], `"`)
	}
	return values, nil
}

// Option is a flag, written with two dashes, and its value, or a word that is no flag. Which
// flags take a value is not known here, so a word that follows one counts as its value.
type Option struct{ Word, Name, Value string }

// Words returns the option as it stood on the command line.
func (o Option) Words() []string {
	if o.Value == "" || strings.Contains(o.Word, "=") {
		return []string{o.Word}
	}
	return []string{o.Word, o.Value}
}

// Options returns the options of a line.
func Options(line string) (list []Option) {
	words := strings.Fields(line)
	for i := 0; i < len(words); i++ {
		o := Option{Word: words[i]}
		var whole bool
		o.Name, o.Value, whole = strings.Cut(o.Word, "=")
		if name := strings.TrimLeft(o.Name, "-"); name != o.Name && name != "" {
			o.Name = "--" + name
			if !whole && i+1 < len(words) && words[i+1][0] != '-' {
				i++
				o.Value = words[i]
			}
		}
		list = append(list, o)
	}
	return list
}

// scopes are what those of pulse-fetch read of a mail besides its header, the widest last.
var scopes = []string{"no text, --scope headers", "the start of the text, --scope snippet", "the text, --scope full",
	"text and attachments, --scope attachments"}

// Reads says what is read of a mail besides its header, by the widest scope of all mailboxes; empty
// if that is not known.
func (l *Layout) Reads() string {
	if len(l.Inboxes) == 0 || l.scope == len(scopes) {
		return ""
	}
	return scopes[l.scope]
}

// inbox notes a mailbox and how much of its mail is read.
func (l *Layout) inbox(why string, values map[string]string) {
	flags := map[string]string{"--scope": "snippet", "--resolver": "the name servers of this machine"}
	for _, o := range Options(values["WAIT_FLAGS"] + " " + values["FETCH_FLAGS"]) {
		flags[o.Name] = o.Value
	}
	_, dkim := flags["--dkim"]
	_, other := flags["--policy"] // another policy may want it
	host := strings.TrimSuffix(hostOf(values["INBOX"])+", "+flags["--hosts"], ", ")
	l.Inboxes = append(l.Inboxes, Inbox{why, host, flags["--resolver"], dkim || other})
	wide := slices.IndexFunc(scopes, func(s string) bool { return strings.HasSuffix(s, ", --scope "+flags["--scope"]) })
	if l.scope = max(l.scope, wide); wide < 0 {
		l.scope = len(scopes) // not known
	}
}

// hosts are those that the kinds of sources are read from.
var hosts = map[string]string{"maildir": Here, "mbox": Here, "webhook": Here, "gmail": "gmail.googleapis.com"}

// hostOf returns the host that a source of pulse-fetch is read from.
func hostOf(source string) string {
	kind, _, _ := strings.Cut(source, ":")
	host := hosts[kind]
	if u, err := url.Parse(strings.TrimPrefix(source, "jmap:")); err == nil && slices.Contains([]string{"jmap", "imaps", "imap"}, kind) {
		host = u.Host
	}
	return cmp.Or(host, Unknown)
}
