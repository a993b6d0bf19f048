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

// sheet is what a page's own style sheets say. It keeps the last element of a selector,
// with its classes and its id. If a selector has more conditions, only a rule that hides is
// kept.
type sheet struct {
	rules map[string][]rule // by "#id", ".class", "element" or "*"
	n     int               // rules
	size  int               // bytes read
	work  int               // comparisons made
	over  bool              // a bound is exceeded
}

// rule applies to an element with that name and all the classes. An empty name stands for
// any.
type rule struct {
	name    string
	classes []string
	style   style
}

// readSheet reads all style elements of a page first, because they also apply to what
// stands before them. It returns nil if they exceed the bounds.
func readSheet(r io.Reader) (*sheet, error) {
	z := html.NewTokenizer(r)
	z.SetMaxBuf(maxTag)
	s := &sheet{rules: map[string][]rule{}}
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
	for _, sel := range strings.Split(list, ",") {
		if s.over = s.over || len(sel) > maxSelector; s.over {
			return
		}
		key, r, ok := selector(strings.TrimSpace(sel))
		if !ok {
			continue
		}
		if r.style = st; r.partly(sel) {
			if !st.hidden || key[0] != '.' && key[0] != '#' {
				continue
			}
			r.style = style{hidden: true}
		}
		s.rule(key, r)
	}
}

func (s *sheet) rule(key string, r rule) {
	list := s.rules[key]
	for i := range list {
		if list[i].name == r.name && slices.Equal(list[i].classes, r.classes) {
			list[i].style.merge(r.style)
			return
		}
	}
	s.n++
	if s.over = s.n > maxRules || len(list) == maxAlike; !s.over {
		s.rules[key] = append(list, r)
	}
}

// style applies what the sheet says to an element, least specific first.
func (s *sheet) style(el *element, class, id string) {
	if len(s.rules) == 0 {
		return
	}
	name := el.name
	if el.tag != 0 {
		name = el.tag.String()
	}
	classes := strings.Fields(asciiLower(class))
	if len(classes) > maxClasses || s.work > maxWork {
		el.hidden = true
		return
	}
	s.apply("*", name, nil, el)
	s.apply(name, name, nil, el)
	for _, c := range classes {
		s.apply("."+c, name, classes, el)
	}
	if id != "" {
		s.apply("#"+asciiLower(id), name, classes, el)
	}
}

func (s *sheet) apply(key, name string, classes []string, el *element) {
	for _, r := range s.rules[key] {
		s.work += 1 + len(r.classes)
		if (r.name == "" || r.name == name) && within(r.classes, classes) {
			el.apply(r.style)
		}
	}
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
