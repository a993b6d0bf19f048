package spool

import (
	"fmt"
	"pulse/lib/queue"
	"pulse/lib/task"
	"pulse/lib/terms"
	"strconv"
	"strings"
	"time"
)

// closed is the first column of a task that is not open any more.
const closed = '-'

// lettered has the first column of all others.
var lettered = map[task.State]byte{task.Scheduled: 's', task.Awaiting: 'a', task.Running: 'r'}

// appendEntry appends the line of an entry.
func appendEntry(dst []byte, e *queue.Entry) []byte {
	state, ok := lettered[e.State]
	if !ok {
		state = closed
	}
	// What is not to start before some time does not start a fraction before it.
	return fmt.Appendf(dst, "%c %s %-32.32s %-16.16s %c %c %-16.16s %010d%c%010d\n", state, e.ID, e.Digest, queue.Short(e.Action),
		kindLetter(e.Kind), classLetter(e.External, e.Message), e.Sender, seconds(e.Since), putOffLetter(e.PutOff), seconds(e.NotBefore.Add(time.Second-1)))
}

func kindLetter(k task.Kind) byte {
	if k == task.Effect {
		return 'e'
	}
	return 'a'
}

// putOffLetter stands before the time that a person put a task off to.
func putOffLetter(putOff bool) byte {
	if putOff {
		return '+'
	}
	return ' '
}

// classLetter tells senders whose messages are limited from all others.
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

// seconds is t in whole seconds of ten digits.
func seconds(t time.Time) int64 { return min(max(t.Unix(), 0), latest) }

// parseEntry reads a line; one that is closed, or that a power cut tore, is not ok.
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
	e.Digest, e.Action = strings.TrimRight(line[35:67], " "), queue.Long(terms.Action(strings.TrimRight(line[68:84], " ")))
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
