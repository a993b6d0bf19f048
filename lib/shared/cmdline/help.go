package cmdline

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"
)

// writeHelp prints the usage of the app, or of one of its subcommands.
func writeHelp(w io.Writer, app *cli.App, cmd *cli.Command) error {
	usage, text, args, flags := app.Name, app.Usage, app.ArgsUsage, app.Flags
	if cmd != nil {
		usage, text, args, flags = app.Name+" "+cmd.Name, cmd.Usage, cmd.ArgsUsage, cmd.Flags
	} else if len(app.Commands) > 0 {
		args = "COMMAND"
		if app.ArgsUsage == "" && len(app.Flags) > 0 {
			args = "[COMMAND]"
		}
	}
	fmt.Fprintf(w, "usage: %s\n\n%s\n", strings.TrimSpace(usage+" [flags] "+args), text)
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if cmd == nil && len(app.Commands) > 0 {
		fmt.Fprintf(tab, "\nCommands:\n")
		for _, c := range app.VisibleCommands() {
			fmt.Fprintf(tab, "  %s\t%s\n", strings.TrimSpace(c.Name+" "+c.ArgsUsage), c.Usage)
		}
	}
	fmt.Fprintf(tab, "\nFlags:\n")
	for _, f := range flags {
		fmt.Fprintf(tab, "  %s\t%s\n", flagName(f), flagUsage(f))
	}
	fmt.Fprintln(tab, "  --help\tprint this and exit")
	fmt.Fprintln(tab, "  --version\tprint the version and exit; with --verbose, also what confines it here")
	if err := tab.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nManual: man %s\n", app.Name)
	return err
}

func flagName(f cli.Flag) string {
	name := "--" + f.Names()[0]
	if _, boolean := f.(*cli.BoolFlag); boolean {
		return name
	}
	what, _ := usageParts(f)
	return name + " " + what
}

func flagUsage(f cli.Flag) string {
	_, usage := usageParts(f)
	return usage
}

// usageParts splits a flag's usage, "`WHAT` what it does", into both.
func usageParts(f cli.Flag) (what, usage string) {
	doc, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return "VALUE", ""
	}
	usage = doc.GetUsage()
	if rest, found := strings.CutPrefix(usage, "`"); found {
		what, usage, _ = strings.Cut(rest, "` ")
		return what, usage
	}
	return "VALUE", usage
}
