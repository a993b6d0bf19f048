package store_test

import (
	"strings"
	"testing"
	"unsafe"

	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// TestFoldLetsLinesGo: of a million lines nothing stays in memory but what a Fold keeps. The word
// for a state is a part of its line.
func TestFoldLetsLinesGo(t *testing.T) {
	id := strings.Repeat("0", 32)
	word := strings.Clone(string(task.Scheduled))
	f := store.NewFold(store.IDOf, func(*audit.Line, *store.Change) struct{} { return struct{}{} })
	f.Add(nil, &audit.Line{Event: task.Added, Task: id, Kind: task.Ask, To: task.State(word), Digest: task.Digest(nil)})
	kept := string(f.Tasks[store.IDOf(id)].State)
	if kept != word || unsafe.StringData(kept) == unsafe.StringData(word) {
		t.Errorf("it keeps %q, which is the line's", kept)
	}
}
