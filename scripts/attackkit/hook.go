package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// used is a use of a tool that the hook was asked about.
type used struct {
	N      int
	Tool   string
	Answer string // allow, ask or deny; parked: denied, and proposed for a person to see
}

// hook asks the run that started this worker, as the agent's client would.
func (m *model) hook(tool string, input map[string]any) (string, error) {
	call, err := json.Marshal(map[string]any{"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input, "cwd": m.file("agent")})
	if err != nil {
		return "", err
	}
	c := exec.Command(m.Bin+"/pulse-authorize", "hook", "claude-code")
	c.Stdin, c.Stderr = bytes.NewReader(call), os.Stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("the hook: %w", err)
	}
	var answer struct {
		HookSpecificOutput struct{ PermissionDecision, PermissionDecisionReason string }
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return "", fmt.Errorf("the hook: %w: %s", err, out)
	}
	said := answer.HookSpecificOutput
	if strings.Contains(said.PermissionDecisionReason, "It was put to a person") {
		return "parked", nil
	}
	return said.PermissionDecision, nil
}
