package spool

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestWrittenIsNobodys: who can write the queue can put a file that somebody else
// alone could write where that one will write something else. From then on it is no
// yes of his.
func TestWrittenIsNobodys(t *testing.T) {
	for what, c := range map[string]struct {
		at    string
		write func(d *osDisk, at string) error
	}{
		"the log, written in place": {auditDir + "/2026-11.jsonl", func(d *osDisk, at string) error { return d.WriteAt(at, 0, []byte("x")) }},
		"the log, cut back":         {auditDir + "/2026-11.jsonl", func(d *osDisk, at string) error { return d.Truncate(at, 1) }},
		"made anew":                 {agendaFile, func(d *osDisk, at string) error { return d.Write(at, []byte("x"), time.Time{}) }},
		"in tmp":                    {tmpDir + "/applied", func(d *osDisk, at string) error { return d.Write(at, []byte("x"), time.Time{}) }},
	} {
		dir := t.TempDir()
		for _, name := range []string{"", tmpDir, auditDir, approvalDir} {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(path, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, sharedDirMode); err != nil {
				t.Fatal(err)
			}
		}
		d, err := openDisk(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer d.close()
		yes := approvalFile("1")
		if err := d.WriteHeld(yes, []byte("yes\n")); err != nil {
			t.Fatal(err)
		}
		heldMode := mode(t, dir, yes)
		if err := d.Rename(yes, c.at); err != nil {
			t.Fatal(err)
		}
		if err := c.write(d, c.at); err != nil {
			t.Fatal(err)
		}
		if got := mode(t, dir, c.at); heldMode != heldFileMode || got != sharedFileMode {
			t.Errorf("%s: mode %04o, and %04o once it was written", what, heldMode, got)
		}
		if _, holder, err := d.ReadHeld(c.at); holder != 0 || err != nil {
			t.Errorf("%s: held by %d, %v", what, holder, err)
		}
	}
}

func mode(t *testing.T, dir, name string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}
