// Package entry is the line of an open task, as both stores keep it: 128 bytes with a
// newline, so that a list of a hundred thousand tasks is read without their files.
//
// Invariant: Parse understands what Append wrote, and nothing that a power cut tore. Caveat:
// times are in whole seconds, and those after 2286-11-20 are written as that.
package entry

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"pulse/lib/queue/store"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// Width is how many bytes a line has.
const Width = 128

// Closed is the first column of a line whose task is not open any more.
const Closed = '-'

// Letter returns the first column of the line of a task in a state, 0 if that is not open.
func Letter(st task.State) byte { return letters[st] }

// letters holds what Letter returns, and states the reverse.
var letters = map[task.State]byte{task.Scheduled: 's', task.Awaiting: 'a', task.Running: 'r'}
var states = [256]task.State{'s': task.Scheduled, 'a': task.Awaiting, 'r': task.Running}

// Append appends the line of an entry. That of a task which is not open has nothing but its id.
func Append(dst []byte, e *store.Entry) []byte {
	state, ok := letters[e.State]
	if !ok {
		return fmt.Appendf(dst, "%c %-*s\n", Closed, Width-3, e.ID)
	}
	mark, at := later(e)
	return fmt.Appendf(dst, "%c %s %-32.32s %-16.16s %c %c %-16.16s %010d%c%010d\n",
		state, e.ID, e.Digest, store.Short(e.Action), KindLetter(e.Kind), ClassLetter(e.External, e.Message),
		e.Sender, Seconds(e.Since), mark, Seconds(at))
}

// Torn reports whether a line is closed and has more than its id: it was not written to its end,
// or not by pulse.
func Torn(line []byte) bool {
	return line[0] == Closed && !bytes.Equal(line, Append(nil, &store.Entry{ID: string(line[2:34])}))
}

// Alike returns what the lines of tasks have in common that are alike in sender, class, kind and
// action.
func Alike(line []byte) []byte { return line[alikeFrom : alikeFrom+alikeLen] }

// Where in a line that stands.
const (
	alikeFrom  = 68
	alikeLen   = 37
	classAt    = 87
	senderFrom = 89
	senderTo   = 105
)

// Messenger returns the key of the sender of a line, and whether that of an open task which came
// as a message.
func Messenger(line []byte) (sender []byte, ok bool) {
	return line[senderFrom:senderTo], states[line[0]] != "" && (line[classAt] == 'x' || line[classAt] == 'm')
}

// KindLetter returns the letter of a kind.
func KindLetter(k task.Kind) byte {
	if k == task.Effect {
		return 'e'
	}
	return 'a'
}

// later returns the time until which a task is deferred, and what stands before it: + if a
// person put it off, and ! before the time at which one was told once more that it waits.
func later(e *store.Entry) (mark byte, at time.Time) {
	at = e.NotBefore.Add(time.Second - 1) // rounded up: it does not start a fraction of a second early
	switch {
	case !e.Told.IsZero():
		return '!', e.Told
	case e.PutOff:
		return '+', at
	}
	return ' ', at
}

// ClassLetter returns what limits count a task under: whether an outsider sent it, and
// whether it is a message.
func ClassLetter(external, message bool) byte {
	switch {
	case external && message:
		return 'x'
	case external:
		return 'X'
	case message:
		return 'm'
	}
	return Closed
}

// Latest is the latest time that a line of fixed width holds: 2286-11-20.
const Latest = 9_999_999_999

// Seconds returns t in whole seconds, which fit in ten digits.
func Seconds(t time.Time) int64 { return min(max(t.Unix(), 0), Latest) }

// Parse reads a line. A closed one, or one that a power cut tore, is not ok.
func Parse(b []byte) (e store.Entry, ok bool) {
	if len(b) != Width || b[Width-1] != '\n' || states[b[0]] == "" {
		return e, false
	}
	line := string(b) // the only allocation: there may be a hundred thousand
	e.State, e.ID = states[b[0]], line[2:34]
	since, err1 := strconv.ParseUint(line[106:116], 10, 63)
	later, err2 := strconv.ParseUint(line[117:127], 10, 63)
	if err1 != nil || err2 != nil || !task.ValidID(e.ID) || utf8.RuneCountInString(line) != len(line) {
		return e, false // columns are written in characters, and counted here in bytes
	}
	e.Digest = strings.TrimRight(line[35:67], " ")
	e.Action = store.Long(terms.Action(strings.TrimRight(line[68:84], " ")))
	e.Kind = task.Ask
	if b[85] == 'e' {
		e.Kind = task.Effect
	}
	e.External, e.Message = b[classAt] == 'x' || b[classAt] == 'X', b[classAt] == 'x' || b[classAt] == 'm'
	e.PutOff = b[116] == '+'
	e.Sender, e.Since = store.Key(strings.TrimRight(line[senderFrom:senderTo], " ")), time.Unix(int64(since), 0).UTC()
	if at := time.Unix(int64(later), 0).UTC(); b[116] == '!' {
		e.Told = at
	} else if later != 0 {
		e.NotBefore = at
	}
	return e, true
}
