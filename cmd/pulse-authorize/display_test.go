package main

import (
	"fmt"
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

func TestEveryWord(t *testing.T) {
	cmdlinetest.Words(t, app, func(attack string) [][]string {
		return [][]string{{"init", "--owner", attack + "@example.com"}, {"init", "--owner", "me@example.com", "--receiver", attack}}
	})
}

// TestEveryPolicy: what is said of a policy, right or wrong, is escaped.
func TestEveryPolicy(t *testing.T) {
	cmdlinetest.Policies(t, func(t *testing.T, policy ...string) {
		for _, command := range [][]string{{"check"}, {"matrix"}, {}} {
			args := append(command, policy...)
			stdout, stderr, _ := cmdlinetest.Typed(app(), "{}\n", args...)
			cmdlinetest.Fine(t, fmt.Sprintf("%q", args), stdout, stderr)
		}
	})
}
