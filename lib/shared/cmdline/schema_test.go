package cmdline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/schema"
)

// TestSchema: every name that a policy may have is a schema that is closed. A file is read
// only if nobody else may write it, and every error is about how pulse is set up.
func TestSchema(t *testing.T) {
	named := func(name string) *policy.Policy { return &policy.Policy{Extract: policy.Extract{Schema: name}} }
	for _, name := range policy.Schemas {
		if s, err := Schema(named(name)); err != nil || s.Free == 0 {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	if s, err := Schema(policy.Default()); s != nil || err != nil {
		t.Errorf("no schema: %+v, %v", s, err)
	}
	path := filepath.Join(t.TempDir(), "s.json")
	for text, want := range map[string]string{
		string(schema.Builtin("request")):          "",
		`{"type":"string"}`:                        "#: it lets any text through",
		"{}" + strings.Repeat(" ", schema.MaxSize): "it is too large",
		"-": "others may write it",
		"":  "no such file",
	} {
		os.Remove(path)
		mode := os.FileMode(0o600)
		if text == "-" {
			mode = 0o666
		}
		if text != "" {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
		s, err := Schema(named(path))
		switch {
		case want == "" && (err != nil || s.Free == 0):
			t.Errorf("%.30s: %+v, %v", text, s, err)
		case want != "" && (err == nil || s != nil || !strings.Contains(err.Error(), want) || fault.KindOf(err) != fault.Usage || fault.HintOf(err) == ""):
			t.Errorf("%.30s: %+v, %v, want %s", text, s, err, want)
		}
	}
}
