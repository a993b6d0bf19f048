package cmdline

import (
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"pulse/lib/shared/fault"
)

// line is a command line that was understood whole.
type line struct {
	command       *cli.Command // nil for the app itself
	argv          []string     // what urfave/cli is given: command, flags, "--", arguments
	help, version bool
	verbose       bool // with version
}

// parser sorts a command line into flags and arguments before urfave/cli sees it.
type parser struct {
	app      *cli.App
	line     line
	flags    []flagValue
	operands []string
}

type flagValue struct {
	name, value string
	flag        cli.Flag
}

func (p *parser) usage(format string, args ...any) error {
	hint := p.app.Name
	if p.line.command != nil {
		hint += " " + p.line.command.Name
	}
	return fault.Usagef(hint+" --help", format, args...)
}

func parse(app *cli.App, args []string) (line, error) {
	p := &parser{app: app}
	if err := p.sort(args); err != nil {
		return line{}, err
	}
	if p.line.help || p.line.version {
		return p.line, nil
	}
	if p.line.verbose {
		return line{}, p.usage("--verbose goes with --version")
	}
	if err := p.checkFlags(); err != nil {
		return line{}, err
	}
	if err := p.checkOperands(); err != nil {
		return line{}, err
	}
	if p.line.command != nil {
		p.line.argv = append(p.line.argv, p.line.command.Name)
	}
	for _, f := range p.flags {
		p.line.argv = append(p.line.argv, "--"+f.name+"="+f.value)
	}
	if p.line.command == nil || !p.line.command.SkipFlagParsing {
		p.line.argv = append(p.line.argv, "--")
	}
	p.line.argv = append(p.line.argv, p.operands...)
	return p.line, nil
}

// sort tells flags, the subcommand and arguments apart, in whatever order they
// stand, up to "--". A subcommand with SkipFlagParsing reads what follows it by itself.
func (p *parser) sort(args []string) error {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
			p.operands = append(p.operands, args...)
			return nil
		case strings.HasPrefix(arg, "--"):
			used, err := p.flag(arg[2:], args)
			if err != nil {
				return err
			}
			args = args[used:]
		case len(arg) > 1 && arg[0] == '-':
			if p.line.command != nil && strings.Contains(p.line.command.ArgsUsage, "-- ") {
				return p.usage("unknown flag %s: flags are long, --name, and those of a worker stand after --", arg)
			}
			return p.usage("unknown flag %s: flags are long, --name", arg)
		case p.line.command == nil && len(p.app.Commands) > 0:
			if p.line.command = p.app.Command(arg); p.line.command == nil {
				return p.usage("unknown command %s: there are %s", arg, names(p.app.Commands))
			}
			if p.line.command.SkipFlagParsing && !slices.Equal(args, []string{"--help"}) {
				p.operands = args
				return nil
			}
		default:
			p.operands = append(p.operands, arg)
		}
	}
	return nil
}

// flag takes one flag and returns how many of the following arguments it used.
func (p *parser) flag(text string, rest []string) (used int, err error) {
	name, value, inline := strings.Cut(text, "=")
	if !inline && (name == "help" || name == "version" || name == "verbose") {
		p.line.help = p.line.help || name == "help"
		p.line.version = p.line.version || name == "version"
		p.line.verbose = p.line.verbose || name == "verbose"
		return 0, nil
	}
	f := p.lookup(name)
	if f == nil {
		if p.line.help { // asked for help: the rest does not matter
			return 0, nil
		}
		return 0, p.unknown(name)
	}
	_, boolean := f.(*cli.BoolFlag)
	switch {
	case inline && value == "":
		return 0, p.usage("--%s is empty", name)
	case inline:
	case boolean:
		value = "true"
	case len(rest) == 0 || strings.HasPrefix(rest[0], "--"):
		return 0, p.usage("--%s needs a value", name)
	case rest[0] == "":
		return 0, p.usage("--%s is empty", name)
	default:
		value, used = rest[0], 1
	}
	if boolean {
		if _, err := strconv.ParseBool(value); err != nil {
			return 0, p.usage("--%s takes no value", name)
		}
	}
	if _, number := f.(*cli.IntFlag); number && !plainNumber(value) {
		return 0, p.usage("--%s %s: want a whole number", name, value)
	}
	p.flags = append(p.flags, flagValue{name, value, f})
	return used, nil
}

// plainNumber reports whether a number is decimal as people write it: urfave/cli takes 010
// for 8, and also 0x5 and 1_000.
func plainNumber(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && strconv.Itoa(n) == s
}

// lookup finds a flag of the app or of the subcommand. Before the subcommand is known it
// searches all of them, which is enough to know whether the flag takes a value.
func (p *parser) lookup(name string) cli.Flag {
	sets := [][]cli.Flag{p.app.Flags}
	for _, cmd := range p.app.Commands {
		if p.line.command == nil || cmd == p.line.command {
			sets = append(sets, cmd.Flags)
		}
	}
	for _, f := range slices.Concat(sets...) {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

func (p *parser) unknown(name string) error {
	for _, f := range slices.Concat(p.app.Flags, p.commandFlags()) {
		if n := f.Names()[0]; similar(n, name) {
			return p.usage("unknown flag --%s: did you mean --%s?", name, n)
		}
	}
	return p.usage("unknown flag --%s", name)
}

func (p *parser) commandFlags() []cli.Flag {
	if p.line.command == nil {
		return nil
	}
	return p.line.command.Flags
}

// own returns the flags of the subcommand, or of the app if there is none.
func (p *parser) own() []cli.Flag {
	if p.line.command == nil {
		return p.app.Flags
	}
	return p.line.command.Flags
}

// checkFlags refuses flags of another subcommand and scalars given twice.
func (p *parser) checkFlags() error {
	seen := map[string]bool{}
	for _, f := range p.flags {
		same := func(own cli.Flag) bool { return slices.Contains(own.Names(), f.name) }
		if !slices.ContainsFunc(p.own(), same) {
			return p.unknown(f.name)
		}
		_, repeatable := f.flag.(*cli.StringSliceFlag)
		if seen[f.name] && !repeatable {
			return p.usage("--%s is given twice", f.name)
		}
		seen[f.name] = true
	}
	return nil
}

// checkOperands checks the number of arguments against ArgsUsage: each word stands for one
// argument, [optional], or repeated...
func (p *parser) checkOperands() error {
	if p.line.command != nil && p.line.command.SkipFlagParsing {
		return nil
	}
	usage := p.app.ArgsUsage
	if p.line.command != nil {
		usage = p.line.command.ArgsUsage
	}
	least, most := 0, 0
	for _, word := range strings.Fields(strings.ReplaceAll(usage, "-- ", "")) {
		if !strings.HasPrefix(word, "[") {
			least++
		}
		if most++; strings.Contains(word, "...") {
			most = 1 << 20
		}
	}
	switch {
	case len(p.operands) > most && most == 0:
		return p.usage("stray argument %s", p.operands[0])
	case len(p.operands) > most:
		return p.usage("stray argument %s", p.operands[most])
	case len(p.operands) < least:
		return p.usage("missing argument: want %s", usage)
	}
	for _, o := range p.operands[:min(least, len(p.operands))] {
		if o == "" {
			return p.usage("an argument is empty: want %s", usage)
		}
	}
	return nil
}

// similar reports whether b is a with one letter changed, missing or too many,
// or the beginning of a.
func similar(a, b string) bool {
	if len(b) >= 3 && strings.HasPrefix(a, b) {
		return true
	}
	i, j := 0, 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	for j < len(a)-i && j < len(b)-i && a[len(a)-1-j] == b[len(b)-1-j] {
		j++
	}
	return len(a)-i-j <= 1 && len(b)-i-j <= 1
}
