package message

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
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
	openAttr
	colorAttr
	textAttr
	bgcolorAttr
	attrs
)

var attrNames = [attrs]string{"hidden", "popover", "class", "id", "style", "open", "color", "text", "bgcolor"}

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
		el.note(p.sheet, name, value)
	}
	el.shut = el.tag == atom.Details && !there[openAttr]
	own := p.sheet.style(p.open, el, attr[classAttr], attr[idAttr])
	own.hidden = own.hidden || there[hiddenAttr] || there[popoverAttr]
	own.merge(style{
		ink:  firstColour(attr[colorAttr], attr[textAttr]),
		back: parseColour(attr[bgcolorAttr]),
	})
	if attr[styleAttr] != "" {
		own.merge(parseStyle(plainCSS(attr[styleAttr])))
	}
	el.apply(own)
	if formatting[el.tag] && own != (style{}) {
		kept := own
		el.own = &kept
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

// parseStyle reads declarations (CSS Syntax §5) in plain CSS. A value that is not valid, or not
// understood, may hide, and never takes back what another one hides.
func parseStyle(css string) style {
	var usual, important, broken block
	for css != "" {
		var decl string
		decl, css, _ = strings.Cut(css, ";")
		name, value, _ := strings.Cut(decl, ":")
		value, mark, marked := strings.Cut(value, "!")
		into := &usual
		if marked {
			if into = &broken; strings.TrimSpace(mark) == "important" {
				into = &important
			}
		}
		into.set(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	s := usual.done()
	s.merge(important.done())
	s.hidden = s.hidden || broken.done().hidden
	return s
}

// block is what the declarations of a block say, so far.
type block struct {
	style
	fill          colour // -webkit-text-fill-color
	clipped, none bool   // overflow: hidden; no height or width
}

func (b *block) set(name, value string) {
	switch name {
	case "visibility":
		if slices.Contains(visibilities, value) {
			b.visibility = value
		}
	case "font-size", "font":
		if size, valid := fontSize(name, value); valid || tiny(size, false) {
			b.size = size
		}
	case "color":
		b.ink.set(value)
	case "-webkit-text-fill-color":
		b.fill.set(value)
	case "background", "background-color":
		b.back.setBack(value)
	case "overflow", "overflow-x", "overflow-y":
		first, _, _ := strings.Cut(value, " ")
		b.clipped = b.clipped || first == "hidden" || first == "clip" || first == "auto" || first == "scroll"
	case "height", "max-height", "width", "max-width":
		n, _, ok := number(value)
		b.none = b.none || ok && n < 2
	default:
		b.hidden = b.hidden || hides(name, value) || away(name, value)
	}
}

func (b *block) done() style {
	if b.fill.known {
		b.ink = b.fill
	}
	b.hidden = b.hidden || b.clipped && b.none
	return b.style
}

// anew are the values that any property may have, which take back what was set before.
var anew = []string{"inherit", "initial", "unset", "revert", "revert-layer"}

var visibilities = append([]string{"visible", "hidden", "collapse"}, anew...)

// The words and units that font-size may have, and the words before it in font.
var (
	sizes = append([]string{"xx-small", "x-small", "small", "medium", "large", "x-large", "xx-large", "xxx-large",
		"smaller", "larger"}, anew...)
	units = []string{"px", "pt", "em", "rem", "%", "ex", "ch", "pc", "in", "cm", "mm", "q", "vw", "vh", "vmin", "vmax", "lh", "rlh"}
	faces = []string{"normal", "italic", "oblique", "bold", "bolder", "lighter", "small-caps"}
)

// fontSize returns the size that font-size or font sets, and whether the value is valid in every
// program. A number without a unit is valid in some.
func fontSize(name, value string) (size string, valid bool) {
	if name == "font-size" {
		return value, sized(value)
	}
	words := strings.Fields(strings.ReplaceAll(value, "/", " / "))
	valid = true
	for i, word := range words {
		n, unit, ok := number(word)
		if sized(word) || ok && n == 0 || ok && unit != "" {
			after := words[i+1:]
			if len(after) > 0 && after[0] == "/" {
				after = after[min(2, len(after)):]
			}
			return word, valid && sized(word) && len(after) > 0
		}
		valid = valid && (ok || slices.Contains(faces, word))
	}
	return "", false
}

func sized(word string) bool {
	n, unit, ok := number(word)
	return slices.Contains(sizes, word) || ok && n >= 0 && (n == 0 && unit == "" || slices.Contains(units, unit))
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
