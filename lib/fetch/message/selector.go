package message

import (
	"slices"
	"strings"
)

// dynamic has the pseudo-classes that apply only at times, and the pseudo-elements. They do
// not hide the text, or not always.
var dynamic = []string{
	"::", ":before", ":after", ":hover", ":active", ":focus", ":visited", ":checked", ":target",
	":first-l", ":disabled", ":empty", ":placeholder", ":selection",
}

// compound is what a selector says of one element, and how that one is related to the next one on
// its right (Selectors §3): by a blank, >, + or ~.
type compound struct {
	name, id string
	classes  []string
	attrs    []condition
	pseudo   bool // it says more, which is not kept
	join     byte
}

// condition is an attribute selector. Its value has only what a name may have.
type condition struct{ name, op, value string }

// compounds reads a selector in plain CSS, from left to right.
func compounds(sel string) (list []compound) {
	var c compound
	var began bool
	for i := 0; i < len(sel); {
		rest := sel[i+1:]
		switch b := sel[i]; b {
		case ' ', '\t', '\r', '\n', '\f', '>', '+', '~':
			if began {
				list, c, began = append(list, c), compound{}, false
			}
			if n := len(list); n > 0 && (b == '>' || b == '+' || b == '~') {
				list[n-1].join = b
			} else if n > 0 && list[n-1].join == 0 {
				list[n-1].join = ' '
			}
			i++
			continue
		case '[':
			n := upTo(rest, "]")
			c.attrs = append(c.attrs, attribute(strings.TrimSuffix(rest[:n], "]")))
			i += 1 + n
		case ':':
			n := wordEnd(rest)
			if n < len(rest) && rest[n] == '(' {
				n = bracket(rest, n)
			}
			c.pseudo = true
			i += 1 + n
		case '.', '#':
			n := wordEnd(rest)
			if b == '.' {
				c.classes = append(c.classes, rest[:n])
			} else {
				c.id = rest[:n]
			}
			i += 1 + n
		default:
			n := max(1, wordEnd(sel[i:]))
			if word := sel[i : i+n]; word != "*" && word != "&" {
				c.name = word
			}
			i += n
		}
		began = true
	}
	if began {
		list = append(list, c)
	}
	return list
}

// wordEnd returns the length of the name that s begins with.
func wordEnd(s string) int {
	if i := strings.IndexAny(s, " \t\r\n\f>+~[]:.#()*&"); i >= 0 {
		return i
	}
	return len(s)
}

// bracket returns where the bracket at open is closed.
func bracket(s string, open int) int {
	depth := 0
	for i := open; i < len(s); i++ {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// attribute reads what stands between the brackets of an attribute selector.
func attribute(inside string) condition {
	name, value, found := strings.Cut(inside, "=")
	if !found {
		return condition{name: strings.TrimSpace(name)}
	}
	name = strings.TrimSpace(name)
	bare := strings.TrimRight(name, "~|^$*")
	value = strings.TrimSpace(value)
	if value = strings.TrimSpace(value); !strings.HasPrefix(value, "\"") {
		value, _, _ = strings.Cut(value, " ") // "x i"
	} else if end := strings.LastIndexByte(value, '"'); end > 0 {
		value = value[1:end]
	}
	return condition{strings.TrimSpace(bare), name[len(bare):] + "=", onlyWord(value)}
}

// onlyWord returns the bytes of s that a name may have, as plainCSS leaves them of a string.
func onlyWord(s string) string {
	var b strings.Builder
	writeWord(&b, s)
	return b.String()
}

// meets reports whether an element's attribute is as a selector wants it.
func (c *condition) meets(value string) bool {
	if len(value) > maxAttr {
		return true
	}
	whole := onlyWord(value)
	switch c.op {
	case "=":
		return whole == c.value
	case "~=":
		return slices.ContainsFunc(strings.Fields(value), func(w string) bool { return onlyWord(w) == c.value })
	case "|=":
		return whole == c.value || strings.HasPrefix(whole, c.value+"-")
	case "^=":
		return c.value != "" && strings.HasPrefix(whole, c.value)
	case "$=":
		return c.value != "" && strings.HasSuffix(whole, c.value)
	case "*=":
		return c.value != "" && strings.Contains(whole, c.value)
	}
	return true
}

// screenWidth is the width of the window for which a page is read, in CSS pixels: that of a
// common mail reader on a desk. Newsletters have a text for each kind of screen and hide
// all except one.
const screenWidth = 1024

// holds reports whether the rules in a block with this prelude apply.
func holds(prelude string) bool {
	name, condition, _ := strings.Cut(prelude, " ")
	name, more, _ := strings.Cut(name, "(") // "@media(min-width:1px)"
	if more != "" {
		condition = "(" + more + " " + condition
	}
	switch {
	case name == "@media":
		return screen(condition)
	case name == "@supports":
		return !strings.HasPrefix(strings.TrimSpace(condition), "not")
	}
	return name == "@layer" || name == "@container" || name == "@scope" || !strings.HasPrefix(name, "@")
}

// screen reports whether one of a list of media queries is true for the window.
func screen(list string) bool {
	for _, query := range strings.Split(list, ",") {
		if query = strings.TrimSpace(query); matches(query) {
			return true
		}
	}
	return false
}

func matches(query string) bool {
	if strings.HasPrefix(query, "not") {
		return false
	}
	kind, rest, _ := strings.Cut(query, "(")
	if strings.Contains(kind, "print") || strings.Contains(kind, "speech") {
		return false
	}
	for rest != "" {
		var feature string
		feature, rest, _ = strings.Cut(rest, ")")
		if !fits(feature) {
			return false
		}
		_, rest, _ = strings.Cut(rest, "(")
	}
	return true
}

// fits reports whether the window has a media feature. An unknown one counts as present,
// because the rules under it may hide something.
func fits(feature string) bool {
	if strings.Contains(feature, "prefers-color-scheme") {
		return !strings.Contains(feature, "dark")
	}
	i := strings.IndexAny(feature, "0123456789.")
	if !strings.Contains(feature, "width") || i < 0 {
		return true
	}
	n, unit, _ := number(feature[i:])
	if strings.HasPrefix(unit, "em") || strings.HasPrefix(unit, "rem") {
		n *= 16
	}
	switch {
	case strings.Contains(feature, "max-") || strings.Contains(feature, "<"):
		return n >= screenWidth
	case strings.Contains(feature, "min-") || strings.Contains(feature, ">"):
		return n <= screenWidth
	}
	return n == screenWidth
}
