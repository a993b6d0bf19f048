package message

import "strings"

// maxRules bounds what is kept of a style sheet.
const maxRules = 2000

// sheet is what a page's own style sheets say about simple selectors: an element,
// a class, an id, or an element with one class. Others hide nothing.
type sheet map[string]style

// parse adds the rules of a style element. Rules for certain screens ("@media"
// with a condition) are left out: newsletters hold a text for each and hide all
// but one.
func (s *sheet) parse(css string) {
	css = plainCSS(css)
	for len(css) > 0 && len(*s) < maxRules {
		selectors, rest, ok := strings.Cut(css, "{")
		if !ok {
			return
		}
		selectors = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(selectors), "}"))
		if at := strings.HasPrefix(selectors, "@media"); at && !strings.Contains(selectors, "(") {
			css = rest // its rules count like others
			continue
		}
		end := blockEnd(rest)
		if !strings.HasPrefix(selectors, "@") {
			s.add(selectors, parseStyle(rest[:end]))
		}
		css = rest[min(end+1, len(rest)):]
	}
}

// blockEnd returns where the brace that closes the block stands.
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

func (s *sheet) add(selectors string, st style) {
	if st == (style{}) {
		return
	}
	if *s == nil {
		*s = sheet{}
	}
	for _, sel := range strings.Split(selectors, ",") {
		sel = strings.TrimSpace(sel)
		if sel == "" || strings.ContainsAny(sel, " >+~:[*") || len(*s) >= maxRules {
			continue
		}
		old := (*s)[sel]
		st.hidden = st.hidden || old.hidden
		(*s)[sel] = st
	}
}

// matching returns the styles for an element, least specific first.
func (s sheet) matching(el *element, class, id string) []style {
	if len(s) == 0 {
		return nil
	}
	name := el.name
	if el.tag != 0 {
		name = el.tag.String()
	}
	keys := []string{name}
	for _, c := range strings.Fields(asciiLower(class)) {
		keys = append(keys, "."+c, name+"."+c)
	}
	keys = append(keys, "#"+asciiLower(id))
	var list []style
	for _, k := range keys {
		if st, ok := s[k]; ok {
			list = append(list, st)
		}
	}
	return list
}
