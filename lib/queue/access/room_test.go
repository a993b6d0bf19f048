package access

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRoom(t *testing.T) {
	d := made(t, Groups{})
	left, total, err := free(d.path)
	if err != nil || left <= 0 || total < left {
		t.Fatal(left, total, err)
	}
	if err := d.Room(0); err != nil {
		t.Error(err)
	}
	if left := d.Spare(0); left <= 0 || left > total {
		t.Error("nothing is reserved, and there is no room")
	}
	d.path = filepath.Join(d.path, "gone")
	if err := d.Room(0); err == nil {
		t.Error("there is room in nothing")
	}
	if d.Spare(0) != 0 {
		t.Error("there is room to spare in nothing")
	}
}

func TestSize(t *testing.T) {
	d := made(t, Groups{})
	for name, n := range map[string]int{"a": 10, "b": 32} {
		if err := os.WriteFile(filepath.Join(d.path, "grants", name), make([]byte, n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := d.Size("grants"); got != 42 || d.Size("none") != 0 {
		t.Error(got)
	}
}
