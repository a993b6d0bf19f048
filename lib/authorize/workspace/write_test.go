package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pulse/lib/authorize/edit"
)

// TestReplaceMeanwhile: what another program does between the look at a file and the change of its
// place stays as that program left it, and the change is not made.
func TestReplaceMeanwhile(t *testing.T) {
	defer func() { testOnlyBefore = func() {} }()
	old := edit.File{Data: []byte("old")}
	now := edit.File{Data: []byte("new")}
	gone := edit.File{Absent: true}
	for name, c := range map[string]struct {
		was, becomes edit.File
		meanwhile    func(path string) error
		want         string // empty: no file
		fails        bool
	}{
		"nothing":        {old, now, func(string) error { return nil }, "new", false},
		"made":           {gone, now, func(string) error { return nil }, "new", false},
		"removed":        {old, gone, func(string) error { return nil }, "", false},
		"another text":   {old, now, func(p string) error { return os.WriteFile(p, []byte("other"), 0o600) }, "other", true},
		"another file":   {old, now, func(p string) error { return errors.Join(os.Remove(p), os.WriteFile(p, []byte("other"), 0o600)) }, "other", true},
		"a link":         {old, now, func(p string) error { return errors.Join(os.Remove(p), os.Symlink("/etc/passwd", p)) }, "", true},
		"it is gone":     {old, now, os.Remove, "", true},
		"it is there":    {gone, now, func(p string) error { return os.WriteFile(p, []byte("other"), 0o600) }, "other", true},
		"not removed":    {old, gone, func(p string) error { return os.WriteFile(p, []byte("other"), 0o600) }, "other", true},
		"a directory":    {old, now, func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) }, "", true},
		"another folder": {old, now, func(p string) error { return os.Rename(filepath.Dir(p), filepath.Dir(p)+"2") }, "", false},
	} {
		dir := t.TempDir()
		path := dir + "/sub/file"
		if err := os.Mkdir(dir+"/sub", 0o700); err != nil {
			t.Fatal(err)
		}
		if !c.was.Absent {
			if err := os.WriteFile(path, c.was.Data, 0o640); err != nil {
				t.Fatal(err)
			}
		}
		testOnlyBefore = func() {
			testOnlyBefore = func() {}
			if err := c.meanwhile(path); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		err := Replace(dir, &edit.Change{Path: "sub/file", Was: c.was, Becomes: c.becomes}, "x")
		if (err != nil) != c.fails || errors.Is(err, ErrUnsure) {
			t.Errorf("%s: %v", name, err)
		}
		if got, _ := os.ReadFile(path); name != "a link" && string(got) != c.want {
			t.Errorf("%s: %q", name, got)
		}
		if info, err := os.Stat(path); err == nil && name == "nothing" && info.Mode().Perm() != 0o640 {
			t.Errorf("%s: %v", name, info.Mode())
		}
		if left, _ := filepath.Glob(dir + "/sub*/.pulse*"); len(left) > 0 && name != "a directory" {
			t.Errorf("%s: it leaves %s", name, left)
		}
	}
}

// TestReplaceUnsure: what can't be put back is not said to be as it was.
func TestReplaceUnsure(t *testing.T) {
	defer func() { testOnlyBefore = func() {} }()
	dir := t.TempDir()
	put := func() {
		if err := os.WriteFile(dir+"/file", []byte("other"), 0o600); err != nil {
			t.Error(err)
		}
	}
	testOnlyBefore = put // as what is judged is looked at, and as it is put back
	was := edit.File{Data: []byte("old")}
	if err := os.WriteFile(dir+"/file", was.Data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Replace(dir, &edit.Change{Path: "file", Was: was, Becomes: edit.File{Absent: true}}, "x"); !errors.Is(err, ErrUnsure) {
		t.Errorf("%v, want %v", err, ErrUnsure)
	}
}
