package message

import (
	"io"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// The bounds of style sheets. A page whose sheets exceed one has no text, and an element
// that exceeds one is hidden, because the rules that are not applied could hide anything.
const (
	maxSheet    = 256 << 10 // bytes, in all
	maxSelector = 1000      // bytes
	maxRules    = 2000
	maxAlike    = 32        // rules for one class, id or element
	maxNested   = 8         // blocks in blocks
	maxClasses  = 50        // of an element
	maxWork     = 2_000_000 // comparisons of rules and their classes with elements
)

// sheet is what a page's own style sheets say.
type sheet struct {
	rules map[string][]rule // by "#id", ".class", "element" or "*"
	attrs map[string]bool   // those that a selector looks at
	far   bool              // a selector looks at more than one element, or at attributes
	n     int               // rules
	size  int               // bytes read
	work  int               // comparisons made
	over  bool              // a bound is exceeded
}

// rule applies to an element that the last compound of a selector fits, if those on its left fit
// the elements around it.
type rule struct {
	compound
	left  []compound
	style style
}

// readSheet reads all style elements of a page first, because they also apply to what
// stands before them. It returns nil if they exceed the bounds.
func readSheet(r io.Reader) (*sheet, error) {
	z := html.NewTokenizer(r)
	z.SetMaxBuf(maxTag)
	s := &sheet{rules: map[string][]rule{}, attrs: map[string]bool{}}
	inside := false
	for {
		switch z.Next() {
		case html.ErrorToken:
			if err := z.Err(); err != io.EOF && err != html.ErrBufferExceeded {
				return s, err
			}
			return s.whole(), nil
		case html.TextToken:
			if inside {
				s.add(z.Text())
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			inside = atom.Lookup(name) == atom.Style && forScreen(z, more)
		case html.EndTagToken:
			inside = false
		}
		if s.over {
			return nil, nil
		}
	}
}

func (s *sheet) whole() *sheet {
	if s.over {
		return nil
	}
	return s
}

// forScreen reports whether a style element's sheet applies to a common screen.
func forScreen(z *html.Tokenizer, more bool) bool {
	for more {
		var name, value []byte
		name, value, more = z.TagAttr()
		if string(name) == "media" {
			return screen(plainCSS(string(value[:min(len(value), 1000)])))
		}
	}
	return true
}

func (s *sheet) add(css []byte) {
	if s.size += len(css); s.size > maxSheet {
		s.over = true
		return
	}
	s.parse(plainCSS(string(css)), 0)
}

// parse adds the rules of a sheet or of a block in it.
func (s *sheet) parse(css string, depth int) {
	if depth > maxNested {
		s.over = true
	}
	for !s.over {
		prelude, rest, ok := strings.Cut(css, "{")
		if !ok {
			return
		}
		end := blockEnd(rest)
		block := rest[:end]
		css = rest[min(end+1, len(rest)):]
		// A statement like @import, or a declaration, ends with a semicolon.
		prelude = strings.Trim(prelude[strings.LastIndexByte(prelude, ';')+1:], "} \t\r\n\f")
		if !strings.HasPrefix(prelude, "@") {
			s.selectors(prelude, parseStyle(block))
		}
		if strings.Contains(block, "{") && holds(prelude) {
			s.parse(block, depth+1)
		}
	}
}

// blockEnd returns the position of the brace that closes the block.
func blockEnd(css string) int {
	depth := 0
	for i := 0; i < len(css); i++ {
		switch css[i] {
		case '{':
			depth++
		case '}':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return len(css)
}

// selectors adds a rule for each selector of a list.
func (s *sheet) selectors(list string, st style) {
	if st == (style{}) {
		return
	}
	for _, sel := range separate(list) {
		if s.over = s.over || len(sel) > maxSelector; s.over {
			return
		}
		if slices.ContainsFunc(dynamic, func(d string) bool { return strings.Contains(sel, d) }) {
			continue
		}
		if chain := compounds(strings.TrimSpace(sel)); len(chain) > 0 {
			s.chain(chain, st)
		}
	}
}

// separate splits a list of selectors at the commas that stand in no brackets.
func separate(list string) (sels []string) {
	depth, start := 0, 0
	for i := 0; i < len(list); i++ {
		switch list[i] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ',':
			if depth <= 0 {
				sels, start = append(sels, list[start:i]), i+1
			}
		}
	}
	return append(sels, list[start:])
}

// chain adds the rule of one selector. In doubt it hides: where a class or an id is to be hidden
// under further conditions, these are not looked at.
func (s *sheet) chain(chain []compound, st style) {
	last := chain[len(chain)-1]
	r := rule{compound: last, style: st}
	key := last.name
	switch {
	case last.id != "":
		key = "#" + last.id
	case len(last.classes) > 0:
		key = "." + last.classes[len(last.classes)-1]
	case key == "" && last.pseudo:
		return
	case key == "":
		key = "*"
	}
	r.left = chain[:len(chain)-1]
	named := key[0] == '#' || key[0] == '.'
	pseudo := slices.ContainsFunc(chain, func(c compound) bool { return c.pseudo })
	switch partly := pseudo || len(r.left) > 0 || len(r.attrs) > 0; {
	case partly && st.hidden && named:
		r.left, r.attrs, r.style = nil, nil, style{hidden: true}
	case pseudo:
		return
	case partly:
		s.far = true
		for _, c := range chain {
			for _, a := range c.attrs {
				s.attrs[a.name] = true
			}
		}
	}
	s.rule(key, r)
}

func (s *sheet) rule(key string, r rule) {
	list, alike := s.rules[key], 0
	plain := func(r *rule) bool { return len(r.left) == 0 && len(r.attrs) == 0 }
	for i := range list {
		if !plain(&list[i]) {
			continue
		}
		if alike++; plain(&r) && list[i].name == r.name && slices.Equal(list[i].classes, r.classes) {
			list[i].style.merge(r.style)
			return
		}
	}
	s.n++
	if s.over = s.n > maxRules || alike == maxAlike; !s.over {
		s.rules[key] = append(list, r)
	}
}

// style returns what the sheet says of an element, the most specific last.
func (s *sheet) style(open []element, el *element, class, id string) (st style) {
	if len(s.rules) == 0 {
		return st
	}
	n := el.node
	if n == nil {
		n = &node{}
	}
	n.is(el, class, id)
	if len(n.classes) > maxClasses || s.work > maxWork {
		return style{hidden: true}
	}
	apply := func(list []rule) {
		for i := range list {
			r := &list[i]
			s.work += r.cost()
			if r.compound.fits(n) && s.under(r.left, open, el.before) {
				st.merge(r.style)
			}
		}
	}
	apply(s.rules["*"])
	apply(s.rules[n.name])
	for _, c := range n.classes {
		apply(s.rules["."+c])
	}
	if n.id != "" {
		apply(s.rules["#"+n.id])
	}
	return st
}

// within reports whether all has every element of some.
func within(some, all []string) bool {
	for _, c := range some {
		if !slices.Contains(all, c) {
			return false
		}
	}
	return true
}
