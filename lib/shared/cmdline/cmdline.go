// Package cmdline is the front door of every command: flags, messages, signals
// and exit statuses are the same for all (pulse(7)). It wires urfave/cli, and
// mends what that library does wrong in a pipe: help on stdout after an error, flags
// after an argument taken for arguments, unknown subcommands that succeed, a repeated
// flag whose last value wins.
//
// Invariant: a command line that is not understood whole runs nothing, prints
// nothing on stdout and ends with 64. Caveat: an action must return its errors;
// nothing below main exits.
package cmdline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/mattn/go-isatty"
	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/sandbox"
)

// Version is the version of all commands.
const Version = "0.1.0"

// Main runs app with the process's own streams and returns the exit status. A SIGINT,
// SIGQUIT, SIGTERM or SIGHUP cancels the actions' context and ends a read of Stdin; the
// process then dies of that signal, so that shells and cron see why. A command that Idles
// dies of it at once until its input begins.
func Main(app *cli.App) int {
	if err := enoughFiles(); err != nil {
		return report(app, os.Stderr, err)
	}
	sandbox.Conceal()
	unix.Umask(unix.Umask(0) &^ 0o700) // a queue that its owner can't read is useless
	ctx, cancel := context.WithCancelCause(context.Background())
	in := newInput(os.Stdin)
	in.catch = catching(func(sig os.Signal) {
		cancel(signalled{sig})
		in.interrupt(func() { die(sig) })
	})
	status := Run(ctx, app, os.Args, in, os.Stdout, os.Stderr)
	if by, ok := context.Cause(ctx).(signalled); ok && status != 0 {
		die(by.Signal)
	}
	return status
}

// Run runs app on args (args[0] is the command's name) and returns the exit
// status. Errors go to stderr, escaped, as "name: error: …" and "name: hint: …".
func Run(ctx context.Context, app *cli.App, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	harden(app)
	out := &answers{to: stdout}
	app.Reader, app.Writer, app.ErrWriter = stdin, out, stderr
	line, err := parse(app, args[1:])
	switch {
	case err != nil:
	case line.help:
		err = writeHelp(out, app, line.command)
	case line.version:
		err = writeVersion(out, app, line.verbose)
	default:
		if in, ok := stdin.(*input); ok && !idles(app, line.command) {
			in.catch()
		}
		err = toRun(*app, line.command).RunContext(ctx, append([]string{app.Name}, line.argv...))
	}
	if err == nil {
		err = out.failed()
	}
	return report(app, stderr, err)
}

// answers is standard output. It keeps its first error, so that an action that does not
// check every write fails all the same.
type answers struct {
	to  io.Writer
	mu  sync.Mutex
	err error
}

func (a *answers) Write(p []byte) (int, error) {
	n, err := a.to.Write(p)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		a.err = err
	}
	return n, err
}

func (a *answers) failed() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

func report(app *cli.App, stderr io.Writer, err error) int {
	if err == nil {
		return 0
	}
	if !errors.Is(err, errInterrupted) && !errors.Is(err, context.Canceled) && !Silent(err) {
		for _, one := range slices.Compact(each(err)) { // two joined errors may say the same
			message(stderr, app.Name, "error", one)
		}
		if hint := fault.HintOf(err); hint != "" {
			message(stderr, app.Name, "hint", hint)
		}
	}
	return int(fault.KindOf(err))
}

// Standing marks an error that holds until a person mends it and is not news to cron every
// minute: the exit status tells it, and the message is shown at a terminal only.
func Standing(c *cli.Context, err error) error {
	if Watched(c) {
		return err
	}
	return standing{err}
}

// Silent reports whether an error is not shown, because of Standing or because it was told.
func Silent(err error) bool {
	var known standing
	return errors.As(err, &known)
}

// Ended is an error without a message, for a command that ends with the status of a program that it
// has started.
func Ended(status int) error {
	if status == 0 {
		return nil
	}
	return standing{&fault.Error{Kind: fault.Kind(status), Err: fmt.Errorf("exit status %d", status)}}
}

// Watched reports whether the command's stderr is a terminal.
func Watched(c *cli.Context) bool {
	f, ok := c.App.ErrWriter.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// Columns returns how wide the terminal is that the command's answers go to; 0 if they go to none, or
// it does not tell.
func Columns(c *cli.Context) int {
	out, _ := c.App.Writer.(*answers)
	if out == nil {
		return 0
	}
	f, _ := out.to.(*os.File)
	if f == nil {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}

// Said prints an error as that of another name, its hint first, because pulse-queue keeps the
// last line of what a worker said. It returns the error as one that was told.
func Said(c *cli.Context, name string, err error) error {
	if hint := fault.HintOf(err); hint != "" {
		message(c.App.ErrWriter, name, "hint", hint)
	}
	message(c.App.ErrWriter, name, "error", err.Error())
	return standing{err}
}

type standing struct{ error }

func (s standing) Unwrap() error { return s.error }

// Warn prints a warning on the command's stderr.
func Warn(c *cli.Context, format string, args ...any) {
	message(c.App.ErrWriter, c.App.Name, "warning", fmt.Sprintf(format, args...))
}

// Note prints a line on the command's stderr that is neither an error nor a warning.
func Note(c *cli.Context, format string, args ...any) {
	fmt.Fprintf(c.App.ErrWriter, "%s: %s\n", c.App.Name, escape.Message(fmt.Sprintf(format, args...)))
}

// Count returns a number of things: 1 task, 2 tasks.
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Progress is Note at a terminal, and prints nothing elsewhere: cron mails what is printed.
func Progress(c *cli.Context, format string, args ...any) {
	if Watched(c) {
		Note(c, format, args...)
	}
}

// each returns the text of every error that was joined into one (errors.Join). It does not
// split at newlines, because a file name can hold one.
func each(err error) []string {
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		var texts []string
		for _, one := range e.Unwrap() {
			texts = append(texts, each(one)...)
		}
		if strings.Join(texts, "\n") == err.Error() {
			return texts
		}
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil && inner.Error() == err.Error() {
			return each(inner)
		}
	}
	return []string{err.Error()}
}

// message prints one line. The text is escaped, so that it can't forge another.
func message(w io.Writer, name, class, text string) {
	fmt.Fprintf(w, "%s: %s: %s\n", name, class, escape.Message(text))
}

// whole adds the queue and the policy that flags named to the commands that the errors of
// an action suggest.
func whole(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		err := action(c)
		if err == nil {
			return nil
		}
		hint := fault.HintOf(err)
		if told := Told(c, hint); told != hint {
			return &fault.Error{Kind: fault.KindOf(err), Hint: told, Err: err}
		}
		return err
	}
}

// harden switches off what urfave/cli does by itself: help, exits, and flags split at
// commas.
func harden(app *cli.App) {
	app.HideHelp, app.HideVersion, app.HideHelpCommand = true, true, true
	app.DisableSliceFlagSeparator = true
	app.ExitErrHandler = func(*cli.Context, error) {}
	app.OnUsageError = usageError
	for _, cmd := range app.Commands {
		cmd.HideHelp, cmd.HideHelpCommand = true, true
		cmd.OnUsageError = usageError
		cmd.Action = whole(cmd.Action)
	}
	if app.Action == nil {
		app.Action = func(*cli.Context) error {
			return fault.Usagef(app.Name+" --help", "which command? one of %s", names(app.Commands))
		}
	}
}

func usageError(c *cli.Context, err error, _ bool) error {
	text := strings.Replace(err.Error(), "flag -", "flag --", 1) // as we spell it
	return fault.Usagef(c.App.Name+" --help", "%s", text)
}

func names(cmds []*cli.Command) string {
	var list []string
	for _, cmd := range cmds {
		if !cmd.Hidden {
			list = append(list, cmd.Name)
		}
	}
	return strings.Join(list, ", ")
}
