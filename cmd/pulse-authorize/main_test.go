package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

// The sessions find scripts/hooks in PATH.
func TestMain(m *testing.M) {
	hooks, err := filepath.Abs("../../scripts/hooks")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv("PATH", hooks+string(filepath.ListSeparator)+os.Getenv("PATH"))
	cmdlinetest.Main(m, "pulse-authorize", main)
}

func TestSessions(t *testing.T) { cmdlinetest.Run(t) }
