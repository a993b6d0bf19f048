package main

import (
	"fmt"
	"strings"
)

// bash returns a completion that needs nothing but bash itself.
func bash(c command) string {
	var b strings.Builder
	function := "_" + strings.ReplaceAll(c.name, "-", "_")
	fmt.Fprintf(&b, "# Completes %s; made from its --help.\n%s() {\n", c.name, function)
	b.WriteString(`	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} sub= dashes= i
	COMPREPLY=()
	if [[ $cur == "=" ]]; then
		cur=
	elif [[ $prev == "=" ]] && ((COMP_CWORD > 1)); then
		prev=${COMP_WORDS[COMP_CWORD-2]}
	fi
	for ((i = 1; i < COMP_CWORD; i++)); do
`)
	b.WriteString(scan(c, "${COMP_WORDS[i]}", "((++i)); [[ ${COMP_WORDS[i]} != \"=\" ]] || ((++i))"))
	b.WriteString("\tdone\n")
	b.WriteString(body(c, map[string]string{
		"words": `mapfile -t COMPREPLY < <(compgen -W '%s' -- "$cur")`,
		"list":  `mapfile -t COMPREPLY < <(compgen -P "${cur%%"${cur##*,}"}" -W '%s' -- "${cur##*,}")`,
		"file":  `compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$cur")`,
		"dir":   `compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$cur")`,
		"user":  `mapfile -t COMPREPLY < <(compgen -u -- "$cur")`, "group": `mapfile -t COMPREPLY < <(compgen -g -- "$cur")`,
		"program": `mapfile -t COMPREPLY < <(compgen -c -- "$cur")`,
		"cursor":  "$COMP_CWORD",
	}, func(list []command) string {
		return fmt.Sprintf(`mapfile -t COMPREPLY < <(compgen -W '%s' -- "$cur")`, terse(list))
	}))
	fmt.Fprintf(&b, "}\ncomplete -F %s %s\n", function, c.name)
	return b.String()
}

// zshell returns a completion that compinit finds by its first line.
func zshell(c command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#compdef %s\n# Made from its --help.\n", c.name)
	b.WriteString(`local cur=$words[CURRENT] prev=$words[CURRENT-1] sub= dashes= i
local -a told
if [[ $cur == --*=* ]]; then
	prev=${cur%%=*}
	compset -P '*='
fi
for ((i = 2; i < CURRENT; i++)); do
`)
	b.WriteString(scan(c, "$words[i]", "((++i))"))
	b.WriteString("done\n")
	b.WriteString(body(c, map[string]string{
		"words": "compadd -- %s", "list": "compset -P '*,'; compadd -- %s",
		"file": "_files", "dir": "_files -/", "user": "_users", "group": "_groups", "program": "_command_names -e",
		"cursor": "$CURRENT",
	}, func(list []command) string {
		var words []string
		for _, w := range list {
			words = append(words, quote(w.name+":"+w.usage, `'\''`))
		}
		option := "" // _describe offers options only where it is told that they are
		if strings.HasPrefix(list[0].name, "-") {
			option = "-o "
		}
		return "told=(" + strings.Join(words, " ") + "); _describe " + option + "word told"
	}))
	return b.String()
}

// scan returns the cases of a loop over the words before the cursor: what has a value, what
// is the subcommand, and where arguments begin.
func scan(c command, word, skip string) string {
	var valued []string
	for _, f := range c.valued() {
		valued = append(valued, "--"+f.name)
	}
	text := "\t\tcase " + word + " in\n\t\t--) dashes=$i; break ;;\n"
	text += "\t\t" + strings.Join(valued, "|") + ") " + skip + " ;;\n"
	if len(c.subs) > 0 {
		text += "\t\t" + strings.ReplaceAll(terse(c.subs), " ", "|") + ") : ${sub:=" + word + "} ;;\n"
	}
	return text + "\t\tesac\n"
}

// body returns what both shells have in common: what follows --, values, flags and
// subcommands, file names.
func body(c command, say map[string]string, offer func([]command) string) string {
	var b strings.Builder
	b.WriteString("\tif [[ -n $dashes ]]; then\n\t\tcase $sub in\n")
	for _, level := range c.levels() {
		if level.runs() {
			fmt.Fprintf(&b, "\t\t%s) if ((%s == dashes + 1)); then %s; else %s; fi ;;\n", level.name, say["cursor"], say["program"], say["file"])
		} else if level.takesFiles() {
			fmt.Fprintf(&b, "\t\t%q) %s ;;\n", level.name, say["file"])
		}
	}
	b.WriteString("\t\tesac\n\t\treturn\n\tfi\n\tcase $prev in\n")
	for _, f := range c.valued() {
		fmt.Fprintf(&b, "\t--%s) %s; return ;;\n", f.name, value(f, say))
	}
	b.WriteString("\tesac\n\tcase $sub in\n")
	for _, level := range c.levels() {
		fmt.Fprintf(&b, "\t%q) if [[ $cur == -* ]]; then\n\t\t\t%s\n\t\t", level.name, offer(flagsOf(level)))
		if level.name == "" && len(c.subs) > 0 {
			fmt.Fprintf(&b, "else\n\t\t\t%s\n\t\t", offer(c.subs))
		} else if level.takesFiles() {
			fmt.Fprintf(&b, "else\n\t\t\t%s\n\t\t", say["file"])
		}
		b.WriteString("fi ;;\n")
	}
	b.WriteString("\tesac\n")
	return b.String()
}

// value returns what completes the value of a flag.
func value(f flag, say map[string]string) string {
	words, ok := closed[f.name]
	switch {
	case ok && f.list():
		return fmt.Sprintf(say["list"], strings.Join(words, " "))
	case ok:
		return fmt.Sprintf(say["words"], strings.Join(words, " "))
	case f.kind() != "":
		return say[f.kind()]
	}
	return ":"
}

// flagsOf returns the flags of a level as if they were commands: a name and what it is for.
func flagsOf(level command) (list []command) {
	for _, f := range level.flags {
		list = append(list, command{name: "--" + f.name, usage: f.usage})
	}
	return list
}

func terse(list []command) string {
	var names []string
	for _, c := range list {
		names = append(names, c.name)
	}
	return strings.Join(names, " ")
}

// quote puts a text between single quotes; one in it becomes what the shell wants.
func quote(text, apostrophe string) string {
	return "'" + strings.ReplaceAll(text, "'", apostrophe) + "'"
}

// fish returns a completion of the kind that fish has, a line for each word.
func fish(c command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Completes %s; made from its --help.\ncomplete -c %[1]s -f\n", c.name)
	for _, level := range c.levels() {
		when := "__fish_seen_subcommand_from " + level.name
		if level.name == "" {
			when = "not __fish_seen_subcommand_from " + terse(c.subs)
			if len(c.subs) == 0 {
				when = "true"
			}
			for _, sub := range c.subs {
				fmt.Fprintf(&b, "complete -c %s -n '%s' -a %s -d %s\n", c.name, when, sub.name, quote(sub.usage, `\'`))
			}
		}
		for _, f := range level.flags {
			fmt.Fprintf(&b, "complete -c %s -n '%s' -l %s%s -d %s\n", c.name, when, f.name, fishValue(f), quote(f.usage, `\'`))
		}
		if level.runs() {
			fmt.Fprintf(&b, "complete -c %s -n '%s; and contains -- -- (commandline -opc)' -F -a '(__fish_complete_command)'\n", c.name, when)
		} else if level.takesFiles() {
			fmt.Fprintf(&b, "complete -c %s -n '%s' -F\n", c.name, when)
		}
	}
	return b.String()
}

// fishValue returns how fish completes the value of a flag.
func fishValue(f flag) string {
	words, ok := closed[f.name]
	switch {
	case f.what == "":
		return ""
	case ok && f.list():
		return ` -x -a '(__fish_complete_list , "printf %s\n ` + strings.Join(words, " ") + `")'`
	case ok:
		return " -x -a '" + strings.Join(words, " ") + "'"
	case f.kind() == "":
		return " -x"
	}
	return map[string]string{"file": " -r -F", "dir": " -x -a '(__fish_complete_directories)'", "user": " -x -a '(__fish_complete_users)'",
		"group": " -x -a '(__fish_complete_groups)'", "program": " -x -a '(__fish_complete_command)'"}[f.kind()]
}
