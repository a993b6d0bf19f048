package spool

import (
	"fmt"
	"pulse/lib/queue"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
	"strconv"
	"strings"
	"time"
)

// closed is the first column of a line whose task is not open any more.
const closed = '-'

// letters holds the first column of the line of an open task, by state.
var letters = map[task.State]byte{task.Scheduled: 's', task.Awaiting: 'a', task.Running: 'r'}

// appendEntry appends an entry's line of the agenda.
func appendEntry(dst []byte, e *queue.Entry) []byte {
	state, ok := letters[e.State]
	if !ok {
		state = closed
	}
	// Rounded up: a task does not start a fraction of a second before its time.
	notBefore := seconds(e.NotBefore.Add(time.Second - 1))
	return fmt.Appendf(dst, "%c %s %-32.32s %-16.16s %c %c %-16.16s %010d%c%010d\n",
		state, e.ID, e.Digest, queue.Short(e.Action), kindLetter(e.Kind), classLetter(e.External, e.Message),
		e.Sender, seconds(e.Since), putOffLetter(e.PutOff), notBefore)
}

func kindLetter(k task.Kind) byte {
	if k == task.Effect {
		return 'e'
	}
	return 'a'
}

// putOffLetter returns what stands before the time until which a task is deferred: + if a
// person put it off.
func putOffLetter(putOff bool) byte {
	if putOff {
		return '+'
	}
	return ' '
}

// classLetter returns what limits count a task under: whether an outsider sent it, and
// whether it is a message.
func classLetter(external, message bool) byte {
	switch {
	case external && message:
		return 'x'
	case external:
		return 'X'
	case message:
		return 'm'
	}
	return closed
}

// latest is the latest time that a line of fixed width holds: 2286-11-20.
const latest = 9_999_999_999

// seconds returns t in whole seconds, which fit in ten digits.
func seconds(t time.Time) int64 { return min(max(t.Unix(), 0), latest) }

// parseEntry reads a line. A closed one, or one that a power cut tore, is not ok.
func parseEntry(b []byte) (e queue.Entry, ok bool) {
	if len(b) != agenda.Width || b[agenda.Width-1] != '\n' {
		return e, false
	}
	switch b[0] {
	case 's':
		e.State = task.Scheduled
	case 'a':
		e.State = task.Awaiting
	case 'r':
		e.State = task.Running
	default:
		return e, false
	}
	line := string(b) // the only allocation: there may be a hundred thousand
	e.ID = line[2:34]
	since, err1 := strconv.ParseInt(line[106:116], 10, 64)
	later, err2 := strconv.ParseInt(line[117:127], 10, 64)
	if err1 != nil || err2 != nil || !task.ValidID(e.ID) {
		return e, false
	}
	e.Digest = strings.TrimRight(line[35:67], " ")
	e.Action = queue.Long(terms.Action(strings.TrimRight(line[68:84], " ")))
	e.Kind = task.Ask
	if b[85] == 'e' {
		e.Kind = task.Effect
	}
	e.External, e.Message = b[87] == 'x' || b[87] == 'X', b[87] == 'x' || b[87] == 'm'
	e.PutOff = b[116] == '+'
	e.Sender, e.Since = queue.Key(strings.TrimRight(line[89:105], " ")), time.Unix(since, 0).UTC()
	if later != 0 {
		e.NotBefore = time.Unix(later, 0).UTC()
	}
	return e, true
}
