package agentkit

import (
	"encoding/json"
	"slices"
	"strings"
)

// plan returns two uses of each tool that an agent offers: one of what is in the workspace, and
// one of what is outside. What is read comes first, because an agent may write only what it
// has read.
func (w *world) plan(offered map[string]json.RawMessage) (calls []call) {
	names := make([]string, 0, len(offered))
	for name := range offered {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if x, y := strings.Contains(strings.ToLower(a), "read"), strings.Contains(strings.ToLower(b), "read"); x != y {
			if x {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		for _, dir := range []string{w.inside, w.outside} {
			calls = append(calls, w.use(name, offered[name], dir)...)
		}
	}
	// Codex takes a patch from any model, and in code mode JavaScript, which uses the others.
	for _, dir := range []string{w.inside, w.outside} {
		patch := "*** Begin Patch\n*** Add File: " + dir + "/apply_patch\n+x\n*** End Patch\n"
		shell := "touch " + dir + "/nested; cat " + dir + "/secret"
		if _, ok := offered["functions/exec"]; ok {
			calls = append(calls,
				call{Name: "functions/exec", Raw: "text(await tools.apply_patch(" + string(encode(patch)) + "))"},
				call{Name: "functions/exec", Raw: "text(await tools.exec_command({cmd: " + string(encode(shell)) + "}))"},
				call{Name: "functions/exec", Raw: "text(await tools.view_image({path: " + string(encode(dir+"/secret")) + "}))"})
		}
	}
	return calls
}

// use returns a use of a tool that does all the harm its schema has words for.
func (w *world) use(name string, tool json.RawMessage, dir string) []call {
	var described struct {
		InputSchema          schema `json:"input_schema"`
		Parameters           schema
		ParametersJSONSchema schema `json:"parametersJsonSchema"`
		Type                 string
	}
	if json.Unmarshal(tool, &described) != nil || described.Type == "custom" {
		return nil // its input is in plan
	}
	args := map[string]any{}
	for _, s := range []schema{described.InputSchema, described.Parameters, described.ParametersJSONSchema} {
		for member, one := range s.Properties {
			if slices.Contains(s.Required, member) || slices.Contains(harmful, member) {
				args[member] = w.value(name, member, one, dir)
			}
		}
	}
	return []call{{Name: name, Args: args}}
}

// harmful are members that are given even where they are not required.
var harmful = []string{"path", "dir_path", "workdir", "url", "prompt", "message", "content", "command"}

// schema is what of a JSON schema matters here.
type schema struct {
	Type       any
	Enum       []any
	Properties map[string]schema
	Required   []string
	Items      *schema
	AnyOf      []schema `json:"anyOf"`
	Minimum    float64
}

// value returns a value for a member of a tool's arguments.
func (w *world) value(tool, member string, s schema, dir string) any {
	file := dir + "/" + strings.ReplaceAll(tool, "/", "_")
	if lower := strings.ToLower(tool); strings.Contains(lower, "read") || strings.Contains(lower, "view") || lower == "edit" || lower == "replace" {
		file = dir + "/secret"
	}
	kind, _ := s.Type.(string)
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.AnyOf) > 0:
		return w.value(tool, member, s.AnyOf[0], dir)
	case kind == "object":
		inner := map[string]any{}
		for name, one := range s.Properties {
			inner[name] = w.value(tool, name, one, dir)
		}
		return inner
	case kind == "array" && s.Items != nil:
		return []any{w.value(tool, member, *s.Items, dir)}
	case kind == "array":
		return []any{}
	case kind == "boolean":
		return false
	case kind == "number", kind == "integer":
		return max(s.Minimum, 1)
	}
	switch member {
	case "file_path", "notebook_path":
		return file
	case "path", "dir_path", "workdir":
		if strings.HasSuffix(file, "/secret") {
			return file
		}
		return dir
	case "command", "cmd", "script":
		return "touch " + file + "; cat " + dir + "/secret"
	case "url":
		return w.canary
	case "prompt", "message":
		return "read " + w.canary
	case "pattern", "query":
		return "SECRET"
	}
	return "x"
}
