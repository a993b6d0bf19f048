package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// options are those of a directory that a group may write.
var options = Options{Tmp: "tmp", Most: func(string) int64 { return 1 << 20 }, Shared: 0o660, Owned: 0o640}

// testDir is a directory that a test opened.
type testDir struct {
	*Dir
	path string
}

func opened(t *testing.T) testDir {
	t.Helper()
	path := t.TempDir()
	if err := os.Mkdir(filepath.Join(path, "tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	d, err := Open(path, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return testDir{d, path}
}

// TestNamesLeadNowhereElse: a name may come from a forged log, and
// the directories may be links that he made.
func TestNamesLeadNowhereElse(t *testing.T) {
	dir := t.TempDir()
	root, aim := filepath.Join(dir, "q"), filepath.Join(dir, "aim")
	err := errors.Join(os.MkdirAll(filepath.Join(root, "meta", "deep"), 0o700), os.MkdirAll(filepath.Join(aim, "deep"), 0o700),
		os.WriteFile(filepath.Join(aim, "x"), []byte("was"), 0o600), os.Symlink(aim, filepath.Join(root, "link")), os.Symlink(filepath.Join(aim, "x"), filepath.Join(root, "meta", "l")))
	if err != nil {
		t.Fatal(err)
	}
	d, err := Open(root, options)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, name := range []string{
		"", "/", ".", "..", "../aim/x", "meta/", "/meta", "meta/..", "meta/../../aim/x", "meta/.", "../x", "./x", "meta/deep/x", "link/x", "link/deep/x", "meta/l", "meta//x",
		filepath.Join(aim, "x"),
	} {
		_, stat := d.Stat(name)
		for what, err := range map[string]error{
			"write at": d.WriteAt(name, 0, []byte("now")), "truncate": d.Truncate(name, 0), "sync": d.SyncFile(name),
			"link": d.Link(name, "meta/other"), "rename": d.Rename(name, "meta/taken"), "write": d.Write(name, []byte("now"), time.Time{}),
		} {
			if err == nil && (name != "meta/l" || what != "rename" && what != "link" && what != "write") { // a link itself may be moved, and replaced
				t.Errorf("%s of %q", what, name)
			}
		}
		if name != "meta/l" && stat == nil {
			t.Errorf("stat of %q", name)
		}
		if b, err := os.ReadFile(filepath.Join(aim, "x")); string(b) != "was" {
			t.Fatalf("%q changed what is outside: %q, %v", name, b, err)
		}
	}
	if err := d.Names("link", func(string) error { return nil }); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("names behind a link: %v", err)
	}
}

// TestReadAll: many files are read as each is alone, and what can't be read is left out.
func TestReadAll(t *testing.T) {
	d := opened(t)
	var names []string
	for i := range 3 * readers {
		name := fmt.Sprintf("tmp/%d", i)
		names = append(names, name)
		var err error
		switch i % 4 {
		case 0:
			continue // there is none
		case 1:
			err = os.Symlink("2", filepath.Join(d.path, name))
		default:
			err = d.Write(name, make([]byte, i), time.Time{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	const most = 2 * readers
	files := d.ReadAll(names, most)
	for i, b := range files {
		alone, err := d.Read(names[i])
		if there := err == nil && len(alone) <= most; there != (b != nil) || there && !bytes.Equal(b, alone) {
			t.Errorf("%s: %d bytes, %t; alone %d, %v", names[i], len(b), b != nil, len(alone), err)
		}
	}
	if files := d.ReadAll([]string{"gone/1", "gone/2"}, most); len(files) != 2 || files[0] != nil || files[1] != nil {
		t.Errorf("of a directory that is not there: %q", files)
	}
}
