package disk_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pulse/lib/queue/disk"
	"pulse/lib/queue/disk/disktest"
)

// TestAlike: the disk in memory says what a real one says, step by step of a random life.
func TestAlike(t *testing.T) {
	lives := uint64(40)
	if testing.Short() {
		lives = 4
	}
	for seed := range lives {
		real, err := disk.Open(tree(t), disk.Options{Tmp: "tmp", Most: func(string) int64 { return 1 << 20 }})
		if err != nil {
			t.Fatal(err)
		}
		defer real.Close()
		model := disktest.New()
		for i := range 100 {
			step := random(rand.New(rand.NewPCG(seed, uint64(i))))
			if a, b := step.on(real), step.on(model); a != b {
				t.Fatalf("life %d, step %d, %s:\n%s\nand in memory:\n%s", seed, i, step.what, a, b)
			}
		}
	}
}

// step is one call of a Disk.
type step struct {
	what string
	do   func(d disk.Disk) error
}

var names = []string{"x", "y", "a/x", "a/y", "tmp/x"}

// tree returns a directory that has those of names.
func tree(t *testing.T) string {
	dir := t.TempDir()
	for _, sub := range []string{"a", "tmp"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func random(r *rand.Rand) step {
	x, y := names[r.IntN(len(names))], names[r.IntN(len(names))]
	size := int64(r.IntN(20))
	b := []byte("abcdefghijklmnopqrstuvwxyz")[:r.IntN(26)]
	at := time.Unix(int64(r.IntN(1000)), 0)
	all := []step{
		{"write " + x, func(d disk.Disk) error { return d.Write(x, b, at) }},
		{"write all " + x, func(d disk.Disk) error {
			return d.WriteAll([]disk.File{{Name: x, Data: b, Mtime: at}})
		}},
		{"write owned " + x, func(d disk.Disk) error { return d.WriteOwned(x, b) }},
		{"append to " + x, func(d disk.Disk) error {
			st, err := d.Stat(x)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return d.WriteAt(x, max(0, st.Size-2), b)
		}},
		{"truncate " + x, func(d disk.Disk) error {
			st, err := d.Stat(x)
			if err != nil {
				return err
			}
			return d.Truncate(x, min(size, st.Size))
		}},
		{"rename " + x + " " + y, func(d disk.Disk) error { return d.Rename(x, y) }},
		{"link " + x + " " + y, func(d disk.Disk) error { return d.Link(x, y) }},
		{"make " + x + " like " + y, func(d disk.Disk) error { return d.Like(x, y) }},
		{"remove " + x, func(d disk.Disk) error { return d.Remove(x) }},
		{"sync " + x, func(d disk.Disk) error { return d.Sync([]string{x}, []string{"a"}) }},
		{"sync all", func(d disk.Disk) error { return errors.Join(d.SyncDir("a"), d.SyncAll()) }},
	}
	return all[r.IntN(len(all))]
}

// on does the step, and returns whether it failed for want of a file, and all that the disk
// holds then.
func (s step) on(d disk.Disk) string {
	err := s.do(d)
	state := fmt.Sprintf("missing %v, failed %v\n", errors.Is(err, fs.ErrNotExist), err != nil)
	ids := map[[2]uint64]string{}
	for _, dir := range []string{"a", "tmp"} {
		list, err := disk.List(d, dir)
		slices.Sort(list)
		state += fmt.Sprintf("%s: %v %v\n", dir, list, err)
	}
	for _, name := range names {
		st, err := d.Stat(name)
		if err != nil {
			state += fmt.Sprintf("%s: missing %v\n", name, errors.Is(err, fs.ErrNotExist))
			continue
		}
		if ids[st.ID] == "" {
			ids[st.ID] = name
		}
		b, err := d.Read(name)
		part := make([]byte, 5)
		n, err2 := d.ReadAt(name, 1, part)
		state += fmt.Sprintf("%s is %s: %d odd %v %q %v, %q %v\n", name, ids[st.ID], st.Size, st.Odd, b, err, part[:n], err2)
	}
	return state
}
