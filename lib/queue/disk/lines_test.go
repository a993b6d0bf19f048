package disk_test

import (
	"errors"
	"strings"
	"testing"

	"pulse/lib/queue/disk"
	"pulse/lib/queue/disk/disktest"
)

// lineTexts returns the lines of a file of four bytes a line.
func lineTexts(t *testing.T, d disk.Disk, x disk.Lines) string {
	t.Helper()
	var all []string
	err := x.Each(d, func(off int64, line []byte) (bool, error) {
		if off != int64(4*len(all)) {
			t.Errorf("line %d is at %d", len(all), off)
		}
		all = append(all, string(line[:3]))
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

func TestLines(t *testing.T) {
	d, x := disktest.New(), disk.Lines{Name: "x", Width: 4, Tmp: "tmp/x", Most: 1 << 20}
	if got := lineTexts(t, d, x); got != "" {
		t.Errorf("of no file: %s", got)
	}
	const lines = 3000 // more than are read at a time
	text := strings.Repeat("one\ntwo\n", lines/2)
	if err := d.WriteAt("x", 0, []byte(text+"thr")); err != nil {
		t.Fatal(err)
	}
	if got := lineTexts(t, d, x); strings.Count(got, "one") != lines/2 || strings.Contains(got, "thr") {
		t.Errorf("%d bytes of lines", len(got))
	}
	for off, want := range map[int64]string{0: "one\n", 4: "two\n", -4: "one\n", 4 * lines: "", 4*lines + 400: ""} {
		if line, err := x.At(d, off); string(line) != want || err != nil {
			t.Errorf("at %d: %q, %v", off, line, err)
		}
	}
	size, err := x.Rewrite(d, func(line []byte) []byte {
		if string(line) == "one\n" {
			return nil
		}
		return []byte("TWO\n")
	})
	if got := lineTexts(t, d, x); err != nil || size != 4*lines/2 || got != strings.TrimSpace(strings.Repeat("TWO ", lines/2)) {
		t.Errorf("%d bytes, %v", size, err)
	}
	if err := x.Cut(d, 8); err != nil || lineTexts(t, d, x) != "TWO TWO" {
		t.Errorf("%s, %v", lineTexts(t, d, x), err)
	}
	x.Most = 7
	if err := x.Each(d, func(int64, []byte) (bool, error) { return true, nil }); !errors.Is(err, disk.ErrLarge) {
		t.Error(err)
	}
	x.Name = "absent"
	if st, err := d.Stat("absent"); err == nil {
		t.Fatal(st)
	}
	if err := x.Cut(d, 0); err != nil {
		t.Error(err)
	}
	if st, err := d.Stat("absent"); err != nil || st.Size != 0 {
		t.Error(st, err)
	}
}

// TestRewriteLines: a file that is written anew is the old one or the new one.
func TestRewriteLines(t *testing.T) {
	err := replaced(disktest.New(), func(d disk.Disk) error {
		_, err := disk.Lines{Name: "x", Width: len(was), Tmp: "tmp/x", Most: 1 << 20}.Rewrite(d, func([]byte) []byte { return []byte(is) })
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
