package policy

import (
	"fmt"
	"regexp"
	"strings"
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
	r.out.Fault.Deep = true
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

// array reads a list.
func (r *reader) array(key string, names []string) {
	if r.depth++; r.depth > maxDepth {
		r.deep()
		return
	}
	defer func() { r.depth-- }()
	begun, end, last := r.line, r.line, ""
	unclosed := func() { r.fail(end, names, "%s is not closed: want ]%s", opened("[", begun, end), after(last)) }
	r.pos++
	for n := 0; ; n++ {
		r.blank()
		switch c := r.peek(); {
		case r.done() || r.line > end && r.statement():
			unclosed()
			return
		case c == ']':
			r.pos++
			return
		case c == ',':
			r.fail(r.line, names, "there is no value before this comma: want one comma between two values")
			return
		}
		from := r.pos
		r.value(fmt.Sprintf("%s[%d]", key, n), names, r.line, true)
		if r.out.Fault != nil {
			return
		}
		last, end = r.since(from), r.line
		r.blank()
		switch c := r.peek(); {
		case c == ',':
			r.pos++
			end = r.line
		case c == ']':
			r.pos++
			return
		case c == '}' || c == ')':
			r.fail(r.line, names, "want ] here, not %c: a list is closed by ]", c)
			return
		case r.done() || r.line > end && r.statement():
			unclosed()
			return
		case r.odd():
			return
		case swallowed.MatchString(last):
			r.fail(end, names, "%s counts as one string: a quote is missing in it, or one too many stands after it", clip(last))
			return
		default:
			r.fail(end, names, "a comma is missing%s, before %s", after(last), r.shownNext())
			return
		}
	}
}

// braces reads a table in braces.
func (r *reader) braces(key string, names []string) {
	if r.depth++; r.depth > maxDepth {
		r.deep()
		return
	}
	defer func() { r.depth-- }()
	begun, end := r.line, r.line
	unclosed := func() { r.fail(end, names, "%s is not closed: want }", opened("{", begun, end)) }
	r.pos++
	for {
		r.blank()
		switch c := r.peek(); {
		case r.done() || r.line > end && c == '[':
			unclosed()
			return
		case c == '}':
			r.pos++
			return
		}
		if r.pair(key, names); r.out.Fault != nil {
			return
		}
		end = r.line
		r.blank()
		switch c := r.peek(); {
		case c == ',':
			r.pos++
			end = r.line
		case c == '}':
			r.pos++
			return
		case r.done() || r.line > end:
			unclosed()
			return
		case c == ']' || c == ')':
			r.fail(r.line, names, "want } here, not %c: what begins with { is closed by }", c)
			return
		case r.odd():
			return
		default:
			r.fail(end, names, "a comma is missing before %s", r.shownNext())
			return
		}
	}
}

// statement reports whether what follows begins a key or a table of its own, as no value
// does.
func (r *reader) statement() bool { return statements.MatchString(r.rest()) }

const name = `("[^"]*"|'[^']*'|[A-Za-z0-9_-]+)`

var statements = regexp.MustCompile(`^(` + name + `(\s*\.\s*` + name + `)*\s*=|\[\[?\s*[A-Za-z_][\w-]*(\s*\.\s*[^\]]*)?\s*\]\]?\s*(#.*)?\r?$)`)

// swallowed is a string that took the comma after it for its own.
var swallowed = regexp.MustCompile(`,\s*["']$`)

var (
	whole    = regexp.MustCompile(`^([+-]?(0|[1-9](_?\d)*)|0x[0-9a-fA-F](_?[0-9a-fA-F])*|0o[0-7](_?[0-7])*|0b[01](_?[01])*)$`)
	fraction = regexp.MustCompile(`^[+-]?((0|[1-9](_?\d)*)(\.\d(_?\d)*)?([eE][+-]?\d(_?\d)*)?|inf|nan)$`)
	date     = regexp.MustCompile(`^(\d{4}-\d\d-\d\d([Tt ]|$)|\d\d:\d\d)`)

	timeOfDay = regexp.MustCompile(`^ \d\d`)
)

// word reads a value without quotes.
func (r *reader) word(names []string) kindOf {
	const ends = " \t\r,]}#="
	start := r.pos
	r.pos += r.upTo(ends)
	if len(r.since(start)) == 10 && date.MatchString(r.since(start)) && timeOfDay.MatchString(r.text[r.pos:min(r.pos+4, len(r.text))]) {
		r.pos++ // a blank between a date and a time
		r.pos += r.upTo(ends)
	}
	w := r.since(start)
	switch {
	case w == "true" || w == "false":
		return isBool
	case whole.MatchString(w):
		return isInteger
	case fraction.MatchString(w):
		return isFloat
	case date.MatchString(w):
		return isDate
	}
	if r.pos = start; r.odd() {
		r.out.Fault.Names = names
		return ""
	}
	r.notValue(w, names)
	return ""
}
