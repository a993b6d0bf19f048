package message

import "golang.org/x/net/html/atom"

// formatting has the elements that go on after the element they were opened in ends, until their
// own end tag (HTML §13.2.4.3).
var formatting = map[atom.Atom]bool{
	atom.A: true, atom.B: true, atom.Big: true, atom.Code: true, atom.Em: true, atom.Font: true, atom.I: true,
	atom.Nobr: true, atom.S: true, atom.Small: true, atom.Strike: true, atom.Strong: true, atom.Tt: true, atom.U: true,
}

// blocks has the elements besides those of lines that stop the search for what an end tag closes
// (HTML §13.2.4.2).
var blocks = map[atom.Atom]bool{
	atom.Td: true, atom.Th: true, atom.Button: true, atom.Caption: true, atom.Colgroup: true, atom.Details: true,
	atom.Dir: true, atom.Figcaption: true, atom.Hgroup: true, atom.Listing: true, atom.Marquee: true, atom.Menu: true,
	atom.Summary: true, atom.Tbody: true, atom.Tfoot: true, atom.Thead: true, atom.Template: true, atom.Select: true,
	atom.Object: true, atom.Applet: true,
}

// fence has the elements that formatting elements do not outlive.
var fence = map[atom.Atom]bool{
	atom.Td: true, atom.Th: true, atom.Caption: true, atom.Marquee: true, atom.Object: true, atom.Applet: true,
	atom.Template: true,
}

// maxSame is how many formatting elements of the same kind are opened again (HTML §13.2.4.3).
const maxSame = 3

// close closes the elements from the i-th on, and opens the formatting elements in it again, because
// their own end tags have not come. They count where they are then.
func (p *page) close(i int) {
	var again []element
	for k := i; k < len(p.open) && !fence[p.open[k].tag]; k++ {
		if k > i && formatting[p.open[k].tag] {
			again = append(again, p.open[k])
		}
	}
	p.cut(i)
	for _, el := range again {
		same := 0
		for _, o := range p.open {
			if o.tag == el.tag && alike(o.own, el.own) {
				same++
			}
		}
		if same >= maxSame {
			continue
		}
		now := p.top()
		now.tag, now.name, now.own, now.node, now.before, now.last = el.tag, el.name, el.own, el.node, nil, nil
		now.shut = false
		if now.own != nil {
			now.apply(*now.own)
		}
		p.push(now)
	}
}

func alike(a, b *style) bool { return a == b || a != nil && b != nil && *a == *b }

// folded reports whether an element that begins now lies in closed details, of which only the first
// summary is shown.
func (p *page) folded(tag atom.Atom) bool {
	if len(p.open) == 0 || !p.open[len(p.open)-1].shut {
		return false
	}
	details := &p.open[len(p.open)-1]
	first := tag == atom.Summary && !details.summed
	details.summed = details.summed || first
	return !first
}

// born makes the element's node, and makes it known to the one around it.
func (p *page) born(el *element) {
	el.shut, el.summed, el.own, el.node, el.last, el.before = false, false, nil, nil, nil, nil
	if !p.sheet.far {
		return
	}
	el.node = &node{}
	el.node.is(el, "", "")
	if len(p.open) > 0 {
		up := &p.open[len(p.open)-1]
		el.before, up.last = up.last, el.node
	}
}
