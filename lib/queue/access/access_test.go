package access

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pulse/lib/queue/disk"
	"pulse/lib/shared/fault"
)

// layout is that of a small queue.
var layout = Layout{Dirs: append([]string{"tmp", "late"}, answers...), Late: []string{"late"}, Tmp: "tmp", Lock: "lock", Network: "network", Files: []string{FormatFile}}

// mine are the groups of a queue whose approvers are this process's own group.
func mine() Groups { return Groups{Approvers: Group{"mine", os.Getegid()}} }

// made returns a small queue for some groups.
func made(t *testing.T, g Groups) *Dir {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "q")
	made, err := Claim(dir, &layout, true, &g)
	if made || err != nil {
		t.Fatal(made, err)
	}
	for _, name := range layout.Dirs {
		err = errors.Join(err, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	err = errors.Join(err, os.WriteFile(filepath.Join(dir, layout.Lock), nil, 0o600), opened(t, dir).Admit(&g))
	if err == nil {
		err = opened(t, dir).disk.WriteAt(FormatFile, 0, []byte("1")) // shared, as Admit left it
	}
	if err != nil {
		t.Fatal(err)
	}
	return opened(t, dir)
}

func opened(t *testing.T, dir string) *Dir {
	t.Helper()
	d, err := disk.Open(dir, Options(layout.Tmp, func(string) int64 { return 1 << 10 }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return Of(d, dir, &layout)
}

func TestThere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		made(t, Groups{}).path: "", t.TempDir(): "it has no file format", file: "there is no queue", file + "/x": "there is no queue",
		filepath.Join(t.TempDir(), "none"): "there is no queue", "/" + strings.Repeat("x", 300): "queue: ",
	} {
		err := There(dir)
		if (err != nil) != (want != "") || err != nil && (!strings.Contains(err.Error(), want) || fault.KindOf(err) != fault.Usage) {
			t.Errorf("%.40s: %v, want %q", dir, err, want)
		}
	}
}

func TestTrust(t *testing.T) {
	for mode, want := range map[os.FileMode]string{
		0o700: "", 0o755: "", 0o770: "others may write it", 0o702: "others may write it", 0o777 | os.ModeSticky: "others may write it",
	} {
		d := made(t, Groups{})
		if err := os.Chmod(d.path, mode); err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{Trust(d.path), opened(t, d.path).Trust()} {
			if (err != nil) != (want != "") || err != nil && (!strings.Contains(err.Error(), want) || fault.KindOf(err) != fault.Usage) {
				t.Errorf("%s: %v, want %q", mode, err, want)
			}
		}
	}
}

func TestTrustSnapshot(t *testing.T) {
	for _, c := range []struct {
		parent, dir os.FileMode
		trusted     bool
	}{
		{0o755, 0o550, true}, {0o777 | os.ModeSticky, 0o550, true}, {0o777, 0o550, false}, {0o755, 0o570, false}, {0o755, 0o557 | os.ModeSticky, false},
	} {
		dir := filepath.Join(t.TempDir(), "parent", "copy")
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.Chmod(dir, c.dir), os.Chmod(filepath.Dir(dir), c.parent)); err != nil {
			t.Fatal(err)
		}
		if err := TrustSnapshot(dir); (err == nil) != c.trusted {
			t.Errorf("%s in %s: %v", c.dir, c.parent, err)
		}
	}
}

// TestRefill: what a copy left out because it was empty is made as the queue has it.
func TestRefill(t *testing.T) {
	for _, g := range []Groups{{}, mine()} {
		d := made(t, g)
		if err := os.Remove(filepath.Join(d.path, "grants")); err != nil {
			t.Fatal(err)
		}
		if lost := opened(t, d.path).Lacks(); !slices.Equal(lost, []string{"grants"}) {
			t.Error(lost)
		}
		err := Refill(d.path, &layout, &g)
		modes, err2 := d.Modes()
		if lost := opened(t, d.path).Lacks(); err != nil || err2 != nil || len(lost) > 0 || len(modes) > 0 {
			t.Errorf("%v, %v, %v, %v", lost, modes, err, err2)
		}
	}
}

// TestSupply: a directory that an older version did not make is nothing that a queue lacks, and
// is made once it is needed.
func TestSupply(t *testing.T) {
	for _, g := range []Groups{{}, mine()} {
		d := made(t, g)
		if err := os.Remove(filepath.Join(d.path, "late")); err != nil {
			t.Fatal(err)
		}
		if lost := opened(t, d.path).Lacks(); len(lost) > 0 {
			t.Error(lost)
		}
		for range 2 {
			there, err := d.Supply()
			if modes, err2 := d.Modes(); !there || err != nil || err2 != nil || len(modes) > 0 {
				t.Errorf("%v, %v, %v, %v", there, modes, err, err2)
			}
		}
	}
	d := made(t, Groups{})
	if err := errors.Join(os.Remove(filepath.Join(d.path, "late")), os.WriteFile(filepath.Join(d.path, "late"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if there, err := opened(t, d.path).Supply(); there || err != nil {
		t.Errorf("a file is in its place: %v, %v", there, err)
	}
}

// TestClaim: a directory is made a queue only if no other account's files are in it.
func TestClaim(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(dir string) error
		want    string // of the error; empty: none
	}{
		{"absent", func(string) error { return nil }, ""},
		{"empty", func(d string) error { return os.Mkdir(d, 0o700) }, ""},
		{"interrupted", func(d string) error {
			return errors.Join(os.MkdirAll(d+"/tmp", 0o700), os.WriteFile(d+"/network", nil, 0o600), os.WriteFile(d+"/lock", nil, 0o600))
		}, ""},
		{"no parent", func(d string) error { return os.Remove(filepath.Dir(d)) }, "can't make the queue"},
		{"somebody's files", func(d string) error {
			return errors.Join(os.Mkdir(d, 0o700), os.WriteFile(d+"/thesis.tex", nil, 0o600))
		}, "not empty: it holds thesis.tex"},
		{"a file", func(d string) error { return os.WriteFile(d, nil, 0o600) }, "not a directory"},
		{"others may write", func(d string) error { return errors.Join(os.Mkdir(d, 0o700), os.Chmod(d, 0o777)) }, "others may write it"},
	} {
		dir := filepath.Join(t.TempDir(), "parent", "q")
		if err := errors.Join(os.Mkdir(filepath.Dir(dir), 0o700), c.prepare(dir)); err != nil {
			t.Fatal(err)
		}
		made, err := Claim(dir, &layout, false, &Groups{})
		if made || (err != nil) != (c.want != "") || err != nil && (!strings.Contains(err.Error(), c.want) || fault.KindOf(err) != fault.Usage) {
			t.Errorf("%s: %v, %v, want %q", c.name, made, err, c.want)
		}
	}
}
