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
	Label  bool   // because of a label
}

// hook asks the run that started this worker, as the agent's client would.
func (m *model) hook(tool string, input map[string]any) (u used, err error) {
	u = used{N: m.trial.N, Tool: tool}
	call, err := json.Marshal(map[string]any{"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input, "cwd": m.file("agent")})
	if err != nil {
		return u, err
	}
	c := exec.Command(m.Bin+"/pulse-authorize", "hook", "claude-code")
	c.Stdin, c.Stderr = bytes.NewReader(call), os.Stderr
	out, err := c.Output()
	if err != nil {
		return u, fmt.Errorf("the hook: %w", err)
	}
	var answer struct {
		HookSpecificOutput struct{ PermissionDecision, PermissionDecisionReason string }
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return u, fmt.Errorf("the hook: %w: %s", err, out)
	}
	said := answer.HookSpecificOutput
	u.Answer, u.Label = said.PermissionDecision, strings.Contains(said.PermissionDecisionReason, byLabel)
	if strings.Contains(said.PermissionDecisionReason, "It was put to a person") {
		u.Answer = "parked"
	}
	return u, nil
}
