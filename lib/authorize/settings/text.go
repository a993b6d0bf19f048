package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// text is a text of JSON, perhaps with comments and with commas after the last of a list, in which
// items are put and taken away.
type text []byte

// list is an array or an object.
type list struct {
	start, end int // of its brackets
	items      []item
	last       hujson.Extra // blanks and comments before the bracket that closes it
}

// item is an element of an array, or a member of an object.
type item struct {
	name       string // of a member
	before     hujson.Extra
	start, end int
	comma      int // where the comma after it stands; below 0: there is none
	value      *hujson.Value
}

var errKind = errors.New("there is something else where an object or an array should be")

func listOf(v *hujson.Value, kind hujson.Kind) (*list, error) {
	if v.Value.Kind() != kind {
		return nil, fmt.Errorf("at byte %d: %w", v.StartOffset, errKind)
	}
	l := &list{start: v.StartOffset, end: v.EndOffset - 1}
	switch c := v.Value.(type) {
	case *hujson.Object:
		l.last = c.AfterExtra
		for i := range c.Members {
			m := &c.Members[i]
			l.add(item{nameOf(&m.Name), m.Name.BeforeExtra, m.Name.StartOffset, m.Value.EndOffset, -1, &m.Value})
		}
	case *hujson.Array:
		l.last = c.AfterExtra
		for i := range c.Elements {
			e := &c.Elements[i]
			l.add(item{"", e.BeforeExtra, e.StartOffset, e.EndOffset, -1, e})
		}
	}
	if n := len(l.items); n > 0 && l.items[n-1].value.AfterExtra == nil {
		l.items[n-1].comma = -1
	}
	return l, nil
}

func (l *list) add(i item) {
	i.comma = i.end + len(i.value.AfterExtra)
	l.items = append(l.items, i)
}

func nameOf(v *hujson.Value) string {
	name, _ := v.Value.(hujson.Literal)
	return name.String()
}

func (l *list) index(name string) int {
	return slices.IndexFunc(l.items, func(i item) bool { return i.name == name })
}

// member returns a member of an object, which is a list; nil if there is none.
func (l *list) member(name string, kind hujson.Kind) (*list, error) {
	i := l.index(name)
	if i < 0 {
		return nil, nil
	}
	if slices.ContainsFunc(l.items[i+1:], func(i item) bool { return i.name == name }) {
		return nil, fmt.Errorf("%s is there twice", name)
	}
	return listOf(l.items[i].value, kind)
}

const blanks = " \t\r\n"

// put returns the text with one more item at the end of a list. Into an empty list it goes
// without a line of its own: so it can be told from a list that was made for it.
func (t text) put(l *list, value string) []byte {
	at := l.end - len(l.last) + len(bytes.TrimRight(l.last, blanks))
	if len(l.items) == 0 {
		return t.splice(at, at, t.indented(value, t.indentAt(l.start)))
	}
	last := l.items[len(l.items)-1]
	lead, indent := " ", t.indentAt(last.start)
	if bytes.ContainsRune(t[l.start:l.end], '\n') {
		lead = t.newline() + indent
	}
	added := append([]byte(lead), t.indented(value, indent)...)
	if last.comma >= 0 { // there is one after the last, and then after ours, too
		return t.splice(at, at, append(added, ','))
	}
	return text(t.splice(at, at, added)).splice(last.end, last.end, []byte{','})
}

// cut returns the text without an item of a list: what was before put.
func (t text) cut(l *list, i int) []byte {
	it := l.items[i]
	start := it.start - len(it.before) + len(bytes.TrimRight(it.before, blanks))
	end := max(it.end, it.comma+1)
	rest := text(t.splice(start, end, nil))
	if i > 0 && it.comma < 0 {
		comma := l.items[i-1].comma
		return rest.splice(comma, comma+1, nil)
	}
	return rest
}

func (t text) splice(start, end int, with []byte) []byte {
	return slices.Concat(t[:start], with, t[end:])
}

func (t text) newline() string {
	if bytes.Contains(t, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// indentAt returns the blanks that the line of a byte begins with.
func (t text) indentAt(at int) string {
	line := string(t[bytes.LastIndexByte(t[:at], '\n')+1:])
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// unit returns the blanks by which this text indents.
func (t text) unit() string {
	for line := range strings.Lines(string(t)) {
		if rest := strings.TrimLeft(line, " \t"); strings.HasPrefix(rest, `"`) && len(rest) < len(line) {
			return line[:len(line)-len(rest)]
		}
	}
	return "  "
}

// indented returns a value, or a member, as lines.
func (t text) indented(value, indent string) []byte {
	var b bytes.Buffer
	name, rest, isMember := "", value, value[0] == '"'
	if isMember {
		name, rest, _ = strings.Cut(value, ":")
		name += ": "
	}
	if json.Indent(&b, []byte(rest), indent, t.unit()) != nil {
		return []byte(value)
	}
	return []byte(strings.ReplaceAll(name+b.String(), "\n", t.newline()))
}
