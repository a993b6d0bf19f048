package cmdlinetest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/urfave/cli/v2"

	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/escape/escapetest"
)

// EveryWord returns command lines with a text in each place where one can stand: as
// a command, as a flag, as the value of each flag of each command, with a blank and
// with an equals sign, and as each argument.
func EveryWord(app *cli.App, text string) (lines [][]string) {
	lines = append(lines, []string{text}, []string{"--" + text}, []string{"-" + text})
	lines = append(lines, everyFlag(nil, app.Flags, app.ArgsUsage, text)...)
	for _, c := range app.Commands {
		lines = append(lines, everyFlag([]string{c.Name}, c.Flags, c.ArgsUsage, text)...)
	}
	return lines
}

func everyFlag(command []string, flags []cli.Flag, usage, text string) (lines [][]string) {
	line := func(words ...string) { lines = append(lines, append(command[:len(command):len(command)], words...)) }
	var operands []string
	for range strings.Fields(strings.ReplaceAll(usage, "-- ", "")) {
		operands = append(operands, text)
	}
	line(append([]string{"--"}, operands...)...)
	line(append([]string{"--" + text, "--"}, operands...)...)
	line(append([]string{"--", text}, operands...)...) // one too many
	for _, f := range flags {
		name := "--" + f.Names()[0]
		line(append([]string{name, text, "--"}, operands...)...)
		line(append([]string{name + "=" + text, "--"}, operands...)...)
	}
	return lines
}

// Typed runs a command in this process, without a terminal.
func Typed(app *cli.App, stdin string, args ...string) (stdout, stderr string, status int) {
	var out, errs bytes.Buffer
	status = cmdline.Run(context.Background(), app, append([]string{app.Name}, args...), strings.NewReader(stdin), &out, &errs)
	return out.String(), errs.String(), status
}

// Words types every attack in each place of a command line, in a directory of its
// own, and looks at what comes back. more makes command lines of an attack that
// EveryWord does not.
func Words(t *testing.T, app func() *cli.App, more func(attack string) [][]string) {
	for _, a := range escapetest.Attacks {
		t.Run(a.Name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			t.Setenv("USER", a.Text)
			t.Setenv("LOGNAME", a.Text)
			for _, args := range append(EveryWord(app(), a.Text), more(a.Text)...) {
				stdout, stderr, _ := Typed(app(), "", args...)
				Fine(t, fmt.Sprintf("%q", args), stdout, stderr)
			}
		})
	}
}

// Apart runs the test that calls it in a session of its own, where this process has a
// terminal: what it types would be asked of whoever sits there. If it reports true, that
// is done.
func Apart(t *testing.T) bool {
	t.Helper()
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	f.Close()
	cmd := exec.Command("/proc/self/exe", "-test.run", "^"+t.Name()+"$")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return true
}

// Policies makes files out of every attack that are policies, or mean to be: in their
// name, in a key, in a value of each kind, in a comment. look is given the arguments
// that name one.
func Policies(t *testing.T, look func(t *testing.T, policy ...string)) {
	for _, a := range escapetest.Attacks {
		t.Run(a.Name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			text := escapetest.Quoted(a.Text) // which TOML reads as JSON does
			for i, policy := range []string{
				"owners = [\"me@example.com\"]\n", a.Text, a.Text + " = 1\n", text + " = 1\n", "[" + text + "]\n", "[matrix." + text + "]\nallow = []\n",
				"[matrix.\"a@b.example\"]\ntools.allow = [" + text + "]\n", "owners = " + a.Text + "\n", "owners = [" + text + " " + text + "]\n", "[" + a.Text + "\n",
				"owners = [" + text + "]\n", "owners = " + text + "\n", "authserv_id = " + text + "\n", "max_age = " + text + "\n", "default_action = " + text + "\n",
				"evidence = " + text + "\n", "dkim_alignment = " + text + "\n", "allowed_external = [" + text + "]\naccept_automatic = [" + text + "]\n",
				"[[receiver]]\nsource = " + text + "\nauthserv_id = " + text + "\n", "[[action]]\nto = " + text + "\naction = \"read_public\"\n",
				"[[action]]\nsource = " + text + "\naction = " + text + "\n", "[outbound]\nallow = [" + text + "]\n", "[limits]\nreview_expires = " + text + "\n",
				"[limits]\n" + text + " = 3\n", "[tools]\nallow = [" + text + "]\ndeny = [" + text + "]\n", "[tools.level]\n" + text + " = \"open\"\n", "[tools.level]\nx = " + text + "\n",
				"[exec]\nmode = " + text + "\n", "[exec]\nmode = \"full\"\nworkspace = " + text + "\n", "[approval]\nrequire = " + text + "\n",
				"[approval]\nrequire = \"signature\"\nallowed_signers = " + text + "\nledger = " + text + "\n",
				"[approval]\nrequire = \"signature\"\nallowed_signers = " + escapetest.Quoted("/"+a.Text) + "\nledger = " + escapetest.Quoted("/"+a.Text) + "\n",
				"[[platform]]\nsource = " + text + "\nowner_ids = [1]\n[[platform.chat]]\nid = 1\nenabled = true\nopen_group = true\n", "owners = [] # " + a.Text + "\n",
			} {
				name := fmt.Sprintf("%d%s", i, a.FileName())
				if err := os.WriteFile(name, []byte(policy), 0o600); err != nil {
					t.Fatal(err)
				}
				look(t, "--policy", name)
			}
			look(t, "--policy", a.FileName()) // which is not there
		})
	}
}

// Fine fails the test if what a command printed holds anything that no terminal
// should be given, or a line on stderr that is not the command's own.
func Fine(t *testing.T, what, stdout, stderr string) {
	t.Helper()
	for _, text := range []string{stdout, stderr} {
		if why := escapetest.Wrong(text); why != "" {
			t.Errorf("%s: %s", what, why)
		}
	}
	for line := range strings.Lines(stderr) {
		if !strings.HasPrefix(line, "pulse-") || !strings.Contains(line, ": ") {
			t.Errorf("%s: %q is not a line of ours", what, line)
		}
	}
}

// FineData is Fine for stdout that is JSON, which may hold any character but none
// that JSON must escape.
func FineData(t *testing.T, what, stdout, stderr string) {
	t.Helper()
	if why := escapetest.RawControl(stdout); why != "" {
		t.Errorf("%s: the data hold a control: %s", what, why)
	}
	Fine(t, what, "", stderr)
}
