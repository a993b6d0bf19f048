package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

// bin holds the commands, built as scripts/install builds them.
var bin string

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "packagekit-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = os.Chdir("../..") // where packagekit is started
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	bin = dir
	if err := cmdlinetest.Build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// built returns the paths of the commands.
func built(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob(bin + "/pulse-*")
	if err != nil || len(list) != 5 {
		t.Fatal(list, err)
	}
	return list
}
