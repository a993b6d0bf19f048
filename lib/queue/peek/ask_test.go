package peek

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pulse/lib/shared/fault"
	"pulse/lib/shared/record"
)

// install puts a script as pulse-queue into a directory.
func install(t *testing.T, dir, script string) string {
	t.Helper()
	path := filepath.Join(dir, command)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(path) })
	return path
}

// TestBesideFirst: the pulse-queue of the same installation is asked, before one in PATH.
func TestBesideFirst(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if path, err := find(); err == nil || fault.KindOf(err) != fault.Usage {
		t.Errorf("%s, %v", path, err)
	}
	other := install(t, dir, "exit 0")
	if path, err := find(); path != other || err != nil {
		t.Errorf("%s, %v", path, err)
	}
	beside := install(t, filepath.Dir(own), "exit 0")
	if path, err := find(); path != beside || err != nil {
		t.Errorf("%s, %v", path, err)
	}
}

// TestAsk: lines come one after the other, and an end that is not 0 is an error whatever
// was printed before.
func TestAsk(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for _, c := range []struct {
		script, want, fails, hint string
		kind                      fault.Kind
	}{
		{`echo '{"a":1}'; echo '{"a":2}'`, `{"a":1}{"a":2}`, "", "", 0},
		{`echo "{\"a\":\"$1\"}"`, `{"a":"sessions"}`, "", "", 0},
		{`cat; exit 0`, "", "", "", 0}, // it reads nothing of ours
		{`echo '{"a":1}'; echo no`, `{"a":1}`, dir + "/pulse-queue sessions: ", "", fault.Failed},
		{`echo 'pulse-queue: error: one' >&2; echo 'pulse-queue: error: two' >&2; exit 64`, "", "one\ntwo", "", fault.Usage},
		{`echo 'pulse-queue: error: away' >&2; echo 'pulse-queue: hint: wait' >&2; exit 75`, "", "away", "wait", fault.Temporary},
		{`exit 75`, "", "pulse-queue: exit status 75: why was told lately", "pulse-queue verify says it again", fault.Temporary},
		{`exit 64`, "", "pulse-queue: exit status 64", "", fault.Usage},
		{`echo 'pulse-queue: error: no' >&2; exit 77`, "", "no", "", fault.Refused},
		{`echo '{"a":1}'; echo 'panic: 7' >&2; exit 2`, "", "pulse-queue: exit status 2", "", fault.Failed},
		{`kill -9 $$`, "", "pulse-queue: signal: killed", "", fault.Failed},
	} {
		install(t, dir, c.script)
		got := ""
		err := ask(t.Context(), func(v record.Value) error { got += string(v); return nil }, "sessions")
		if got != c.want || (err == nil) != (c.fails == "") {
			t.Errorf("%s: %s, %v", c.script, got, err)
		}
		if err != nil && (!strings.HasPrefix(err.Error(), c.fails) || fault.KindOf(err) != c.kind || fault.HintOf(err) != c.hint) {
			t.Errorf("%s: %d %v (%s)", c.script, fault.KindOf(err), err, fault.HintOf(err))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ask(ctx, nil, "sessions"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
