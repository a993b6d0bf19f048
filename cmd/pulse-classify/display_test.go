package main

import (
	"fmt"
	"strings"
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
	"pulse/lib/shared/escape/escapetest"
)

func TestEveryWord(t *testing.T) {
	cmdlinetest.Words(t, app, func(attack string) [][]string {
		return [][]string{{"suggest", "--owner", attack + "@example.com"}}
	})
}

func TestEveryPolicy(t *testing.T) {
	cmdlinetest.Policies(t, func(t *testing.T, policy ...string) {
		stdout, stderr, _ := cmdlinetest.Typed(app(), "{}\n", policy...)
		cmdlinetest.Fine(t, fmt.Sprintf("%q", policy), stdout, stderr)
	})
}

// TestSuggest: its report is made of what servers and senders wrote.
func TestSuggest(t *testing.T) {
	for _, a := range escapetest.Records() {
		results := "mx.example.com; dmarc=pass header.from=example.com; dkim=pass header.d=example.com"
		for _, headers := range []string{
			"%A%", "%A%; dmarc=pass header.from=%A%", results + " (%A%)", results + " reason=%A%", results + " header.i=%A%", "mx.%A%.example; none", "(%A%) mx.example.com; none",
		} {
			a.Text = strings.ReplaceAll(headers, "%A%", a.Text)
			stdout, stderr, _ := cmdlinetest.Typed(app(), escapetest.Mail(a), "suggest", "--owner", "me@example.com")
			cmdlinetest.Fine(t, a.Name, stdout, stderr)
		}
	}
}
