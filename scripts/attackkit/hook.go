package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// used is a use of a tool that the hook was asked about.
type used struct {
	N      int
	Tool   string
	Answer string // allow, ask or deny; parked: denied, and proposed for a person to see
}

// hook asks scripts/hooks, as the agent would.
func (m *model) hook(tool string, input map[string]any) (string, error) {
	call, err := json.Marshal(map[string]any{"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input, "cwd": m.file("agent")})
	if err != nil {
		return "", err
	}
	base := m.file("records/" + m.Task.ID)
	if err := m.lay(base); err != nil {
		return "", err
	}
	argv := []string{filepath.Join(m.Tree, "scripts/hooks/agent"), "claude-code"}
	if _, err := os.Stat(argv[0]); err != nil {
		argv = []string{filepath.Join(m.Tree, "scripts/hooks/claude-code")}
	}
	c := exec.Command(argv[0], argv[1:]...)
	c.Stdin, c.Stderr = bytes.NewReader(call), os.Stderr
	c.Env = append(os.Environ(), "PATH="+m.Bin+":"+os.Getenv("PATH"), "PULSE_POLICY="+m.file("policy.toml"),
		"PULSE_RECORD="+base, "PULSE_JUDGED="+base+".judged", "PULSE_PARKED="+base+".parked")
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("the hook: %w", err)
	}
	var answer struct {
		HookSpecificOutput struct{ PermissionDecision string }
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return "", fmt.Errorf("the hook: %w: %s", err, out)
	}
	judged, err := os.ReadFile(base + ".judged")
	parked, failed := os.ReadFile(base + ".parked")
	said := answer.HookSpecificOutput.PermissionDecision
	if len(parked) > len(m.parked) {
		said = "parked"
	}
	m.judged, m.parked = string(judged), string(parked)
	return said, errors.Join(err, failed)
}

// lay puts the record where the hook finds it, once.
func (m *model) lay(base string) error {
	if _, err := os.Stat(base); err == nil {
		return nil
	}
	return errors.Join(os.WriteFile(base, []byte(m.raw), 0o600),
		os.WriteFile(base+".judged", nil, 0o600), os.WriteFile(base+".parked", nil, 0o600))
}
