package cmdline

import (
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"pulse/lib/shared/sandbox"
)

// TestSandboxFlag: a word that is not a mode runs nothing, and a command that starts
// programs says that it can't be confined.
func TestSandboxFlag(t *testing.T) {
	for _, c := range []struct {
		line, want string
		status     int
	}{
		{"", "", 0}, {"--sandbox auto", "", 0}, {"--sandbox off", "", 0},
		{"--sandbox require", "--sandbox require: it starts a program", 64},
		{"--sandbox on", "--sandbox on: want auto, require or off", 64},
		{"--sandbox AUTO", "--sandbox AUTO: want auto", 64},
	} {
		ran := false
		app := &cli.App{Name: "prog", Flags: []cli.Flag{SandboxFlag()}, Action: func(c *cli.Context) error {
			ran = true
			return Unconfined(c, "it starts a program")
		}}
		status, _, stderr := run(app, strings.Fields(c.line)...)
		if status != c.status || !strings.Contains(stderr, c.want) || ran == strings.Contains(c.want, "want") {
			t.Errorf("%s: %d %q", c.line, status, stderr)
		}
	}
}

// TestSomebodyElsesProcess: a test that calls Run is not confined by it.
func TestSomebodyElsesProcess(t *testing.T) {
	app := &cli.App{Name: "prog", Flags: []cli.Flag{SandboxFlag()}, Action: func(c *cli.Context) error {
		level, err := Confine(c, sandbox.Pipe())
		if level != (sandbox.Level{}) {
			t.Errorf("%s", level)
		}
		return err
	}}
	if status, _, stderr := run(app, "--sandbox", "require"); status != 0 {
		t.Errorf("%d %s", status, stderr)
	}
}
