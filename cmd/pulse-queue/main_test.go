package main

import (
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

func TestMain(m *testing.M) {
	cmdlinetest.Main(m, "pulse-queue", main, "pulse-classify", "pulse-authorize", "pulse-approve")
}

func TestSessions(t *testing.T) { cmdlinetest.Run(t) }
