package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	must(t, err)
	must(t, os.WriteFile(to, b, 0o755))
}

// TestPrograms: an interpreter is recognized under any name: as a link, a hard link, a
// copy or a version.
func TestPrograms(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	sh, err := exec.LookPath("sh")
	must(t, err)
	sh, err = filepath.EvalSymlinks(sh)
	must(t, err)
	must(t, os.Mkdir(at("bin"), 0o755))
	old := programs
	programs = append([]string{at("bin"), at("missing")}, old...)
	defer func() { programs = old }()
	must(t, os.WriteFile(at("bin/python3.99"), []byte("made up, and 25 bytes long"), 0o755))
	must(t, os.Link(at("bin/python3.99"), at("hard")))
	must(t, os.WriteFile(at("same-size"), []byte("made up, but 25 bytes long"), 0o755))
	must(t, os.WriteFile(at("job"), []byte("#!/bin/sh\n"), 0o755))
	must(t, os.WriteFile(at("empty"), nil, 0o755))
	must(t, os.Symlink(sh, at("report")))
	must(t, os.Symlink("job", at("link")))
	copyFile(t, sh, at("copy"))
	for name, want := range map[string]struct{ interpreter, script bool }{
		"report": {true, false}, "copy": {true, false}, "hard": {true, false}, "bin/python3.99": {true, false},
		"same-size": {}, "empty": {}, "job": {false, true}, "link": {false, true},
	} {
		p, err := World{}.Program(at(name))
		must(t, err)
		b, err := os.ReadFile(at(name))
		must(t, err)
		sum := sha256.Sum256(b)
		if (p.Interpreter != "") != want.interpreter || p.Script != want.script || p.SHA256 != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: %+v", name, p)
		}
	}
	for _, name := range []string{"none", "bin", "job/x"} {
		if p, err := (World{}).Program(at(name)); err == nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
	must(t, os.Truncate(at("empty"), maxProgram+1))
	if _, err := (World{}).Program(at("empty")); err == nil || !strings.Contains(err.Error(), "larger") {
		t.Error(err)
	}
}
