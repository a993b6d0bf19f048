package audit

import (
	"strings"
	"unicode/utf8"

	"pulse/lib/shared/escape"
	"pulse/lib/shared/record"
)

// End is how an attempt ended.
type End struct {
	Exit int    // exit status; -1: killed by a signal, or never started
	Said string // as LastSaid returns it
}

// maxSaid is how long End.Said may be, in bytes.
const maxSaid = 200

// LastSaid returns the last line of what a worker wrote to stderr that is not blank, as one
// safe line of at most maxSaid bytes. stderr may hold anything, and may begin in the middle
// of a line. What a carriage return wrote over is left out. Blanks are one space each, because
// a terminal that wraps the line could make a line of its own of what stands behind many.
func LastSaid(stderr []byte) string {
	text := strings.TrimSpace(string(stderr))
	return Clip(escape.Message(strings.Join(strings.Fields(text[strings.LastIndexAny(text, "\r\n")+1:]), " ")), maxSaid)
}

// Clip returns the beginning of a text, at most n bytes. It splits no character, if these are UTF-8.
func Clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// end returns the line's End, which it makes if there is none.
func (l *Line) end() *End {
	if l.End == nil {
		l.End = new(End)
	}
	return l.End
}

func (l *Line) appendEnd(o *record.Object) {
	if l.End == nil {
		return
	}
	o.Int("exit", int64(l.End.Exit))
	o.StrIf("said", l.End.Said)
}
