package main

import (
	"bytes"
	"context"
	"strings"
	"syscall"
	"testing"

	"github.com/urfave/cli/v2"

	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/sandbox"
)

// TestTwoMatters: a disk that refuses is told although a lock that was held was told of, and neither
// ends with a command that writes nothing. Nor is what a kernel lacks the same as another thing.
func TestTwoMatters(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	locked := fault.Temporaryf("try again later", "the queue is locked")
	refused := fault.Temporaryf("look at the disk", "write: %w", syscall.EIO)
	lacks := func(what string) error { return fault.Temporaryf("", "%w: %s", sandbox.ErrLacks, what) }
	for i, step := range []struct {
		command string
		err     error
		want    string
	}{
		{"run", locked, "pulse-queue: error: the queue is locked"},
		{"add", locked, ""},
		{"add", refused, "pulse-queue: error: write: input/output error"},
		{"run", refused, ""},
		{"positions", nil, ""},
		{"run", refused, ""},
		{"run", nil, "pulse-queue: ended: the queue is locked\npulse-queue: ended: write: input/output error"},
		{"run", nil, ""},
		{"add", lacks("no Landlock"), "pulse-queue: error: sandbox: no Landlock"},
		{"add", lacks("no Landlock"), ""},
		{"add", nil, ""}, // by --sandbox auto: the kernel still has none
		{"add", lacks("no seccomp"), "pulse-queue: error: sandbox: no seccomp"},
	} {
		app := &cli.App{Name: "pulse-queue"}
		for _, name := range []string{"add", "run", "positions"} {
			app.Commands = append(app.Commands, &cli.Command{Name: name, Flags: []cli.Flag{cmdline.QueueFlag()},
				Action: quiet(func(*cli.Context) error { return step.err })})
		}
		var out, errs bytes.Buffer
		code := cmdline.Run(context.Background(), app, []string{"pulse-queue", step.command, "--queue", "q"}, strings.NewReader(""), &out, &errs)
		said, _, _ := strings.Cut(strings.TrimSpace(errs.String()), "\npulse-queue: hint")
		if said != step.want || (code == 75) != (step.err != nil) {
			t.Errorf("%d, %s: %d %q, want %q", i, step.command, code, said, step.want)
		}
	}
}
