package screen

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/escape/escapetest"
	"pulse/lib/shared/task"
)

// attacked returns a task with the attack in every field, or why it can't be a task.
func attacked(a escapetest.Attack) (*queue.Stored, error) {
	member := `,"task":{"id":"33333333333333333333333333333333","kind":"effect","created":"2026-11-21T07:00:00Z"}}`
	file := strings.TrimSuffix(escapetest.Effect(a), "}\n") + member
	s := &queue.Stored{Task: task.Task{ID: strings.Repeat("3", 32), State: task.Awaiting, Change: task.Change{Since: now, Reason: a.Text}}}
	return s, s.Parse([]byte(file + "\n"))
}

// TestWide: no line of a page is wider than the terminal, by the widths of characters in
// another library's table, and none is when a title is put in front of it.
func TestWide(t *testing.T) {
	for _, columns := range []int{16, 40, 80, 133} {
		var all []string
		for _, a := range escapetest.Records() {
			s, err := attacked(a)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, Fold(Sheet(s, &Case{Now: now, Root: &Origin{ID: a.Text}}), columns)...)
			all = append(all, Fold(Task(s, now), columns)...)
		}
		if n := widest(t, all); n > columns {
			t.Errorf("a line of %d columns on a terminal of %d", n, columns)
		}
	}
}

// widest asks wc(1), which asks wcwidth(3).
func widest(t *testing.T, lines []string) int {
	t.Helper()
	cmd := exec.Command("wc", "-L")
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil || n == 0 {
		t.Fatalf("wc -L: %q", out)
	}
	return n
}

// TestEveryCharacterIsAtMostTwoWide: Fold relies on that, and the same table confirms it.
func TestEveryCharacterIsAtMostTwoWide(t *testing.T) {
	var lines []string
	for r := rune(' '); r <= utf8.MaxRune; r++ {
		if utf8.ValidRune(r) && r != '\\' && escape.Line("a"+string(r)) == "a"+string(r) {
			lines = append(lines, string(r))
		}
	}
	if n := widest(t, lines); n > 2 {
		t.Errorf("a character is %d columns wide", n)
	}
}

// TestMarksStay: a row that goes on does not begin with a mark, which would sit on the
// gutter.
func TestMarksStay(t *testing.T) {
	for columns := 16; columns < 60; columns++ {
		for _, unit := range []string{"e\u0301", "e\u0301\u0302\u0303", " \u0301", "\u1112\u1161\u11ab", "\u4e16\u0301 ", "x \u0301"} {
			for i, l := range Fold([]string{Gutter + strings.Repeat(unit, 60)}, columns) {
				r, _ := utf8.DecodeRuneInString(strings.TrimPrefix(l, Gutter))
				if escape.Joins(r) {
					t.Errorf("%d columns: row %d is %q", columns, i, l)
				}
			}
		}
	}
}

// names are the names of ours that may begin a line of a sheet, and a blank for one that
// continues.
var names = strings.Fields("details proof asked starts task kind state sender proven action target decision rule because age expires attempts digest behalf proposed answers " +
	"warning since again caution message from subject thread text files tool args also")

// FuzzSheet: whatever a record holds, every line of every page fits the terminal, is safe
// to print, and begins with a name of ours, an indent or the gutter. Each name occurs as
// often as we wrote it.
func FuzzSheet(f *testing.F) {
	for _, a := range escapetest.Records() {
		f.Add(a.Text, 80)
	}
	f.Add("warning  x\ncode: abcd\n  | \n", 0)
	f.Fuzz(func(t *testing.T, text string, columns int) {
		text = text[:min(len(text), 4000)] // what is longer is folded and paged alike
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var same string // with what a record has in place of bytes that are not UTF-8
		if err := json.Unmarshal(quoted, &same); err != nil {
			t.Fatal(err)
		}
		s, err := attacked(escapetest.Attack{Text: same})
		if err != nil && !errors.Is(err, store.ErrCorrupt) {
			t.Fatal(err)
		}
		if err != nil {
			return // no task file can hold it, so no person is shown it; TestWide holds that all seeds are shown
		}
		columns = 16 + max(columns, -columns, 0)%200
		lines := Sheet(s, &Case{Now: now, Root: &Origin{ID: same}})
		p := NewPages(lines)
		_, all := read(p, 24, columns)
		count := map[string]int{}
		for _, l := range all {
			if why := escapetest.Wrong(l); why != "" || strings.Contains(l, "\n") {
				t.Fatalf("%q: %s", l, why)
			}
			if n := atMost(l); n > columns {
				t.Fatalf("%d of %d columns: %q", n, columns, l)
			}
			name, _, _ := strings.Cut(l, " ")
			count[name]++
			if name != "" && !known(name) {
				t.Fatalf("%q begins a line: %q", name, l)
			}
			if name == "" && !strings.HasPrefix(l, Gutter) && !strings.HasPrefix(l, indent) {
				t.Fatalf("%q has neither a name nor a gutter", l)
			}
		}
		if count["task"] != 1 || count["digest"] != 1 || count["target"] != 2 || count["text"] > 1 || count["also"] != 1 {
			t.Fatalf("%v:\n%s", count, strings.Join(all, "\n"))
		}
	})
}

func known(name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// atMost returns an upper bound of how wide a line is.
func atMost(l string) (n int) {
	for _, r := range l {
		if n++; r >= utf8.RuneSelf {
			n++
		}
	}
	return n
}
