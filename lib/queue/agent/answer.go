package agent

import (
	"bytes"
	"encoding/json"
	"strings"

	"pulse/lib/shared/lazy"
	"pulse/lib/shared/record"
)

// A model also quotes what it read, which may be a stranger's. So only JSON that stands where an
// answer stands counts: an object with the member action, or an array of such objects, from the
// beginning of a line to the end of one, in a fence for JSON or in none. What is quoted, indented
// or in a fence for anything else is words. In a fence it may be indented.

const (
	maxAnswer   = 1 << 20 // bytes of an answer, as of a result
	maxMistakes = 100     // values that may begin and be none: the time that this takes is bounded
)

// answered returns what a worker prints: the proposals in an answer, or its words. A word that
// could be taken for a proposal is quoted.
func answered(answer string, c conversation) []byte {
	answer = strings.TrimSuffix(answer, "\n")
	var out []byte
	for _, p := range proposals(answer) {
		out = append(c.threaded(out, p), '\n')
	}
	if len(out) > 0 || answer == "" {
		return out
	}
	for line := range strings.SplitSeq(answer, "\n") {
		if strings.HasPrefix(strings.TrimLeft(line, " \t\r\v\f"), "{") {
			out = append(out, "> "...)
		}
		out = append(append(out, line...), '\n')
	}
	return out
}

// proposals returns the proposals in an answer, each an object on one line.
func proposals(answer string) []record.Value {
	answer = strings.ReplaceAll(strings.ToValidUTF8(answer[:min(len(answer), maxAnswer)], "\ufffd"), "\r", "")
	f := finder{}
	f.parts(answer)
	return f.found
}

// finder looks for proposals.
type finder struct {
	found    []record.Value
	mistakes int
}

var (
	fence  = lazy.Regexp("^ {0,3}(`{3,}|~{3,})([^`]*)$")
	inside = lazy.Regexp(`(?m)^[ \t]*[{\[]`)
	open   = lazy.Regexp(`(?m)^[{\[]`)
)

// parts looks into each text between the edges of fences that may be JSON.
func (f *finder) parts(answer string) {
	mark, kind := "", ""
	var part []string
	end := func() {
		switch strings.ToLower(kind) {
		case "", "json", "jsonl", "ndjson":
			f.values(strings.Join(part, "\n"), mark != "")
		}
		part = nil
	}
	for line := range strings.SplitSeq(answer, "\n") {
		edge := fence().FindStringSubmatch(line)
		switch {
		case mark == "" && edge != nil:
			end()
			mark, kind = edge[1], ""
			if words := strings.Fields(edge[2]); len(words) > 0 {
				kind = words[0]
			}
		case mark != "" && closes(line, mark):
			end()
			mark, kind = "", ""
		default:
			part = append(part, line)
		}
	}
	end()
}

// closes reports whether a line ends the fence that began with a mark.
func closes(line, mark string) bool {
	rest := strings.TrimLeft(line, " ")
	indent := len(line) - len(rest)
	bare := strings.TrimLeft(rest, mark[:1])
	return indent <= 3 && len(rest)-len(bare) >= len(mark) && strings.Trim(bare, " \t") == ""
}

// values looks for values in a part.
func (f *finder) values(text string, fenced bool) {
	begin := open()
	if fenced {
		begin = inside()
	}
	for f.mistakes < maxMistakes {
		at := begin.FindStringIndex(text)
		if at == nil {
			return
		}
		text = text[at[1]-1:]
		value, rest, ok := cutValue(text)
		if end := strings.TrimLeft(rest, " \t"); ok && (end == "" || end[0] == '\n') {
			f.take(value)
		} else {
			f.mistakes++
		}
		_, after, more := strings.Cut(rest, "\n")
		if !more {
			return
		}
		text = after
	}
}

// cutValue cuts a JSON value off the beginning of a text. If there is none, the rest begins
// after its first character.
func cutValue(text string) (value record.Value, rest string, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	var raw json.RawMessage
	if d.Decode(&raw) != nil {
		return "", text[1:], false
	}
	rest = text[d.InputOffset():]
	var line bytes.Buffer
	var known any
	if json.Compact(&line, raw) != nil || json.Unmarshal(raw, &known) != nil { // a number that is too large
		return "", rest, false
	}
	value, err := record.ParseValue(line.Bytes()) // no name twice
	return value, rest, err == nil
}

func (f *finder) take(v record.Value) {
	if v[0] != '[' {
		f.takeOne(v)
		return
	}
	_ = v.Elements(func(_ int, v record.Value) error {
		f.takeOne(v)
		return nil
	})
}

func (f *finder) takeOne(v record.Value) {
	if v[0] == '{' && v.Member("action") != "" {
		f.found = append(f.found, v)
	}
}
