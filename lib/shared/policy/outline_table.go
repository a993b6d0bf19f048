package policy

import (
	"fmt"
	"slices"
	"strings"
)

// header reads [name] or [[name]], up to the end of its line.
func (r *reader) header() {
	start, line := r.pos, r.line
	open, shut := "[", "]"
	if strings.HasPrefix(r.text[r.pos:], "[[") {
		open, shut = "[[", "]]"
	}
	r.pos += len(open)
	names := r.dottedNames()
	r.space()
	switch {
	case r.out.Fault != nil:
		return
	case !strings.HasPrefix(r.text[r.pos:], shut) || len(names) == 0:
		r.badHeader(start, open, shut, names)
		return
	}
	r.pos += len(shut)
	written := r.since(start)
	if r.peek() == ']' {
		r.fail(line, names, "%s has more ] than [", written+"]")
		return
	}
	r.enter(names, line, open == "[[")
	r.lineEnd(written)
}

// badHeader says what is wrong with a header: a bracket, or a name that needs quotes.
func (r *reader) badHeader(start int, open, shut string, names []string) {
	text, _, _ := strings.Cut(firstLine(r.text[start+len(open):]), "#")
	text = strings.Trim(text, " \t\r")
	name := strings.TrimRight(strings.TrimRight(text, "]"), " \t")
	head := open + clip(name) + shut
	switch {
	case name == "":
		r.fail(r.line, nil, "%s%s has no name: want that of a table, such as [limits]", open, text)
	case r.odd():
	case len(names) > 0 && r.peek() == ']':
		r.fail(r.line, names, "%s has one ]: want %s", open+text, head)
	case len(names) > 0 && r.ends():
		r.fail(r.line, names, "the %s is not closed: want %s", open, head)
	default:
		r.fail(r.line, nil, "%s needs quotes where it is not a to z, digits, _ or -: want %s%s%s",
			clip(open+text), open, clip(quotedFrom(name)), shut)
	}
}

// quotedFrom puts the first part of a dotted name that needs quotes, and all after it,
// into quotes: an address has dots of its own.
func quotedFrom(name string) string {
	parts := strings.Split(name, ".")
	for i, part := range parts {
		if part == "" || strings.Trim(part, bare) != "" {
			rest := strings.NewReplacer(`"`, "", `'`, "").Replace(strings.Join(parts[i:], "."))
			return strings.Join(append(parts[:i:i], `"`+rest+`"`), ".")
		}
	}
	return name
}

// enter begins a table.
func (r *reader) enter(names []string, line int, several bool) {
	key := ""
	for _, name := range names[:len(names)-1] {
		if key = r.into(joined(key, name), names, line, implied); r.out.Fault != nil {
			return
		}
	}
	key = joined(key, names[len(names)-1])
	m := r.out.seen[key]
	kind := isTable
	if several {
		kind = isTables
	}
	switch {
	case m == nil:
		m = &mark{line: line, as: kind}
		r.out.seen[key] = m
	case m.as == isTables && several:
	case m.as == isTable && m.made != written && !several:
		*m = mark{line: line, as: isTable}
	default:
		r.twice(names, line, kind, m)
		return
	}
	if several {
		key = fmt.Sprintf("%s[%d]", key, m.n)
		m.n++
	}
	r.table, r.names = key, names
	r.out.Entries = append(r.out.Entries, outlined{Key: key, Names: names, Line: line, Kind: kind})
}

// into returns the key of the table of that name, which it makes if there is none.
func (r *reader) into(key string, names []string, line int, as made) string {
	switch m := r.out.seen[key]; {
	case m == nil:
		r.out.seen[key] = &mark{line: line, as: isTable, made: as}
	case m.as == isTables && as == implied:
		return fmt.Sprintf("%s[%d]", key, m.n-1)
	case m.as != isTable && m.as != isInline:
		r.fail(line, names, "%s is a %s in line %d, so nothing can stand below it", key, m.as, m.line)
	}
	return key
}

// twice says that something is there already, and where.
func (r *reader) twice(names []string, line int, kind kindOf, m *mark) {
	name := strings.Join(names, ".")
	switch {
	case kind == isTable && m.as == isTable && m.made == written:
		r.fail(line, names, "[%s] begins in line %d already: want its keys there, and no second one", name, m.line)
	case kind == isTable && m.as == isTables:
		r.fail(line, names, "want [[%s]], with two brackets, as in line %d", name, m.line)
	case kind == isTables && m.as == isTable:
		r.fail(line, names, "want [%s], with one bracket, as in line %d", name, m.line)
	case m.as == isTable || m.as == isTables:
		r.fail(line, names, "it is a table in line %d already: want its keys in one place", m.line)
		r.out.Fault.Final = true // the library would drop that table unasked
	default:
		r.fail(line, names, "it stands in line %d already: want one of the two", m.line)
	}
}

func joined(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

func below(names []string, more ...string) []string { return slices.Concat(names, more) }
