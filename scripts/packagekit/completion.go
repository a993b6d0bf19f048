package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"pulse/lib/queue/health"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// command is what the --help of a command, or of a subcommand, says.
type command struct {
	name, usage, args string
	flags             []flag
	subs              []command
}

// flag is one flag; what is empty if it takes no value.
type flag struct{ name, what, usage string }

// closed are the values of flags that take no others.
var closed = map[string][]string{
	"sandbox": {"auto", "require", "off"},
	"scope":   words([]envelope.Scope{envelope.Headers, envelope.Snippet, envelope.Full, envelope.Attachments}),
	"auth":    {"plain", "login", "xoauth2", "oauthbearer"},
	"kind":    words([]task.Kind{task.Ask, task.Effect}),
	"action":  words(terms.Actions),
	"effect":  words(terms.Actions),
	"trust":   words(terms.TrustLevels),
	"state":   words(task.States),
	"outcome": words(terms.Outcomes),
	"event":   words(slices.Concat(task.Events, audit.Events)),
	"accept":  words(health.Codes),
}

func words[S ~string](list []S) (texts []string) {
	for _, s := range list {
		texts = append(texts, string(s))
	}
	return texts
}

// completions writes those of all commands.
func completions(share, zsh string, commands []string) error {
	for _, path := range commands {
		c, err := help(path)
		if err != nil {
			return err
		}
		for file, text := range map[string]string{
			"bash-completion/completions/" + c.name:         bash(c),
			"zsh/" + zsh + "/_" + c.name:                    zshell(c),
			"fish/vendor_completions.d/" + c.name + ".fish": fish(c),
		} {
			file = filepath.Join(share, file)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// help asks a command, and its subcommands, what they take.
func help(path string) (command, error) {
	c, err := ask(path)
	for i := range c.subs {
		if err != nil {
			return c, err
		}
		sub, subErr := ask(path, c.subs[i].name)
		c.subs[i].flags, err = sub.flags, subErr
	}
	return c, err
}

var (
	entry     = regexp.MustCompile(`^  (\S+)(?: (\S+(?: \S+)*))?  +(.*)$`)
	usageLine = regexp.MustCompile(`^usage: \S+ \[flags\] ?(.*)`)
)

// ask reads the --help of one command.
func ask(path string, sub ...string) (command, error) {
	c := command{name: filepath.Base(path)}
	out, err := exec.Command(path, append(sub, "--help")...).Output()
	if err != nil {
		return c, fmt.Errorf("%s --help: %w", path, err)
	}
	if m := usageLine.FindStringSubmatch(string(out)); m != nil && len(sub) == 0 {
		c.args = m[1]
	}
	section := ""
	for line := range strings.Lines(string(out)) {
		m := entry.FindStringSubmatch(strings.TrimRight(line, "\n"))
		switch {
		case !strings.HasPrefix(line, " "):
			section = strings.TrimSpace(line)
		case m == nil:
			return c, fmt.Errorf("%s --help: %q is neither a flag nor a command", path, line)
		case section == "Commands:":
			c.subs = append(c.subs, command{name: m[1], args: m[2], usage: m[3]})
		case section == "Flags:":
			c.flags = append(c.flags, flag{strings.TrimPrefix(m[1], "--"), m[2], m[3]})
		}
	}
	if len(c.flags) < 2 {
		return c, fmt.Errorf("%s --help names no flags", path)
	}
	return c, nil
}

// takesFiles reports whether an argument can be the name of a file.
func (c command) takesFiles() bool {
	return slices.ContainsFunc([]string{"FILE", "DIR", "SOURCE", "OLD"}, func(w string) bool { return strings.Contains(c.args, w) })
}

// runs reports whether the arguments after -- are a command.
func (c command) runs() bool { return strings.HasPrefix(c.args, "-- CMD") }

// kind returns what the value of a flag names: file, dir, user, group, program, or nothing
// that a shell knows.
func (f flag) kind() string {
	return map[string]string{"FILE": "file", "DIR": "dir", "USER": "user", "GROUP": "group", "CMD": "program"}[f.what]
}

// list reports whether a value is several words with commas between them.
func (f flag) list() bool { return strings.HasSuffix(f.what, ",...") }

// levels returns a command itself, under the name "", and its subcommands.
func (c command) levels() []command {
	own := c
	own.name, own.subs = "", nil
	return append([]command{own}, c.subs...)
}

// valued returns the flags of a command and its subcommands that take a value, each once.
func (c command) valued() (flags []flag) {
	for _, level := range c.levels() {
		for _, f := range level.flags {
			if f.what != "" && !slices.ContainsFunc(flags, func(g flag) bool { return g.name == f.name }) {
				flags = append(flags, f)
			}
		}
	}
	return flags
}
