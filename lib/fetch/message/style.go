package message

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// style is what declarations say about whether text can be seen.
type style struct {
	hidden     bool // display: none, and anything else that a child can't undo
	visibility string
	size       string // font-size
	ink, back  colour
}

// The attributes that decide whether text can be seen.
const (
	hiddenAttr = iota
	popoverAttr
	classAttr
	idAttr
	styleAttr
	colorAttr
	textAttr
	bgcolorAttr
	attrs
)

var attrNames = [attrs]string{"hidden", "popover", "class", "id", "style", "color", "text", "bgcolor"}

// attributes applies the tag's attributes and the style sheet to el. If an attribute occurs
// twice, the first one counts (HTML §13.2.5.33).
func (p *page) attributes(el *element, z *html.Tokenizer, more bool) {
	var attr [attrs]string
	var there [attrs]bool
	for more {
		var name, value []byte
		name, value, more = z.TagAttr()
		for i := range attrNames {
			if string(name) == attrNames[i] && !there[i] {
				attr[i], there[i] = string(value), true
			}
		}
	}
	el.hidden = el.hidden || there[hiddenAttr] || there[popoverAttr]
	p.sheet.style(el, attr[classAttr], attr[idAttr])
	el.apply(style{
		ink:  firstColour(attr[colorAttr], attr[textAttr]),
		back: parseColour(attr[bgcolorAttr]),
	})
	if attr[styleAttr] != "" {
		el.apply(parseStyle(plainCSS(attr[styleAttr])))
	}
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

// merge adds the style of a later rule for the same elements.
func (s *style) merge(later style) {
	s.hidden = s.hidden || later.hidden
	if later.visibility != "" {
		s.visibility = later.visibility
	}
	if later.size != "" {
		s.size = later.size
	}
	if later.ink.known {
		s.ink = later.ink
	}
	if later.back.known {
		s.back = later.back
	}
}

// parseStyle reads declarations (CSS Syntax §5) in plain CSS.
func parseStyle(css string) style {
	var s style
	clipped, none := false, false // overflow: hidden; no height or width
	for css != "" {
		var decl string
		decl, css, _ = strings.Cut(css, ";")
		name, value, _ := strings.Cut(decl, ":")
		name = strings.TrimSpace(name)
		value, _, _ = strings.Cut(value, "!") // "! important" counts, too
		value = strings.TrimSpace(value)
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
			first, _, _ := strings.Cut(value, " ")
			clipped = clipped || first == "hidden" || first == "clip" || first == "auto" || first == "scroll"
		case "height", "max-height", "width", "max-width":
			n, _, ok := number(value)
			none = none || ok && n < 2
		default:
			s.hidden = s.hidden || hides(name, value) || away(name, value)
		}
	}
	s.hidden = s.hidden || clipped && none
	return s
}

// hides reports whether one declaration hides an element and everything in it.
func hides(name, value string) bool {
	n, unit, ok := number(value)
	value = strings.ReplaceAll(value, " ", "")
	switch name {
	case "display":
		return value == "none"
	case "content-visibility":
		return value == "hidden"
	case "opacity":
		return ok && (n < 0.1 || unit == "%" && n < 10)
	case "zoom", "scale":
		return ok && (n < 0.1 || unit == "%" && n < 10)
	case "letter-spacing":
		return ok && far(n, unit, -0.5, -5)
	case "clip":
		return strings.HasPrefix(value, "rect(0") || strings.HasPrefix(value, "rect(1px")
	case "clip-path":
		return strings.HasPrefix(value, "inset(50%") || strings.HasPrefix(value, "inset(100%") ||
			strings.HasPrefix(value, "circle(0")
	case "transform":
		return strings.Contains(value, "scale(0") || strings.Contains(value, "(-9") ||
			strings.Contains(value, "matrix(0,0,0,0")
	case "filter":
		return strings.HasPrefix(value, "opacity(0") || strings.HasPrefix(value, "alpha(opacity=0")
	}
	return false
}

// away reports whether a declaration moves text off the screen, in any direction.
func away(name, value string) bool {
	switch name {
	case "text-indent", "left", "right", "top", "bottom", "inset", "margin", "margin-left", "margin-top":
	default:
		return false
	}
	for _, word := range strings.Fields(value) {
		n, unit, ok := number(word)
		if ok && (far(n, unit, -50, -500) || far(-n, unit, -200, -2000)) {
			return true
		}
	}
	return false
}

// far reports whether a length is at most em, if it is relative to the font, or at most px
// otherwise. One per cent of the window counts as ten pixels.
func far(n float64, unit string, em, px float64) bool {
	switch unit {
	case "em", "rem", "ex", "ch":
		return n <= em
	case "%", "vw", "vh":
		n *= 10
	}
	return n <= px
}

// tiny reports whether a font size can't be read. A size that is relative to a tiny one is
// tiny.
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

// number splits a value such as "1.5px". ok reports whether it begins with a number.
func number(value string) (n float64, unit string, ok bool) {
	i := 0
	for i < len(value) && strings.IndexByte("+-.0123456789", value[i]) >= 0 {
		i++
	}
	if i == 0 {
		return 0, value, false
	}
	n, err := strconv.ParseFloat(value[:i], 64)
	return n, value[i:], err == nil
}
