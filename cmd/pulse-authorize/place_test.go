package main

import (
	"os"
	"strings"
	"testing"
)

// scripts/crontab is what init writes for /etc/pulse, and there is one template for both.
func TestCrontabFile(t *testing.T) {
	b, err := os.ReadFile("../../scripts/crontab")
	if err != nil {
		t.Fatal(err)
	}
	if got := (place{system, "/usr/local"}).crontab(); got != string(b) {
		t.Errorf("it is not\n%s", got)
	}
}

// TestPrefix: what is installed elsewhere is started there.
func TestPrefix(t *testing.T) {
	p := place{system, "/usr"}
	for _, text := range []string{p.crontab(), p.environment("imaps://me@imap.example.com/INBOX")} {
		if strings.Contains(text, "/usr/local") || strings.Contains(text, "@ETC@") || strings.Contains(text, "@ACCEPT@") {
			t.Error(text)
		}
	}
}
