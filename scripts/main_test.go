package scripts_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

// bin holds the commands, first in PATH, and a program that tries what a box forbids. Any
// account can reach it.
var bin string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "pulse-scripts-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = os.Chmod(dir, 0o755)
	}
	if err == nil {
		err = cmdlinetest.Build(dir, "pulse-queue", "pulse-authorize")
	}
	if err == nil {
		cmd := exec.Command("gcc", "-Wall", "-Werror", "-o", filepath.Join(dir, "holes"), "testdata/holes.c", "-lutil")
		cmd.Stderr = os.Stderr
		err = cmd.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	bin = dir
	os.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return m.Run()
}
