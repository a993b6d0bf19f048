package policy

import (
	"fmt"
	"strings"
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
	Text    string // the value as it stands; empty for tables
	Element bool   // of a list
}

// flaw is what keeps a file from being TOML.
type flaw struct {
	Line  int
	Names []string // of the key or table that it is about, if known
	Bare  string   // a word without quotes that stands for the value, if that is all
	Text  string   // what is wrong, and what is wanted
	Final bool     // it counts even if the TOML library takes the file
}

// outline is what stands where in a TOML file, in its order, up to the first flaw: what
// keeps it from being TOML, on the line where a bracket, a quote or a brace is missing and
// not where a parser noticed. It is not the parser. It decodes no values, a file that is
// TOML has no flaw, and what it has no words for it lets pass.
type outline struct {
	Entries []outlined
	Fault   *flaw
	seen    map[string]*mark
}

// mark is what is known about a key or a table that the file has.
type mark struct {
	line int
	as   kindOf
	made made
	n    int // [[tables]] so far
}

// made says how a table came to be; it decides what may be added to it.
type made int

const (
	written made = iota // by a header or a value of its own
	dotted              // by a key with a dot
	implied             // by the header of a table below it
)

// maxDepth bounds lists and braces in each other, and the names of one key.
const maxDepth = 64

// readOutline reads a file.
func readOutline(text string) *outline {
	r := &reader{text: text, line: 1, out: &outline{seen: map[string]*mark{}}}
	r.characters()
	for r.blank(); !r.done(); r.blank() {
		if r.peek() == '[' {
			r.header()
		} else {
			r.pair(r.table, r.names)
			r.lineEnd("")
		}
	}
	return r.out
}

// reader reads a file once, from its beginning. After a flaw it is done.
type reader struct {
	text  string
	pos   int
	line  int
	out   *outline
	table string   // the key of the table that keys belong to, empty at the top
	names []string // its names
	depth int
}

func (r *reader) done() bool { return r.out.Fault != nil || r.pos >= len(r.text) }

// peek returns the next byte, or 0 if there is none.
func (r *reader) peek() byte {
	if r.done() {
		return 0
	}
	return r.text[r.pos]
}

// fail keeps the first flaw.
func (r *reader) fail(line int, names []string, format string, args ...any) {
	if r.out.Fault == nil {
		r.out.Fault = &flaw{Line: line, Names: names, Text: fmt.Sprintf(format, args...)}
	}
}

func (r *reader) since(from int) string { return r.text[from:r.pos] }

// space skips blanks.
func (r *reader) space() {
	for c := r.peek(); c == ' ' || c == '\t'; c = r.peek() {
		r.pos++
	}
}

// blank skips blanks, comments and ends of lines.
func (r *reader) blank() {
	for !r.done() {
		switch c := r.peek(); {
		case c == '\n':
			r.line++
			r.pos++
		case c == ' ' || c == '\t' || c == '\r':
			r.pos++
		case c == '#':
			r.pos += len(r.rest())
		default:
			return
		}
	}
}

// rest returns what is left of the line.
func (r *reader) rest() string {
	rest, _, _ := strings.Cut(r.text[r.pos:], "\n")
	return rest
}

// ends reports whether nothing but a comment is left of the line.
func (r *reader) ends() bool {
	for i := r.pos; i < len(r.text); i++ {
		switch r.text[i] {
		case '\n', '#':
			return true
		case ' ', '\t', '\r':
		default:
			return false
		}
	}
	return true
}

// upTo returns how many bytes of the line come before any of these characters.
func (r *reader) upTo(chars string) int {
	for i := r.pos; i < len(r.text); i++ {
		if r.text[i] == '\n' || strings.IndexByte(chars, r.text[i]) >= 0 {
			return i - r.pos
		}
	}
	return len(r.text) - r.pos
}
