package message

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// style is what declarations say about whether text can be seen.
type style struct {
	hidden     bool // display: none and everything else that a child can't undo
	visibility string
	size       string // font-size
	ink, back  colour
}

// attributes applies what the tag's attributes and the style sheet say to el. Of
// two attributes of one name the first counts (HTML §13.2.5.33).
func (p *page) attributes(el *element, z *html.Tokenizer, more bool) {
	var attr = map[string]string{}
	for more {
		var name, value []byte
		name, value, more = z.TagAttr()
		if _, twice := attr[string(name)]; !twice && styling[string(name)] {
			attr[string(name)] = string(value)
		}
	}
	if _, ok := attr["hidden"]; ok {
		el.hidden = true
	}
	for _, s := range p.sheet.matching(el, attr["class"], attr["id"]) {
		el.apply(s)
	}
	el.apply(style{
		ink:  firstColour(attr["color"], attr["text"]),
		back: parseColour(attr["bgcolor"]),
	})
	if attr["style"] != "" {
		el.apply(parseStyle(attr["style"]))
	}
}

var styling = map[string]bool{
	"hidden": true, "class": true, "id": true, "style": true, "color": true, "text": true, "bgcolor": true,
}

func firstColour(a, b string) colour {
	if c := parseColour(a); c.known {
		return c
	}
	return parseColour(b)
}

func (e *element) apply(s style) {
	e.hidden = e.hidden || s.hidden
	if s.visibility != "" {
		e.unseen = s.visibility == "hidden" || s.visibility == "collapse"
	}
	if s.size != "" {
		e.tiny = tiny(s.size, e.tiny)
	}
	if s.ink.known {
		e.ink = s.ink
	}
	if s.back.known && !s.back.clear {
		e.back = s.back
	}
}

// parseStyle reads declarations (CSS Syntax §5).
func parseStyle(css string) style {
	var s style
	clipped, none := false, false // overflow: hidden; no height or width
	for _, decl := range strings.Split(plainCSS(css), ";") {
		name, value, _ := strings.Cut(decl, ":")
		name = strings.TrimSpace(name)
		value = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "!important"))
		switch name {
		case "visibility":
			s.visibility = value
		case "font-size":
			s.size = value
		case "font":
			for _, word := range strings.Fields(value) {
				if word[0] >= '0' && word[0] <= '9' || word[0] == '.' {
					s.size, _, _ = strings.Cut(word, "/")
				}
			}
		case "color", "-webkit-text-fill-color":
			s.ink = parseColour(value)
		case "background", "background-color":
			s.back = anyColour(value)
		case "overflow", "overflow-x", "overflow-y":
			clipped = clipped || value == "hidden" || value == "clip"
		case "height", "max-height", "width", "max-width":
			n, _, ok := number(value)
			none = none || ok && n < 2
		default:
			s.hidden = s.hidden || hides(name, value)
		}
	}
	s.hidden = s.hidden || clipped && none
	return s
}

// hides reports whether one declaration makes an element and all in it unseen.
func hides(name, value string) bool {
	n, unit, ok := number(value)
	switch name {
	case "display":
		return value == "none"
	case "content-visibility":
		return value == "hidden"
	case "opacity":
		return ok && (n < 0.1 || unit == "%" && n < 10)
	case "text-indent", "left", "right", "top", "bottom", "margin", "margin-left", "margin-top":
		return ok && n <= -500
	case "clip":
		return strings.HasPrefix(value, "rect(0") || strings.HasPrefix(value, "rect(1px")
	case "clip-path":
		return strings.HasPrefix(value, "inset(50%") || strings.HasPrefix(value, "inset(100%") || strings.HasPrefix(value, "circle(0")
	case "transform":
		return strings.Contains(value, "scale(0") || strings.Contains(value, "(-9")
	case "filter":
		return strings.HasPrefix(value, "opacity(0")
	}
	return false
}

// tiny reports whether a font size can't be read; a relative size of what is tiny
// already is tiny.
func tiny(size string, was bool) bool {
	n, unit, ok := number(size)
	switch {
	case !ok:
		return was && (size == "inherit" || size == "smaller" || size == "larger")
	case n == 0:
		return true
	case unit == "em" || unit == "%":
		return was || unit == "em" && n < 0.2 || unit == "%" && n < 20
	case unit == "rem":
		return n < 0.2
	}
	return n < 3
}

// number splits "1.5px" and reports whether it begins with a number.
func number(value string) (n float64, unit string, ok bool) {
	i := 0
	for i < len(value) && strings.IndexByte("+-.0123456789", value[i]) >= 0 {
		i++
	}
	n, err := strconv.ParseFloat(value[:i], 64)
	return n, value[i:], err == nil
}

// plainCSS returns css in lower case without comments and escapes.
func plainCSS(css string) string {
	var b strings.Builder
	for i := 0; i < len(css); i++ {
		switch {
		case strings.HasPrefix(css[i:], "/*"):
			end := strings.Index(css[i+2:], "*/")
			if end < 0 {
				return b.String()
			}
			i += end + 3
		case css[i] == '\\' && i+1 < len(css):
			r, n := cssEscape(css[i+1:])
			b.WriteRune(r)
			i += n
		default:
			b.WriteByte(lowerByte(css[i]))
		}
	}
	return b.String()
}

// cssEscape decodes what stands after a backslash: up to six hex digits and a
// blank, or any character (CSS Syntax §4.3.7).
func cssEscape(s string) (r rune, n int) {
	for n < len(s) && n < 6 && unhex(s[n]) < 16 {
		r = r<<4 | rune(unhex(s[n]))
		n++
	}
	if n == 0 {
		return rune(lowerByte(s[0])), 1
	}
	if n < len(s) && (s[n] == ' ' || s[n] == '\t' || s[n] == '\n') {
		n++
	}
	if 'A' <= r && r <= 'Z' {
		r += 'a' - 'A'
	}
	return r, n
}
