package ledger

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// The events of an entry.
const (
	Spent    = "spent"
	Returned = "returned"
)

// Entry is a line of the file: when, what, the nonce and the task, a blank between
// each.
type Entry struct {
	Time  time.Time // in whole seconds
	Event string
	Nonce string
	Task  string
}

type entries []Entry

// Append appends the line.
func (e *Entry) Append(dst []byte) []byte {
	return fmt.Appendf(dst, "%s %s %s %s\n", e.Time.UTC().Format(time.RFC3339), e.Event, e.Nonce, e.Task)
}

// Parse reads the file's bytes and returns how many of them are whole lines. What
// follows, half a line or the zeros that a power cut leaves, was never acknowledged.
// Anything else that is no entry is an error: it may have been one.
func Parse(b []byte) (list []Entry, whole int, err error) {
	for n := 1; ; n++ {
		line, rest, ok := bytes.Cut(b[whole:], []byte("\n"))
		if !ok || bytes.IndexByte(line, 0) >= 0 && len(rest) == 0 {
			return list, whole, nil
		}
		e, ok := parseEntry(string(line))
		if !ok {
			return nil, 0, fmt.Errorf("line %d is no entry", n)
		}
		list = append(list, e)
		whole += len(line) + 1
	}
}

func parseEntry(line string) (e Entry, ok bool) {
	part := strings.Split(line, " ")
	if len(part) != 4 || part[1] != Spent && part[1] != Returned || !hex(part[2]) || !hex(part[3]) {
		return e, false
	}
	t, err := time.Parse(time.RFC3339, part[0])
	e = Entry{t.UTC(), part[1], part[2], part[3]}
	return e, err == nil && string(e.Append(nil)) == line+"\n"
}

func hex(s string) bool { return s != "" && strings.Trim(s, "0123456789abcdef") == "" }

// spendable returns why an approval with a nonce, given for a task then, can't be
// spent: the nonce was, or the task was started since with another one. Times are
// compared in whole seconds: within one, the nonce alone decides.
func (list entries) spendable(nonce, task string, given time.Time) error {
	spent := false
	for _, e := range list {
		switch {
		case e.Nonce == nonce:
			spent = e.Event == Spent
		case e.Task == task && e.Event == Spent && given.Truncate(time.Second).Before(e.Time):
			return fmt.Errorf("%w, at %s", ErrSuperseded, e.Time.Format(time.RFC3339))
		}
	}
	if spent {
		return ErrSpent
	}
	return nil
}
