package main

import (
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

func TestMain(m *testing.M) {
	cmdlinetest.Main(m, "pulse-authorize", main, "pulse-fetch", "pulse-classify")
}

func TestSessions(t *testing.T) { cmdlinetest.Run(t) }
