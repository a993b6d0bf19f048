package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
)

// report holds what one run of crashkit says at its end.
type report struct{ failures, skipped atomic.Int64 }

// tally counts the points of one scenario and what went wrong at them.
type tally struct {
	k       *kit
	name    string
	control bool // there must be violations
	unit    string

	mu     sync.Mutex
	points int
	hit    int            // points at which the process was really ended, or the error given
	bad    int            // points with a violation
	kinds  map[string]int // of violations
	seen   map[string]int // other things worth a number
}

func (k *kit) tally(name, unit string) *tally {
	return &tally{k: k, name: name, unit: unit, kinds: map[string]int{}, seen: map[string]int{}}
}

// shown is how many violations of a scenario are printed. All of them are kept in a file
// beside the work directory.
const shown = 3

func (k *kit) keep(text string) {
	f, err := os.OpenFile(k.dir+".violations", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "crashkit:", err)
	}
}

// point counts a point and its violations.
func (t *tally) point(where string, hit bool, violations []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.points++
	if hit {
		t.hit++
	}
	if len(violations) == 0 {
		return
	}
	if t.bad++; !t.control {
		text := fmt.Sprintf("VIOLATION %s, %s:\n    %s\n", t.name, where, strings.Join(violations, "\n    "))
		if t.bad <= shown {
			fmt.Print(text)
		}
		t.k.keep(text)
	}
	for _, v := range violations {
		kind, _, _ := strings.Cut(v, ":")
		t.kinds[kind]++
	}
}

// count counts something that is neither good nor bad.
func (t *tally) count(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen[what]++
}

// end prints the summary line.
func (t *tally) end() {
	verdict := fmt.Sprintf("%d violations", t.bad)
	wrong := t.bad > 0
	if t.control {
		wrong = t.bad == 0
		verdict = fmt.Sprintf("caught at %d", t.bad)
		if wrong {
			verdict = "NOT CAUGHT: this test proves nothing"
		}
	}
	if t.hit == 0 {
		wrong, verdict = true, verdict+", AND NO POINT WAS REACHED"
	}
	fmt.Printf("%-6s %-46s %5d points, %5d %s, %s%s\n", mark(!wrong), t.name, t.points, t.hit, t.unit, verdict, t.details())
	if wrong {
		t.k.total.failures.Add(1)
	}
}

func mark(good bool) string {
	if good {
		return "ok"
	}
	return "FAILED"
}

func (t *tally) details() string {
	var list []string
	for _, m := range []map[string]int{t.kinds, t.seen} {
		for _, what := range ids(m) {
			list = append(list, fmt.Sprintf("%s %d", what, m[what]))
		}
	}
	if len(list) == 0 {
		return ""
	}
	return " (" + strings.Join(list, "; ") + ")"
}

// skip reports that something could not be tried here.
func (k *kit) skip(what string, why any) {
	fmt.Printf("%-6s %-46s not run: %v\n", "SKIP", what, why)
	k.total.skipped.Add(1)
}

// good reports whether everything went well. A part that was not run is a failure,
// unless the caller allows it.
func (r *report) good(skips bool) bool {
	return r.failures.Load() == 0 && (r.skipped.Load() == 0 || skips)
}
