package policy

import (
	"sort"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// kindOf is what a key is given.
type kindOf string

// The kinds, as they are named to people.
const (
	isTable   kindOf = "table"  // [name]
	isTables  kindOf = "tables" // [[name]], one of several
	isInline  kindOf = "table in braces"
	isArray   kindOf = "list"   // [ … ]
	isString  kindOf = "string" // in quotes of any kind
	isInteger kindOf = "whole number"
	isFloat   kindOf = "number that is not whole"
	isBool    kindOf = "truth value" // true or false
	isDate    kindOf = "date"        // or a time
)

// outlined is a table, a key with its value, or an element of a list.
type outlined struct {
	Key     string   // the whole path, with [n] after each list and each [[table]]
	Names   []string // the path without these numbers
	Line    int      // where the key stands, or the element
	Kind    kindOf
	Text    string // the value as it stands; empty for tables and lists
	Element bool   // of a list
}

// outline is what stands where in a TOML file, in its order, up to the first fault.
type outline struct {
	Entries []outlined
	Fault   *unstable.ParserError // nil: the file is TOML, if no key stands there twice
	Line    int                   // of the fault
	Table   []string              // the names of the table that the fault is in
}

// readOutline reads a file. What it holds need not make sense.
func readOutline(text string) *outline {
	r := &reader{out: &outline{}, tables: map[string]int{}}
	for i := range len(text) {
		if text[i] == '\n' {
			r.ends = append(r.ends, i)
		}
	}
	r.Reset([]byte(text))
	for r.NextExpression() {
		if e := r.Expression(); e.Kind == unstable.KeyValue {
			r.pair(r.table, r.names, e)
		} else if e.Kind == unstable.Table || e.Kind == unstable.ArrayTable {
			r.header(e)
		}
	}
	if fault, ok := r.Error().(*unstable.ParserError); ok {
		r.out.Fault, r.out.Line, r.out.Table = fault, r.wants(fault), r.names
	}
	return r.out
}

// wants returns the line of a fault. Where a bracket or a comma is missing, the parser notices that
// at what follows, and it is missing after what stands above.
func (r *reader) wants(fault *unstable.ParserError) int {
	at := r.Range(fault.Highlight)
	above := strings.Split(string(r.Data()[:at.Offset]), "\n")
	if strings.Contains(fault.Message, " or ") || strings.HasSuffix(fault.Message, "start of value") {
		for len(above) > 1 && blank(above[len(above)-1]) {
			above = above[:len(above)-1]
		}
	}
	return len(above)
}

// blank reports whether a line, or its beginning, says nothing, or is the beginning of a header that
// was taken for a list.
func blank(line string) bool {
	line = strings.Trim(line, " \t\r[")
	return line == "" || line[0] == '#'
}

// reader follows the parser through a file.
type reader struct {
	unstable.Parser
	out    *outline
	ends   []int          // of lines, in bytes of the file
	tables map[string]int // how many [[tables]] of a key there are so far
	table  string         // the key of the table that keys belong to, empty at the top
	names  []string       // its names
}

func (r *reader) line(at unstable.Range) int {
	return 1 + sort.SearchInts(r.ends, int(at.Offset))
}

// header enters a table.
func (r *reader) header(e *unstable.Node) {
	names, line := r.key(e)
	r.table, r.names = "", names
	for i, name := range names {
		r.table = joined(r.table, name)
		if n := r.tables[r.table]; n > 0 && i < len(names)-1 {
			r.table = at(r.table, n-1)
		}
	}
	kind := isTable
	if e.Kind == unstable.ArrayTable {
		kind = isTables
		r.tables[r.table]++
		r.table = at(r.table, r.tables[r.table]-1)
	}
	r.out.Entries = append(r.out.Entries, outlined{Key: r.table, Names: names, Line: line, Kind: kind})
}

// most is how many names of a key are read: one with more is in no policy, and its path need not
// be made of them again and again.
const most = 16

// key returns the names of a key, and its line.
func (r *reader) key(e *unstable.Node) (names []string, line int) {
	for it := e.Key(); it.Next() && len(names) < most; {
		if line == 0 {
			line = r.line(it.Node().Raw)
		}
		names = append(names, string(it.Node().Data))
	}
	return names, line
}

// pair notes a key with its value, which belong to a table.
func (r *reader) pair(table string, in []string, e *unstable.Node) {
	names, line := r.key(e)
	for _, name := range names {
		table = joined(table, name)
	}
	r.value(table, append(in[:len(in):len(in)], names...), line, false, e.Value())
}

// value notes a value under a key, and what is in it.
func (r *reader) value(key string, names []string, line int, element bool, v *unstable.Node) {
	if v.Raw.Length > 0 { // a list has none
		line = r.line(v.Raw)
	}
	e := outlined{Key: key, Names: names, Line: line, Kind: kinds[v.Kind], Element: element}
	if v.Kind != unstable.InlineTable {
		e.Text = string(r.Raw(v.Raw))
	}
	r.out.Entries = append(r.out.Entries, e)
	n := 0
	for it := v.Children(); it.Next(); {
		switch in := it.Node(); {
		case in.Kind == unstable.Comment:
		case v.Kind == unstable.InlineTable:
			r.pair(key, names, in)
		case v.Kind == unstable.Array:
			r.value(at(key, n), names, line, true, in)
			n++
		}
	}
}

var kinds = map[unstable.Kind]kindOf{
	unstable.Array: isArray, unstable.InlineTable: isInline, unstable.String: isString, unstable.Integer: isInteger,
	unstable.Float: isFloat, unstable.Bool: isBool, unstable.LocalDate: isDate, unstable.LocalTime: isDate,
	unstable.LocalDateTime: isDate, unstable.DateTime: isDate,
}

func joined(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

// wrote returns the line of the fault.
func (o *outline) wrote(text string) string {
	for range o.Line - 1 {
		_, text, _ = strings.Cut(text, "\n")
	}
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(line)
}
