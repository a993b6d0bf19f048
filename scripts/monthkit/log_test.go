package monthkit

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// line is what the kit reads of a line of the audit log.
type line struct {
	Time                                                     time.Time
	Event, Task, Kind, From, To, Reason, Sender, Trust       string
	Source, Parent, Action, Level, Result, Code, What, About string
	MessageID                                                string    `json:"message_id"`
	NotBefore                                                time.Time `json:"not_before"`
}

// reader knows how far the log was read.
type reader struct {
	sizes map[string]int64 // of each file
	lines int              // of a log that is not in files
	all   int
}

// look reads what was added to the log and to the notes of workers, and tells the model.
func (w *world) look() {
	w.t.Helper()
	for _, text := range w.logged() {
		l := &line{}
		if err := json.Unmarshal([]byte(text), l); err != nil {
			w.disagree("a line of the log: %v: %s", err, text)
			continue
		}
		w.logs.all++
		w.fold(l)
	}
	for _, f := range w.notes() {
		w.worked(f[0], f[1])
	}
}

// logged returns the new lines of the log.
func (w *world) logged() (list []string) {
	if w.server != nil {
		list = strings.Split(strings.TrimSpace(w.must("pulse-queue log --json")), "\n")
		list, w.logs.lines = list[min(w.logs.lines, len(list)):], len(list)
		return list
	}
	files, _ := filepath.Glob(w.queue() + "/audit/*.jsonl")
	if w.logs.sizes == nil {
		w.logs.sizes = map[string]int64{}
	}
	for _, f := range files {
		base := filepath.Base(f)
		st, err := os.Stat(f)
		if err != nil || st.Size() == w.logs.sizes[base] {
			continue
		}
		b, err := os.ReadFile(f)
		if err != nil {
			w.t.Fatal(err)
		}
		b = b[min(w.logs.sizes[base], int64(len(b))):]
		whole := b[:strings.LastIndexByte(string(b), '\n')+1] // the power may have gone within a line
		w.logs.sizes[base] += int64(len(whole))
		for text := range strings.Lines(string(whole)) {
			list = append(list, strings.TrimSuffix(text, "\n"))
		}
	}
	return list
}

// notes returns what workers and senders noted since the last time: what was started, and of
// which task.
func (w *world) notes() (list [][]string) {
	b, err := os.ReadFile(w.dir + "/out/notes")
	if err != nil {
		w.t.Fatal(err)
	}
	b = b[w.noted:]
	w.noted += int64(len(b))
	for text := range strings.Lines(string(b)) {
		if f := strings.Fields(text); len(f) > 2 {
			list = append(list, f)
		}
	}
	return list
}
