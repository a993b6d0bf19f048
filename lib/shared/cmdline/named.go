package cmdline

import (
	"slices"

	"github.com/urfave/cli/v2"
)

// named is a flag that knows its names. The library looks for commas in them, with a
// pattern, each time that it compares one; that is each flag with each other one.
type named struct {
	asked
	names []string
}

func (n *named) Names() []string { return n.names }

// asked is what the library asks of a flag when it runs an app. A list would also have to be
// told that no comma separates its values.
type asked interface {
	cli.ActionableFlag
	cli.RequiredFlag
}

func withNames(flags []cli.Flag) []cli.Flag {
	flags = slices.Clone(flags)
	for i, f := range flags {
		_, list := f.(*cli.StringSliceFlag)
		if one, ok := f.(asked); ok && !list {
			flags[i] = &named{one, f.Names()}
		}
	}
	return flags
}

// toRun returns a copy of the app, with one of its commands or as it is.
func toRun(app cli.App, cmd *cli.Command) *cli.App {
	app.Flags = withNames(app.Flags)
	if cmd != nil {
		one := *cmd
		one.Flags = withNames(one.Flags)
		app.Commands = []*cli.Command{&one}
	}
	return &app
}
