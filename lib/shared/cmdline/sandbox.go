package cmdline

import (
	"fmt"
	"io"
	"runtime"

	"github.com/urfave/cli/v2"

	"pulse/lib/shared/fault"
	"pulse/lib/shared/sandbox"
)

// SandboxFlag returns the flag --sandbox. A value that is not a mode is a usage error before
// the command's action runs.
func SandboxFlag() cli.Flag {
	return &cli.StringFlag{
		Name:  "sandbox",
		Value: string(sandbox.Auto),
		Usage: "`MODE` give up what is not needed: auto, require or off; default: auto",
		Action: func(c *cli.Context, mode string) error {
			if !sandbox.Mode(mode).Valid() {
				return fault.Usagef("--sandbox auto", "--sandbox %s: want auto, require or off", mode)
			}
			return nil
		},
	}
}

// Confine takes all rights from this process that the profile does not keep, as --sandbox
// says, and returns what is in force. A command calls it after it has read its
// configuration and before it reads its input. If Run was not called by Main the process
// is a test's, and Confine does nothing.
func Confine(c *cli.Context, p sandbox.Profile) (sandbox.Level, error) {
	if !Own(c) {
		return sandbox.Level{}, nil
	}
	return sandbox.Enforce(p, sandbox.Mode(c.String("sandbox")))
}

// Own reports whether a command is all of this process, as it is not in a test that types it.
func Own(c *cli.Context) bool {
	_, own := c.App.Reader.(*input)
	return own
}

// Confines reports whether Confine will take anything away.
func Confines(c *cli.Context) bool {
	return Own(c) && sandbox.Mode(c.String("sandbox")) != sandbox.Off && sandbox.Here() != (sandbox.Level{})
}

// QueueProfile returns the profile of a command that works on the queue of --queue and looks at
// some files besides. A queue on a server is an open connection, and needs no file.
func QueueProfile(c *cli.Context, files ...string) sandbox.Profile {
	if dir := QueueDir(c); dir != "" {
		return sandbox.Queue(dir, files...)
	}
	return sandbox.Pipe(files...)
}

// Unconfined is called in place of Confine by a command that starts programs, which would be
// confined with it. It is an error if --sandbox requires confinement; why names the program.
func Unconfined(c *cli.Context, why string) error {
	if sandbox.Mode(c.String("sandbox")) != sandbox.Require {
		return nil
	}
	return fault.Usagef("--sandbox auto",
		"--sandbox require: %s, and what it starts would be confined with it", why)
}

// writeVersion prints the version; with verbose also the version of Go and what confines a
// command on this machine.
func writeVersion(w io.Writer, app *cli.App, verbose bool) error {
	_, err := fmt.Fprintf(w, "%s %s\n", app.Name, Version)
	if err == nil && verbose {
		_, err = fmt.Fprintf(w, "%s %s/%s\nsandbox: %s\n",
			runtime.Version(), runtime.GOOS, runtime.GOARCH, sandbox.Here())
	}
	return err
}
