package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestModelReadsOutcomes: the prompt speaks of outcomes, so the model has to get those that its
// worker is given.
func TestModelReadsOutcomes(t *testing.T) {
	const outcome = `{"task":"0123","outcome":"refused","reason":"not before Monday"}`
	const record = `{"message":{"id":"<1@mail.example>"},"identity":{"sender":"me@example.com"},"outcomes":[` + outcome + `],"task":{"id":"4567"}}`
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "llm"), []byte("#!/bin/sh\ncat >given\necho words\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("pulse-queue", "agent", "llm")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(record)
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "words\n" {
		t.Fatalf("%v: %s", err, out)
	}
	given, err := os.ReadFile(filepath.Join(dir, "given"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(given), outcome) || strings.Contains(string(given), "4567") {
		t.Errorf("the model got %s", given)
	}
}
