package screen

import (
	"strings"

	"pulse/lib/shared/escape"
)

// row is a line, or a part of one, as wide as a terminal.
type row struct {
	text  string
	from  int  // offset of what it shows in the whole text, with a newline after each line
	name  int  // how many bytes are a name in the first column
	alarm bool // it belongs to a line that warns
}

// Fold breaks lines that are wider than a terminal of so many columns, before the
// terminal does it. The terminal would continue a line in the first column, where our
// names stand; Fold continues it after the gutter, or indented. A character that is not
// ASCII counts as two columns wide, which is never too little.
func Fold(lines []string, columns int) []string {
	var folded []string
	for _, r := range fold(lines, columns) {
		folded = append(folded, r.text)
	}
	return folded
}

func fold(lines []string, columns int) (rows []row) {
	columns = max(columns, 4*len(Gutter))
	from := 0
	for _, l := range lines {
		prefix := indent
		if strings.HasPrefix(l, Gutter) {
			prefix = Gutter
		}
		name, _, _ := strings.Cut(l, " ")
		n := escape.Fit(l, columns, columns*2/3)
		r := row{text: l[:n], from: from, name: len(name), alarm: alarms(l)}
		rows = append(rows, r)
		for start := n; start < len(l); start += n {
			n = escape.Fit(l[start:], columns-len(prefix), (columns-len(prefix))*2/3)
			rows = append(rows, row{text: prefix + l[start:start+n], from: from + start, alarm: r.alarm})
		}
		from += len(l) + 1
	}
	return rows
}

// alarms reports whether a line of ours says what a person must not overlook.
// Content can't begin so: it stands after the gutter.
func alarms(l string) bool {
	for _, begin := range []string{"warning ", "caution ", "proven   NOT "} {
		if strings.HasPrefix(l, begin) {
			return true
		}
	}
	return false
}

// The colours (ECMA-48 §8.3.117). They are the only sequences that reach a terminal,
// and package escape removes them from content.
const (
	bold, inverse, reset = "\x1b[1m", "\x1b[7m", "\x1b[0m"
)

// paint returns the row with our names bold and our warnings inverse.
func (r *row) paint() string {
	switch {
	case r.alarm:
		return inverse + r.text + reset
	case r.name > 0:
		n := min(r.name, len(r.text))
		return bold + r.text[:n] + reset + r.text[n:]
	}
	return r.text
}

// indent is as wide as a name.
const indent = "         "
