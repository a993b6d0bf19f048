package cmdline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/shared/fault"
)

// ran is what an action was given.
type ran struct {
	name, file, action string
	yes                bool
	n                  int
	d                  time.Duration
	list, args         []string
}

func (r *ran) String() string {
	return fmt.Sprintf("%s file=%s action=%s yes=%v n=%d d=%s list=%q args=%q", r.name, r.file, r.action, r.yes, r.n, r.d, r.list, r.args)
}

// fixture is a command with everything: a root action, subcommands, a shared flag.
func fixture(got *ran) *cli.App {
	action := func(name string) cli.ActionFunc {
		return func(c *cli.Context) error {
			*got = ran{name, c.String("file"), c.String("action"), c.Bool("yes"), c.Int("n"), c.Duration("d"), c.StringSlice("list"), c.Args().Slice()}
			return nil
		}
	}
	file := &cli.StringFlag{Name: "file", EnvVars: []string{"PULSE_TEST_FILE"}, Usage: "`F` a file"}
	return &cli.App{
		Name: "prog", Usage: "Do it.", Action: action("root"), Flags: []cli.Flag{file},
		Commands: []*cli.Command{
			{Name: "do", ArgsUsage: "ID [MORE]", Action: action("do"), Flags: []cli.Flag{file,
				&cli.StringFlag{Name: "action"}, &cli.BoolFlag{Name: "yes"}, &cli.IntFlag{Name: "n"}, &cli.DurationFlag{Name: "d"},
				&cli.StringSliceFlag{Name: "list"},
			}},
			{Name: "run", ArgsUsage: "-- CMD [ARG...]", Action: action("run"), Flags: []cli.Flag{file}},
			{Name: "none", Action: action("none")},
		},
	}
}

func run(app *cli.App, args ...string) (status int, stdout, stderr string) {
	var out, err bytes.Buffer
	status = Run(context.Background(), app, append([]string{"/usr/bin/prog"}, args...), strings.NewReader(""), &out, &err)
	return status, out.String(), err.String()
}

func TestUnderstood(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"", "root file= action= yes=false n=0 d=0s list=[] args=[]"},
		{"--file f", "root file=f action= yes=false n=0 d=0s list=[] args=[]"},
		{"do x", `do file= action= yes=false n=0 d=0s list=[] args=["x"]`},
		{"do x --file f --yes", `do file=f action= yes=true n=0 d=0s list=[] args=["x"]`},
		{"--file f do --yes x", `do file=f action= yes=true n=0 d=0s list=[] args=["x"]`},
		{"do --file=f=g x y", `do file=f=g action= yes=false n=0 d=0s list=[] args=["x" "y"]`},
		{"do --file -f x", `do file=-f action= yes=false n=0 d=0s list=[] args=["x"]`},
		{"do --file=--f x", `do file=--f action= yes=false n=0 d=0s list=[] args=["x"]`},
		{"do --n -3 --d 1h30m x", `do file= action= yes=false n=-3 d=1h30m0s list=[] args=["x"]`},
		{"do --yes=false x", `do file= action= yes=false n=0 d=0s list=[] args=["x"]`},
		{"do --list a,b --list c x", `do file= action= yes=false n=0 d=0s list=["a,b" "c"] args=["x"]`},
		{"do -- --file", `do file= action= yes=false n=0 d=0s list=[] args=["--file"]`},
		{"do -- help", `do file= action= yes=false n=0 d=0s list=[] args=["help"]`},
		{"do help", `do file= action= yes=false n=0 d=0s list=[] args=["help"]`},
		{"do - -- -", `do file= action= yes=false n=0 d=0s list=[] args=["-" "-"]`},
		{"do x -- --", `do file= action= yes=false n=0 d=0s list=[] args=["x" "--"]`},
		{"run --file f -- sh -c x --file g -- y", `run file=f action= yes=false n=0 d=0s list=[] args=["sh" "-c" "x" "--file" "g" "--" "y"]`},
		{"run -- do", `run file= action= yes=false n=0 d=0s list=[] args=["do"]`},
		{"none --", "none file= action= yes=false n=0 d=0s list=[] args=[]"},
	} {
		var got ran
		status, stdout, stderr := run(fixture(&got), strings.Fields(c.line)...)
		if status != 0 || stdout != "" || stderr != "" || got.String() != c.want {
			t.Errorf("prog %s: %d %q %q\n%s\n%s", c.line, status, stdout, stderr, &got, c.want)
		}
	}
}

// TestNotUnderstood: nothing runs, nothing is on stdout, the status is 64, and the
// message is one that helps.
func TestNotUnderstood(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"dance"}, "unknown command dance: there are do, run, none"},
		{[]string{"help"}, "unknown command help"},
		{[]string{"h"}, "unknown command h"},
		{[]string{"-h"}, "unknown flag -h: flags are long"},
		{[]string{"-v"}, "unknown flag -v"},
		{[]string{"-help"}, "unknown flag -help"},
		{[]string{"-file", "f"}, "unknown flag -file"},
		{[]string{"--fil", "f"}, "did you mean --file?"},
		{[]string{"--flie", "f"}, "unknown flag --flie"},
		{[]string{"--FILE", "f"}, "unknown flag --FILE"},
		{[]string{"---file", "f"}, "unknown flag ---file"},
		{[]string{"--", "do"}, "stray argument do"},
		{[]string{"--=x"}, "unknown flag --"},
		{[]string{"--file"}, "--file needs a value"},
		{[]string{"--file", "--help2"}, "--file needs a value"},
		{[]string{"--file="}, "--file is empty"},
		{[]string{"--file", ""}, "--file is empty"},
		{[]string{"--file", "a", "--file", "b"}, "--file is given twice"},
		{[]string{"--file", "a", "do", "x", "--file", "b"}, "--file is given twice"},
		{[]string{"--help=1"}, "unknown flag --help"},
		{[]string{"--version=1"}, "unknown flag --version"},
		{[]string{"--verbose"}, "--verbose goes with --version"},
		{[]string{"do", "x", "--verbose"}, "--verbose goes with --version"},
		{[]string{""}, "unknown command"},
		{[]string{"do"}, "missing argument: want ID [MORE]"},
		{[]string{"do", ""}, "an argument is empty"},
		{[]string{"do", "x", "y", "z"}, "stray argument z"},
		{[]string{"do", "x", "--bogus"}, "unknown flag --bogus"},
		{[]string{"do", "x", "-y"}, "unknown flag -y"},
		{[]string{"do", "x", "--n", "ten"}, "ten"},
		{[]string{"do", "x", "--n", "99999999999999999999"}, "99999999999999999999"},
		{[]string{"do", "x", "--n", "010"}, "--n 010: want a whole number"},
		{[]string{"do", "x", "--n", "0x5"}, "--n 0x5: want a whole number"},
		{[]string{"do", "x", "--n=1_000"}, "want a whole number"},
		{[]string{"do", "x", "--n", "+5"}, "want a whole number"},
		{[]string{"do", "x", "--n", "-0"}, "want a whole number"},
		{[]string{"do", "x", "--n", " 5"}, "want a whole number"},
		{[]string{"do", "x", "--d", "5"}, "5"},
		{[]string{"do", "x", "--yes=maybe"}, "--yes takes no value"},
		{[]string{"do", "x", "--yes="}, "--yes is empty"},
		{[]string{"do", "x", "--yes", "--yes"}, "--yes is given twice"},
		{[]string{"--yes"}, "unknown flag --yes"},
		{[]string{"--yes", "none"}, "unknown flag --yes"},
		{[]string{"none", "--file", "f"}, "unknown flag --file"},
		{[]string{"none", "x"}, "stray argument x"},
		{[]string{"none", "help"}, "stray argument help"},
		{[]string{"run"}, "missing argument: want -- CMD [ARG...]"},
		{[]string{"run", "--"}, "missing argument"},
		{[]string{"do", "\x1b[2J", "b", "c\nprog: error: forged"}, `stray argument c\nprog: error: forged`},
	} {
		var got ran
		status, stdout, stderr := run(fixture(&got), c.args...)
		if status != 64 || stdout != "" || got.name != "" || !strings.Contains(stderr, c.want) || !strings.HasPrefix(stderr, "prog: error: ") {
			t.Errorf("prog %q: %d %q %q, ran %q", c.args, status, stdout, stderr, got.name)
		}
		if strings.Contains(stderr, "\x1b") || !strings.Contains(stderr, "\nprog: hint: prog") {
			t.Errorf("prog %q: %q", c.args, stderr)
		}
	}
}

func TestHelpAndVersion(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"--help", "usage: prog [flags] [COMMAND]\n\nDo it.\n"}, {"--file f --help", "usage: prog"},
		{"do --help", "usage: prog do [flags] ID [MORE]\n"}, {"--help do", "usage: prog do"}, {"do x y --yes --help", "usage: prog do"},
		{"run --help", "usage: prog run"}, {"none --help", "usage: prog none [flags]\n"}, {"--help --version", "usage: prog"},
		{"--version --verbose", "prog " + Version + "\n" + runtime.Version() + " "}, {"--verbose do --version", "prog " + Version + "\n" + runtime.Version() + " "},
		{"--version", "prog " + Version + "\n"}, {"do --version", "prog " + Version + "\n"}, {"none --version", "prog "},
	} {
		var got ran
		status, stdout, stderr := run(fixture(&got), strings.Fields(c.line)...)
		if status != 0 || stderr != "" || !strings.HasPrefix(stdout, c.want) || got.name != "" {
			t.Errorf("prog %s: %d %q %q, ran %q", c.line, status, stdout, stderr, got.name)
		}
	}
	// After -- it is an argument of another command.
	var got ran
	if status, stdout, _ := run(fixture(&got), "run", "--", "sh", "--help"); status != 0 || stdout != "" || got.args[1] != "--help" {
		t.Errorf("%d %q %s", status, stdout, &got)
	}
}

func TestEnvironment(t *testing.T) {
	var got ran
	t.Setenv("PULSE_TEST_FILE", "from env")
	if status, _, stderr := run(fixture(&got), "do", "x"); status != 0 || got.file != "from env" {
		t.Errorf("%d %s %s", status, stderr, &got)
	}
	if status, _, stderr := run(fixture(&got), "do", "x", "--file", "flag"); status != 0 || got.file != "flag" {
		t.Errorf("%d %s %s", status, stderr, &got)
	}
	t.Setenv("PULSE_TEST_FILE", "")
	if status, _, stderr := run(fixture(&got), "do", "x"); status != 0 || got.file != "" {
		t.Errorf("%d %s %s", status, stderr, &got)
	}
}

func TestMessages(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		want   string
	}{
		{errors.New("it failed"), 1, "prog: error: it failed\n"},
		{fault.Usagef("do this", "bad"), 64, "prog: error: bad\nprog: hint: do this\n"},
		{fault.Refusedf("", "no"), 77, "prog: error: no\n"},
		{fmt.Errorf("outer: %w", fault.Temporaryf("wait", "busy")), 75, "prog: error: outer: busy\nprog: hint: wait\n"},
		{&os.PathError{Op: "write", Path: "f", Err: syscall.ENOSPC}, 75, "prog: error: write f: no space left on device\n"},
		{errors.Join(errors.New("one"), errors.New("two\x1b[2J")), 1, "prog: error: one\nprog: error: two\\x1b[2J\n"},
		{fmt.Errorf("outer: %w", errors.Join(errors.New("one"), errors.New("two"))), 1, "prog: error: outer: one\\ntwo\n"},
		{fault.Usagef("ls 'a\nprog: hint: b'", "%w", errors.Join(errors.New("a\nprog: hint: b"), errors.New("c"))), 64,
			"prog: error: a\\nprog: hint: b\nprog: error: c\nprog: hint: ls 'a\\nprog: hint: b'\n"},
		{errInterrupted, 1, ""},
		{context.Canceled, 1, ""},
		{cli.Exit("sneaky", 3), 1, "prog: error: sneaky\n"},
	} {
		app := &cli.App{Name: "prog", Action: func(*cli.Context) error { return c.err }}
		if status, stdout, stderr := run(app); status != c.status || stdout != "" || stderr != c.want {
			t.Errorf("%v: %d %q %q", c.err, status, stdout, stderr)
		}
	}
}

// FuzzParse: whatever is typed, either something runs or it is 64, and nothing but
// help is on stdout.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"do\x00x\x00--file\x00f", "--help", "run\x00--\x00a\x00--b", "do\x00--list=a\x00-\x00--", "--=\x00=\x00--"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		var got ran
		args := strings.Split(line, "\x00")
		status, stdout, stderr := run(fixture(&got), args...)
		switch {
		case status == 64 && stdout == "" && got.name == "" && strings.HasPrefix(stderr, "prog: error: "):
		case status == 0 && stderr == "" && (got.name != "") != (stdout != ""):
		default:
			t.Errorf("%q: %d %q %q, ran %q", args, status, stdout, stderr, got.name)
		}
	})
}

// TestInput: a signal ends a read that waits at once, and otherwise the next one.
func TestInput(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	paused := 0
	in := newInput(r)
	in.onPause = func() error { paused++; return nil }
	b := make([]byte, 10)
	if _, err := w.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	if n, err := in.Read(b); n != 1 || err != nil || paused != 0 {
		t.Errorf("%d, %v, paused %d times", n, err, paused)
	}
	in.onPause = func() error { paused++; _, err := w.WriteString("y"); return err }
	if n, err := in.Read(b); n != 1 || err != nil || paused != 1 {
		t.Errorf("%d, %v, paused %d times", n, err, paused)
	}
	failed := errors.New("can't write out")
	in.onPause = func() error { return failed }
	if _, err := in.Read(b); err != failed {
		t.Error(err)
	}
	in.onPause = func() error { in.interrupt(func() { t.Error("died at work") }); return nil }
	if _, err := in.Read(b); err != errInterrupted {
		t.Error(err)
	}
	in = newInput(r)
	died := make(chan bool, 1)
	in.onPause = func() error {
		go func() {
			for {
				in.mu.Lock()
				idle := in.idle
				in.mu.Unlock()
				if idle {
					in.interrupt(func() { w.Close(); died <- true })
					return
				}
			}
		}()
		return nil
	}
	if _, err := in.Read(b); err != io.EOF || !<-died {
		t.Error(err)
	}
}

// TestNothing: only a pipe that has ended without input has nothing, and nothing is read of one that has.
func TestNothing(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for text, want := range map[string]bool{"": true, "x": false} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if _, err := w.WriteString(text); err != nil {
			t.Fatal(err)
		}
		w.Close()
		got := Nothing(cli.NewContext(&cli.App{Reader: newInput(r)}, nil, nil))
		if b, err := io.ReadAll(r); got != want || string(b) != text || err != nil {
			t.Errorf("%q: %v, then %q, %v", text, got, b, err)
		}
	}
	for _, in := range []io.Reader{newInput(null), strings.NewReader(""), &input{file: null, lost: io.EOF}} {
		if Nothing(cli.NewContext(&cli.App{Reader: in}, nil, nil)) {
			t.Errorf("%v", in)
		}
	}
}

// full is a disk that has room again for what is short.
type full struct{}

func (full) Write(p []byte) (int, error) {
	if len(p) > 2 {
		return 0, syscall.ENOSPC
	}
	return len(p), nil
}

// TestWhatIsNotWritten: a command whose output was lost did not succeed, though what
// it wrote last was taken.
func TestWhatIsNotWritten(t *testing.T) {
	app := &cli.App{Name: "prog", Action: func(c *cli.Context) error {
		fmt.Fprintln(c.App.Writer, "long")
		_, err := fmt.Fprintln(c.App.Writer, "s")
		return err
	}}
	var stderr bytes.Buffer
	status := Run(context.Background(), app, []string{"prog"}, strings.NewReader(""), full{}, &stderr)
	if status != 75 || stderr.String() != "prog: error: no space left on device\n" {
		t.Errorf("exit %d, %s", status, &stderr)
	}
}
