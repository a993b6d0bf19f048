package runner

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

func TestInside(t *testing.T) {
	if !Inside([]int{os.Getppid()}) || !Inside([]int{7, os.Getpid()}) {
		t.Error("it does not know its ancestors")
	}
	if Inside(nil) || Inside([]int{1 << 30}) {
		t.Error("it knows ancestors it has not")
	}
}

// TestParentOfAnOddName: a process name may look like the fields after it.
func TestParentOfAnOddName(t *testing.T) {
	name := filepath.Join(t.TempDir(), ") S 1 (x) R 2")
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(cat)
	if err == nil {
		err = os.WriteFile(name, b, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name)
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := look(cmd.Process.Pid)
	if err != nil || p.parent != os.Getpid() || p.threads != 1 || p.dead() {
		t.Errorf("%+v, %v", p, err)
	}
	stdin.Close()
	cmd.Wait()
}

// TestChildren: both ways to list them agree, zombies included.
func TestChildren(t *testing.T) {
	if !listsChildren() {
		t.Log("this kernel keeps no lists of children")
	}
	alive, dead := exec.Command("cat"), exec.Command("true")
	stdin, err := alive.StdinPipe()
	if err = errors.Join(err, alive.Start(), dead.Start()); err != nil {
		t.Fatal(err)
	}
	<-zombie(dead.Process.Pid)
	want := []int{alive.Process.Pid, dead.Process.Pid}
	slices.Sort(want)
	for name, list := range map[string][]int{"listed": children(os.Getpid()), "scanned": scanned(os.Getpid())} {
		slices.Sort(list)
		if !slices.Equal(list, want) {
			t.Errorf("%s: %v, want %v", name, list, want)
		}
	}
	if p, err := look(dead.Process.Pid); err != nil || !p.dead() {
		t.Errorf("the zombie is %+v, %v", p, err)
	}
	stdin.Close()
	if err := errors.Join(alive.Wait(), dead.Wait()); err != nil {
		t.Error(err)
	}
	if _, err := look(dead.Process.Pid); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a process that is gone: %v", err)
	}
}
