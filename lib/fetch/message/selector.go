package message

import "strings"

// dynamic has the pseudo-classes that apply only at times, and the pseudo-elements. They do
// not hide the text, or not always.
var dynamic = []string{
	"::", ":before", ":after", ":hover", ":active", ":focus", ":visited", ":checked", ":target",
	":first-l", ":disabled", ":empty", ":placeholder", ":selection",
}

// selector reads the last compound of a selector (Selectors §3). It returns the key under
// which the rule is kept, and what else an element must have. ok is false for a selector
// that can't hide a page's text.
func selector(sel string) (key string, r rule, ok bool) {
	for _, d := range dynamic {
		if strings.Contains(sel, d) {
			return "", r, false
		}
	}
	sel = attributeSelectors(sel)
	if i := strings.LastIndexAny(sel, " \t\r\n\f>+~"); i >= 0 {
		sel = sel[i+1:]
	}
	sel, _, _ = strings.Cut(sel, ":")
	i := strings.IndexAny(sel, ".#")
	if i < 0 {
		return sel, r, sel != ""
	}
	if r.name = sel[:i]; r.name == "*" {
		r.name = ""
	}
	for sel = sel[i:]; sel != ""; {
		end := strings.IndexAny(sel[1:], ".#") + 1
		if end == 0 {
			end = len(sel)
		}
		if key = sel[:end]; key[0] == '.' {
			r.classes = append(r.classes, key[1:])
		}
		sel = sel[end:]
	}
	return key, r, len(key) > 1
}

// partly reports whether a selector has conditions that its rule does not keep.
func (r *rule) partly(sel string) bool {
	return strings.ContainsAny(strings.TrimSpace(sel), " \t\r\n\f>+~:[")
}

// attributeSelectors replaces those for class and id by the dot and the hash that they
// stand for, and leaves out the others.
func attributeSelectors(sel string) string {
	for {
		before, rest, ok := strings.Cut(sel, "[")
		if !ok {
			return sel
		}
		inside, after, _ := strings.Cut(rest, "]")
		name, value, _ := strings.Cut(inside, "=")
		value = strings.Trim(value, "\" ")
		switch name = strings.TrimRight(name, "~*^$| "); {
		case name == "class" && value != "":
			before += "." + value
		case name == "id" && value != "":
			before += "#" + value
		}
		sel = before + after
	}
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
