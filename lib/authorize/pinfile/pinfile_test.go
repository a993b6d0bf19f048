package pinfile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pulse/lib/authorize/pins"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/record"
	"pulse/lib/shared/safefile"
)

func read(t *testing.T, text string) pins.Tool {
	t.Helper()
	tool, err := pins.Read(record.Value(text))
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// TestFile: what is saved is what is loaded, and nothing is accepted that is not so written.
func TestFile(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy.toml")
	if p, err := Load(policy); p != nil || err != nil {
		t.Errorf("%v, %v", p, err)
	}
	s := &pins.Server{Name: "notes"}
	for _, text := range []string{`{"name":"b","description":"x\u001b\u202e"}`, `{"name":"a"}`} {
		if err := s.Add(read(t, text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Add(read(t, `{"name":"a","description":"another"}`)); err == nil {
		t.Error("it has two of one name")
	}
	for range 2 {
		if err := Save(s, policy); err != nil {
			t.Fatal(err)
		}
	}
	p, err := Load(policy)
	if err != nil || len(p) != 1 || p["notes"].Err != nil || !slices.Equal(p["notes"].Tools, s.Tools) {
		t.Fatalf("%+v, %v", p["notes"], err)
	}
	left, err := filepath.Glob(filepath.Dir(policy) + "/mcp/.*")
	if err != nil || len(left) > 0 {
		t.Error(left, err)
	}

	path := Path(policy, "notes")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, edit := range [][2]string{{`"a"`, `"c"`}, {`"notes"`, `"other"`}, {s.Tools[0].SHA256, s.Tools[1].SHA256}, {`"tools"`, `"Tools"`}, {`"server"`, `"more":1,"server"`}, {`"name": "b",`, ``}, {`x\u001b`, `y\u001b`}, {"{", ""}, {`"sha256"`, `"more":1,"sha256"`}} {
		if !strings.Contains(string(good), edit[0]) {
			t.Fatal(edit[0])
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(good), edit[0], edit[1], 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := Load(policy)
		if err != nil || p["notes"].Err == nil || len(p["notes"].Tools) > 0 || p["notes"].Changed(s.Tools[0]) == "" {
			t.Errorf("%q: %+v, %v", edit, p["notes"], err)
		}
	}

	dir := filepath.Dir(path)
	for file, class := range map[string]error{path: safefile.ErrWritable, dir: safefile.ErrWritable} {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, info.Mode()|0o022); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(policy); !errors.Is(err, class) || fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" {
			t.Errorf("%s: %v", file, err)
		}
		if err := os.Chmod(file, info.Mode()); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(path, filepath.Join(dir, "Notes.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(policy); !errors.Is(err, errName) {
		t.Error(err)
	}
}
