package man

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// usage is the flags of a command by subcommand ("" for none), each as "--name ARG".
type usage map[string][]string

// add adds a flag unless it is one that all commands have.
func (u usage) add(command, name, arg string) {
	if name != "help" && name != "version" {
		u[command] = append(u[command], strings.TrimSpace("--"+name+" "+arg))
	}
}

var (
	helpCommand = regexp.MustCompile(`(?m)^  ([a-z]+)\b`)
	helpFlag    = regexp.MustCompile(`(?m)^  --([a-z-]+)(?: (\S+))?  `)
	pageFlag    = regexp.MustCompile(`^\.It Fl -([a-z-]+)(?: Ar (\S+))?`)
)

// helped asks a command for its help, and each subcommand for its own.
func helped(t *testing.T, command string) usage {
	t.Helper()
	u := usage{}
	top := help(t, command)
	_, flags, _ := strings.Cut(top, "\nFlags:\n")
	if !strings.Contains(top, "\nCommands:\n") || len(helpFlag.FindAllString(flags, -1)) > 2 {
		u[""] = nil // it does something without a subcommand
		for _, m := range helpFlag.FindAllStringSubmatch(flags, -1) {
			u.add("", m[1], m[2])
		}
	}
	_, list, _ := strings.Cut(top, "\nCommands:\n")
	list, _, _ = strings.Cut(list, "\nFlags:\n")
	for _, m := range helpCommand.FindAllStringSubmatch(list, -1) {
		u[m[1]] = nil
		for _, f := range helpFlag.FindAllStringSubmatch(help(t, command, m[1]), -1) {
			u.add(m[1], f[1], f[2])
		}
	}
	return u
}

func help(t *testing.T, command string, args ...string) string {
	t.Helper()
	out, err := exec.Command(filepath.Join(bin, command), append(args, "--help")...).Output()
	if err != nil {
		t.Fatalf("%s %v --help: %v", command, args, err)
	}
	return string(out)
}

// byCommand reads the same from the DESCRIPTION of a page: a flag stands in the list under its command,
// or in a list of its own under which taking finds its commands.
func (p page) byCommand(all usage) usage {
	u, command, depth := usage{"": nil}, "", 0
	for _, line := range p[slices.Index(p, ".Sh DESCRIPTION"):] {
		switch {
		case strings.HasPrefix(line, ".Bl"):
			depth++
		case line == ".El":
			depth--
		case depth == 1 && strings.HasPrefix(line, ".It Cm "):
			command = item(line)
			if _, ok := u[command]; !ok {
				u[command] = nil
			}
		case strings.HasPrefix(line, ".It Fl "):
			m := pageFlag.FindStringSubmatch(line)
			flag := strings.TrimSpace("--" + m[1] + " " + m[2])
			subs := []string{command}
			if depth == 1 {
				subs = p.taking(flag, all)
			}
			for _, sub := range subs {
				if !slices.Contains(u[sub], flag) {
					u[sub] = append(u[sub], flag)
				}
			}
		}
	}
	for command := range u {
		if _, ok := all[command]; !ok {
			delete(u, command) // an item of another list
		}
	}
	return u
}

// taking returns the subcommands that take a shared flag, by the line under its item: `.Pq Cm "a, b"`
// names them, "alone" is none, `.Pq not Cm "a, b"` names the others, and without such a line all do.
func (p page) taking(flag string, all usage) (list []string) {
	line := ""
	it := ".It Fl -" + strings.Replace(flag[2:], " ", " Ar ", 1)
	if i := slices.Index(p, it); i >= 0 {
		line = p[i+1]
	}
	named, only := strings.CutPrefix(line, ".Pq Cm ")
	named, not := strings.CutPrefix(named, ".Pq not Cm ")
	words := strings.Split(strings.Trim(named, `"`), ", ")
	for sub := range all {
		word := sub
		if word == "" {
			word = "alone"
		}
		if !only && !not || slices.Contains(words, word) == only {
			list = append(list, sub)
		}
	}
	return list
}

func TestFlags(t *testing.T) {
	for _, command := range commands {
		t.Run(command, func(t *testing.T) {
			p, code := read(t, command+".1"), helped(t, command)
			text := p.byCommand(code)
			for sub := range code {
				if _, ok := text[sub]; !ok {
					t.Errorf("the page has no %q", sub)
				}
			}
			for sub, flags := range text {
				if _, ok := code[sub]; !ok {
					t.Errorf("the page has %q, the command has not", sub)
				}
				slices.Sort(flags)
				same(t, flags, code[sub])
			}
		})
	}
}
