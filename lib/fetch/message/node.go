package message

import (
	"strings"

	"pulse/lib/shared/address"
)

// node is what selectors can ask of an element.
type node struct {
	name, id string
	classes  []string
	attrs    map[string]string // those that a selector looks at
}

// maxAttr is how many bytes of an attribute selectors look at. A longer one meets them all.
const maxAttr = 1000

// note keeps an attribute that a selector looks at. Of two the first one counts.
func (e *element) note(s *sheet, name, value []byte) {
	if !s.attrs[string(name)] {
		return
	}
	if e.node.attrs == nil {
		e.node.attrs = map[string]string{}
	}
	if _, twice := e.node.attrs[string(name)]; !twice {
		e.node.attrs[string(name)] = address.Fold(string(value[:min(len(value), maxAttr+1)]))
	}
}

// is makes it the node of an element.
func (n *node) is(e *element, class, id string) {
	n.name, n.id, n.classes = e.name, address.Fold(id), strings.Fields(address.Fold(class))
	if e.tag != 0 {
		n.name = e.tag.String()
	}
}

// fits reports whether an element is as a compound wants it.
func (c *compound) fits(n *node) bool {
	if c.name != "" && c.name != n.name || c.id != "" && c.id != n.id || !within(c.classes, n.classes) {
		return false
	}
	for i := range c.attrs {
		if value, ok := n.attrs[c.attrs[i].name]; !ok || !c.attrs[i].meets(value) {
			return false
		}
	}
	return true
}

// cost is what fits costs, in comparisons.
func (c *compound) cost() int { return 1 + len(c.classes) + 20*len(c.attrs) }

// assumed reports whether a compound fits an element that a page has although no tag says so.
func (c *compound) assumed() bool {
	bare := c.id == "" && len(c.classes) == 0 && len(c.attrs) == 0
	return bare && (c.name == "html" || c.name == "body" || c.name == "tbody")
}

// under reports whether the compounds fit what stands around an element: the elements that are
// open, outermost first, and the one before it. What is not known of siblings counts as fitting.
func (s *sheet) under(left []compound, open []element, before *node) bool {
	for len(left) > 0 {
		c := &left[len(left)-1]
		left = left[:len(left)-1]
		if s.work += c.cost(); s.work > maxWork {
			return true
		}
		switch {
		case c.join == '~':
		case c.join == '+':
			if before != nil && !c.fits(before) {
				return false
			}
			before = nil
		case c.assumed():
			if n := len(left); n > 0 && left[n-1].join == '>' {
				return s.inside(&left[n-1], left[:n-1], open, len(open))
			}
		case c.join == '>':
			return s.inside(c, left, open, 1)
		default:
			return s.inside(c, left, open, len(open))
		}
	}
	return true
}

// inside reports whether a compound fits one of the innermost n open elements, and the others what
// is around that.
func (s *sheet) inside(c *compound, left []compound, open []element, n int) bool {
	for i := len(open) - 1; i >= max(0, len(open)-n); i-- {
		if s.work += c.cost(); s.work > maxWork || c.fits(open[i].node) && s.under(left, open[:i], open[i].before) {
			return true
		}
	}
	return false
}
