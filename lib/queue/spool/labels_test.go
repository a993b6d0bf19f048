package spool

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/label"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// labelsOf returns the labels of an owner's root task.
func labelsOf(t *testing.T, s *Spool, root string) (words []string) {
	t.Helper()
	err := s.View(func(v store.View) error {
		set, err := queue.LabelsOf(v, root, terms.OwnerVerifiedEmail)
		words = set.Words()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return words
}

// TestLabelsOutliveTheTask: they are kept when their root is pruned, and a copy of the queue
// has them.
func TestLabelsOutliveTheTask(t *testing.T) {
	s := original(t)
	do(t, s, add(mails(1, 1)...), start(""), finish(queue.End{Judged: read}))
	root := in(t, s, task.Completed)[0]
	do(t, s, prune)
	if got := in(t, s, task.Completed); len(got) != 0 {
		t.Fatalf("%v", got)
	}
	want := []string{"private"}
	if got := labelsOf(t, s, root); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	whole(t, s)
	if got := labelsOf(t, opened(t, copyOf(t, s)), root); !slices.Equal(got, want) {
		t.Errorf("in the snapshot: %q", got)
	}
	restored := filepath.Join(t.TempDir(), "restored")
	rebuild(t, restored, content(t, s.dir))
	if got := labelsOf(t, opened(t, restored), root); !slices.Equal(got, want) {
		t.Errorf("in a copy of the files: %q", got)
	}
}

// TestLabelsOfAnUnknownRoot: an effect may come from another queue, with what it says of its
// root.
func TestLabelsOfAnUnknownRoot(t *testing.T) {
	s := made(t)
	const root = "0123456789abcdef0123456789abcdef"
	line := strings.Replace(effect(1), `"via":"agent"`, `"via":"agent","root":"`+root+`","labels":["private"]`, 1)
	do(t, s, add(line))
	if got := labelsOf(t, s, root); !slices.Equal(got, []string{"private"}) {
		t.Errorf("%q", got)
	}
	whole(t, s)
}

// TestLabelsByHand: verify finds what hands did to them. What can't be read counts as all of
// them, and stops nobody.
func TestLabelsByHand(t *testing.T) {
	for name, c := range map[string]struct {
		write string
		all   bool
	}{
		"removed":  {"", false},
		"edited":   {`{"labels":[{"label":"untrusted","by":"fs.read"}]}` + "\n", false},
		"emptied":  {"\n", true},
		"of none":  {`{"labels":[]}` + "\n", true},
		"of later": {`{"labels":[{"label":"secret"}]}` + "\n", true},
	} {
		s := made(t)
		do(t, s, add(mails(1, 1)...), start(""), finish(queue.End{Exit: 75, Judged: read}))
		root := in(t, s, task.Scheduled)[0]
		file := filepath.Join(s.dir, fileOf(store.Labels, root))
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if c.write != "" {
			write(t, file, c.write)
		}
		if c.all && len(labelsOf(t, s, root)) != len(label.All) {
			t.Errorf("%s: %q", name, labelsOf(t, s, root))
		}
		if report, err := s.Verify(""); err != nil || !slices.ContainsFunc(report.Findings, func(f string) bool { return strings.Contains(f, fileOf(store.Labels, root)) }) {
			t.Errorf("%s: %v, %q", name, err, report.Findings)
		}
		if err := start("").Do(s, epoch.Add(48*time.Hour)); err != nil || len(in(t, s, task.Running)) != 1 {
			t.Errorf("%s: it is not started: %v", name, err)
		}
	}
}
