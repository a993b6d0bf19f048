package policy

import (
	"strconv"
	"strings"

	"pulse/lib/shared/lazy"
)

// bare are the characters of a name without quotes.
const bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// dottedNames reads the names of a key or a header, with the dots between them.
func (r *reader) dottedNames() (names []string) {
	for {
		r.space()
		switch c := r.peek(); {
		case c == '"' || c == '\'':
			text := r.quoted(true)
			if r.out.Fault != nil {
				return nil
			}
			names = append(names, text[1:len(text)-1])
		default:
			start := r.pos
			for c := r.peek(); c != 0 && strings.IndexByte(bare, c) >= 0; c = r.peek() {
				r.pos++
			}
			if r.pos == start {
				return nil
			}
			names = append(names, r.since(start))
		}
		if len(names) > maxDepth {
			r.deep()
			return nil
		}
		r.space()
		if r.peek() != '.' {
			return names
		}
		r.pos++
	}
}

func (r *reader) deep() {
	r.fail(r.line, nil, "more than %d names or brackets in each other", maxDepth)
	r.out.Fault.Final = true
}

// pair reads a key, its = and its value, which belong to a table.
func (r *reader) pair(table string, in []string) {
	start, line := r.pos, r.line
	names := r.dottedNames()
	if r.out.Fault != nil {
		return
	}
	if len(names) == 0 || r.peek() != '=' {
		r.noPair(start, in, names)
		return
	}
	r.pos++
	r.space()
	whole := below(in, names...)
	if r.peek() == '=' {
		r.fail(line, whole, "one = is enough")
		return
	}
	for _, name := range names[:len(names)-1] {
		table = r.into(joined(table, name), whole, line, dotted)
	}
	key := joined(table, names[len(names)-1])
	if m := r.out.seen[key]; m != nil {
		r.twice(whole, line, "", m)
		return
	}
	m := &mark{line: line}
	r.out.seen[key] = m
	m.as = r.value(key, whole, line, false)
}

// value reads a value and notes it under a key.
func (r *reader) value(key string, names []string, line int, element bool) kindOf {
	start, at := r.pos, len(r.out.Entries)
	r.out.Entries = append(r.out.Entries, outlined{Key: key, Names: names, Line: line, Element: element})
	kind := kindOf("")
	switch c := r.peek(); {
	case c == '"' || c == '\'':
		kind = isString
		if r.quoted(false); r.out.Fault != nil {
			r.out.Fault.Names = names
		}
	case c == '[':
		kind = isArray
		r.array(key, names)
	case c == '{':
		kind = isInline
		r.braces(key, names)
	case r.done() || r.ends():
		r.fail(line, names, "nothing stands after =")
	default:
		kind = r.word(names)
	}
	if r.out.Fault != nil {
		r.out.Entries = r.out.Entries[:at]
		return kind
	}
	r.out.Entries[at].Kind, r.out.Entries[at].Text = kind, r.since(start)
	return kind
}

// group is a list or a table in braces that is being read.
type group struct {
	open, shut byte
	names      []string
	begun, end int    // the lines of its bracket, and of the last thing in it
	last       string // the last value of a list
}

// array reads a list.
func (r *reader) array(key string, names []string) {
	g := r.begin(']', names)
	for n := 0; r.more(g); n++ {
		from := r.pos
		r.value(at(key, n), names, r.line, true)
		if g.last = r.since(from); !r.comma(g) {
			break
		}
	}
	r.depth--
}

// braces reads a table in braces.
func (r *reader) braces(key string, names []string) {
	g := r.begin('}', names)
	for r.more(g) {
		if r.pair(key, names); !r.comma(g) {
			break
		}
	}
	r.depth--
}

func (r *reader) begin(shut byte, names []string) *group {
	if r.depth++; r.depth > maxDepth {
		r.deep()
		return &group{}
	}
	r.pos++
	return &group{r.text[r.pos-1], shut, names, r.line, r.line, ""}
}

// more reports whether another element follows, and goes past the bracket if none does.
func (r *reader) more(g *group) bool {
	r.blank()
	switch c := r.peek(); {
	case r.out.Fault != nil:
	case r.done() || r.line > g.end && (c == '[' || g.open == '[') && r.statement():
		r.unclosed(g)
	case c == g.shut:
		r.pos++
	case c == ',':
		r.fail(r.line, g.names, "there is no value before this comma: want one comma between two values")
	default:
		return true
	}
	return false
}

// comma reports whether a comma follows an element, and goes past it, or past the bracket.
func (r *reader) comma(g *group) bool {
	g.end = r.line
	r.blank()
	switch c := r.peek(); {
	case r.out.Fault != nil:
	case c == ',':
		r.pos++
		g.end = r.line
		return true
	case c == g.shut:
		r.pos++
	case r.done() || r.line > g.end && (g.open == '{' || r.statement()):
		r.unclosed(g)
	case c == ']' || c == '}' || c == ')':
		r.fail(r.line, g.names, "want %c here, not %c: it closes what begins with %c", g.shut, c, g.open)
	case r.odd():
	case swallowed().MatchString(g.last):
		r.fail(g.end, g.names, "%s counts as one string: a quote is missing in it, or one too many stands after it",
			clip(g.last))
	default:
		r.fail(g.end, g.names, "a comma is missing%s, before %s", after(g.last), r.shownNext())
	}
	return false
}

func (r *reader) unclosed(g *group) {
	r.fail(g.end, g.names, "%s is not closed: want %c%s", opened(g), g.shut, after(g.last))
}

// statement reports whether what follows begins a key or a table of its own, as no value
// does.
func (r *reader) statement() bool { return statements().MatchString(r.rest()) }

const name = `("[^"]*"|'[^']*'|[A-Za-z0-9_-]+)`

var statements = lazy.Regexp(`^(` + name + `(\s*\.\s*` + name + `)*\s*=|` +
	`\[\[?\s*[A-Za-z_][\w-]*(\s*\.\s*[^\]]*)?\s*\]\]?\s*(#.*)?\r?$)`)

// swallowed is a string that took the comma after it for its own.
var swallowed = lazy.Regexp(`,\s*["']$`)

var (
	whole    = lazy.Regexp(`^([+-]?(0|[1-9](_?\d)*)|0x[0-9a-fA-F](_?[0-9a-fA-F])*|0o[0-7](_?[0-7])*|0b[01](_?[01])*)$`)
	fraction = lazy.Regexp(`^[+-]?((0|[1-9](_?\d)*)(\.\d(_?\d)*)?([eE][+-]?\d(_?\d)*)?|inf|nan)$`)
	date     = lazy.Regexp(`^(\d{4}-\d\d-\d\d([Tt ]|$)|\d\d:\d\d)`)

	timeOfDay = lazy.Regexp(`^ \d\d`)
)

// plainNumber reports whether a value is a number as most are, which needs no pattern.
func plainNumber(w string) bool {
	n, err := strconv.Atoi(w)
	return err == nil && strconv.Itoa(n) == w
}

// word reads a value without quotes.
func (r *reader) word(names []string) kindOf {
	const ends = " \t\r,]}#="
	start := r.pos
	r.pos += r.upTo(ends)
	later := r.text[r.pos:min(r.pos+3, len(r.text))]
	if w := r.since(start); len(w) == 10 && date().MatchString(w) && timeOfDay().MatchString(later) {
		r.pos++ // a blank between a date and a time
		r.pos += r.upTo(ends)
	}
	w := r.since(start)
	switch {
	case w == "true" || w == "false":
		return isBool
	case plainNumber(w):
		return isInteger
	case whole().MatchString(w):
		if _, err := strconv.ParseInt(w, 0, 64); err != nil {
			r.fail(r.line, names, "%s is too large a number", clip(w))
		}
		return isInteger
	case fraction().MatchString(w):
		return isFloat
	case date().MatchString(w):
		return isDate
	}
	if r.pos = start; r.odd() {
		r.out.Fault.Names = names
		return ""
	}
	r.notValue(w, names)
	return ""
}
