package main

import (
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

func TestMain(m *testing.M) { cmdlinetest.Main(m, "pulse-classify", main, "pulse-fetch") }

func TestSessions(t *testing.T) { cmdlinetest.Run(t) }
