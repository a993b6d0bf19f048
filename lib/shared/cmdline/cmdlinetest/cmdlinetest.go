// Package cmdlinetest runs commands for tests: sessions in txtar, and a person at
// a terminal.
//
// Invariant: a test sees the environment of testscript and nothing of the
// developer's. Caveat: the commands besides the tested one are built without the race
// detector.
package cmdlinetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// Main is the TestMain of a command: name runs main, and the other commands of
// pulse that its sessions use are built.
func Main(m *testing.M, name string, main func(), others ...string) {
	syscall.Umask(0o022) // a policy or queue that others may write is refused
	testscript.Main(&built{m, others}, map[string]func(){name: main})
}

// built runs the tests with the other commands in PATH.
type built struct {
	m      *testing.M
	others []string
}

func (b *built) Run() int {
	dir, err := os.MkdirTemp("", "pulse-test-")
	if err == nil {
		defer os.RemoveAll(dir)
	}
	if err == nil && len(b.others) > 0 {
		err = Build(dir, b.others...)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Setenv("XDG_STATE_HOME", filepath.Join(dir, ".state"))
	os.Setenv("NO_COLOR", "1")     // what is tested is text
	if os.Getenv("GORACE") == "" { // each command would sleep for a second at its end
		os.Setenv("GORACE", "atexit_sleep_ms=0")
	}
	os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return b.m.Run()
}

// Build builds commands of pulse into a directory, as scripts/install does; without names
// all of them. It takes them from what go run keeps, because go build links each anew.
func Build(dir string, names ...string) error { return BuildWith(dir, nil, names...) }

// BuildWith is Build with more flags of go build, such as -overlay=FILE.
func BuildWith(dir string, flags []string, names ...string) error {
	if len(names) == 0 {
		names = []string{"pulse-fetch", "pulse-classify", "pulse-authorize", "pulse-queue", "pulse-approve"}
	}
	for _, name := range names {
		args := append([]string{"run", "-trimpath", "-tags", "urfave_cli_no_docs", "-ldflags", "-s -w", "-exec", "cp -t '" + dir + "'"}, flags...)
		cmd := exec.Command("go", append(args, "pulse/cmd/"+name)...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("building %s: %w\n%s", name, err, out)
		}
	}
	return nil
}

// Run runs the sessions in testdata. Besides testscript's own commands they have
//
//	exits STATUS CMD [ARG...]   run a command that must end with this status
//	person CMD [ARG...]         run a command at a terminal and type the codes it shows
//	id NAME                     set NAME to the task id in the last line of stdout
//
// and the variable SHARED, a copy of testdata/shared, the files that sessions share:
// in the checkout others may be allowed to write them.
func Run(t *testing.T) { RunIn(t, "testdata", func(*testscript.Env) {}) }

// RunIn runs the sessions in a directory, each in an environment that setup completes.
func RunIn(t *testing.T, dir string, setup func(*testscript.Env)) {
	shared := t.TempDir()
	if err := copyShared(shared); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true, UpdateScripts: os.Getenv("UPD") != "",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": Exits, "person": person, "id": id,
		},
		Setup: func(e *testscript.Env) error {
			e.Setenv("SHARED", shared)
			e.Setenv("XDG_STATE_HOME", e.WorkDir+"/.state")
			e.Setenv("GORACE", os.Getenv("GORACE"))
			setup(e)
			return nil
		},
	})
}

func copyShared(dir string) error {
	list, err := filepath.Glob("testdata/shared/*")
	for _, name := range list {
		var b []byte
		if b, err = os.ReadFile(name); err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(name)), b, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return err
}

// Exits is the command exits of Run, for commands with sessions of their own kind.
func Exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS CMD [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var e *exec.ExitError
		if !errors.As(err, &e) {
			ts.Fatalf("%v", err)
		}
		got = e.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

func id(ts *testscript.TestScript, neg bool, args []string) {
	lines := strings.Split(strings.TrimSpace(ts.ReadFile("stdout")), "\n")
	var rec struct{ Task struct{ ID string } }
	err := json.Unmarshal([]byte(lines[len(lines)-1]), &rec)
	if neg || len(args) != 1 || err != nil || rec.Task.ID == "" {
		ts.Fatalf("usage: id NAME, after a command that printed a receipt (%v)", err)
	}
	ts.Setenv(args[0], rec.Task.ID)
}

func person(ts *testscript.TestScript, neg bool, args []string) {
	path, err := exec.LookPath(args[0])
	ts.Check(err)
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = os.Environ()
	for _, name := range []string{"PULSE_QUEUE", "PULSE_POLICY", "XDG_STATE_HOME", "PERSON"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	p, err := Sit(cmd)
	ts.Check(err)
	defer p.Leave()
	code, err := p.Code()
	for more := err; err == nil && more == nil; code, more = p.Code() {
		err = p.Answer(code)
	}
	status, out := p.Wait()
	_, werr := ts.Stdout().Write(out)
	ts.Check(werr)
	if err != nil || (status == 0) == neg {
		ts.Fatalf("exit status %d, %v", status, err)
	}
}
