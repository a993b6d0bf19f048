package ledger

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// The events of an entry.
const (
	spent    = "spent"
	returned = "returned"
	dropped  = "dropped" // what expired before Expires can't be spent any more: entries were left out
)

// entry is a line of the file: when, what, the nonce, the task, and the time from which
// the nonce is worth nothing anyway, with a blank between each. A line without that time
// is kept for ever.
type entry struct {
	Time    time.Time // in whole seconds
	Event   string
	Nonce   string
	Task    string
	Expires time.Time // zero: not known
}

// none stands where an entry has no nonce, or no task.
const none = "0"

type entries []entry

// appendTo appends the line.
func (e *entry) appendTo(dst []byte) []byte {
	dst = fmt.Appendf(dst, "%s %s %s %s", e.Time.UTC().Format(time.RFC3339), e.Event, e.Nonce, e.Task)
	if !e.Expires.IsZero() {
		dst = append(append(dst, ' '), e.Expires.UTC().Format(time.RFC3339)...)
	}
	return append(dst, '\n')
}

// bytes returns the lines.
func (list entries) bytes() (b []byte) {
	for i := range list {
		b = list[i].appendTo(b)
	}
	return b
}

// parse reads the file's bytes, and returns how many of them are whole lines. What
// follows, half a line or the zeros that a power cut leaves, was never acknowledged.
// Anything else that is not an entry is an error, because it may have been one.
func parse(b []byte) (list []entry, whole int, err error) {
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

func parseEntry(line string) (e entry, ok bool) {
	part := strings.Split(line, " ")
	if len(part) != 4 && len(part) != 5 || !event(part[1]) || !hex(part[2]) || !hex(part[3]) {
		return e, false
	}
	t, err := time.Parse(time.RFC3339, part[0])
	e = entry{Time: t.UTC(), Event: part[1], Nonce: part[2], Task: part[3]}
	if err == nil && len(part) == 5 {
		t, err = time.Parse(time.RFC3339, part[4])
		e.Expires = t.UTC()
	}
	return e, err == nil && string(e.appendTo(nil)) == line+"\n"
}

func event(s string) bool { return s == spent || s == returned || s == dropped }

func hex(s string) bool { return s != "" && strings.Trim(s, "0123456789abcdef") == "" }
