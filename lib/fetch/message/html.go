package message

import (
	"errors"
	"io"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"pulse/lib/shared/envelope"
)

// The bounds of HTML.
const (
	maxHTML = 8 << 20 // bytes of a message
	maxTag  = 4 << 20 // bytes of one tag: data: URIs are large
	maxOpen = 256     // open elements; those that are nested deeper count as hidden

	maxQuote = 5 // quotations that are marked; in each other
)

// budget reads at most left bytes. It returns errFull if there are more.
type budget struct {
	r    io.Reader
	left int64
}

func (b *budget) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errFull
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// readHTML adds the text that a person would see, given the page's own style sheets. None
// is fetched, and nothing is run. What a person would not see is counted.
func readHTML(out *collector, r io.Reader, s *sheet, left *envelope.Left) error {
	z := html.NewTokenizer(r)
	z.SetMaxBuf(maxTag)
	p := page{out: out, sheet: s, left: left}
	defer func() { out.quote = 0 }()
	for {
		var err error
		switch z.Next() {
		case html.ErrorToken:
			switch err := z.Err(); {
			case errors.Is(err, io.EOF):
				return nil
			case errors.Is(err, html.ErrBufferExceeded):
				return errFull // what follows is not read
			default:
				return err
			}
		case html.TextToken:
			err = p.text(z.Text())
		case html.StartTagToken:
			err = p.start(z, false)
		case html.SelfClosingTagToken:
			err = p.start(z, true)
		case html.EndTagToken:
			name, _ := z.TagName()
			err = p.end(name)
		}
		if err != nil {
			return err
		}
	}
}

// page is the state of rendering: the elements that are open, outermost first.
type page struct {
	out   *collector
	open  []element
	path  []step // the same elements in short, for end tags to search
	over  int    // elements opened beyond maxOpen
	sheet *sheet
	left  *envelope.Left
	gap   bool // white space is due before the next word
}

// element is an open element with the properties that its text inherits.
type element struct {
	tag       atom.Atom
	name      string // of an element that has no atom
	hidden    bool   // for good; a child can undo those below
	unseen    bool   // visibility: hidden
	tiny      bool   // too small to read
	pre       bool
	ink, back colour
	quote     int // how many quotations it stands in

	shut         bool   // closed details
	summed       bool   // it has its summary
	own          *style // of a formatting element: what its tag and the sheet say of it
	node         *node  // nil if no selector looks at more than one element
	before, last *node  // the element before it, and the last one in it
}

func (e *element) seen() bool {
	return !e.hidden && !e.shut && !e.unseen && !e.tiny && !e.ink.looksLike(e.back)
}

// step is an open element as the search for what an end tag closes sees it.
type step struct {
	tag     atom.Atom
	barrier bool
}

func (p *page) push(el element) {
	p.open = append(p.open, el)
	p.path = append(p.path, step{el.tag, barrier(el.tag)})
}

// cut closes all elements except the first n.
func (p *page) cut(n int) { p.open, p.path = p.open[:n], p.path[:n] }

func (p *page) top() element {
	if len(p.open) == 0 {
		return element{ink: black, back: white}
	}
	return p.open[len(p.open)-1]
}

// never has the elements whose text a page does not show, or not without running something.
var never = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Title: true, atom.Template: true,
	atom.Noscript: true, atom.Iframe: true, atom.Noembed: true, atom.Noframes: true,
	atom.Object: true, atom.Embed: true, atom.Applet: true, atom.Audio: true,
	atom.Video: true, atom.Canvas: true, atom.Svg: true, atom.Math: true,
	atom.Textarea: true, atom.Select: true, atom.Datalist: true, atom.Dialog: true,
}

// void has the elements without an end tag (HTML §13.1.2).
var void = map[atom.Atom]bool{
	atom.Area: true, atom.Base: true, atom.Br: true, atom.Col: true, atom.Embed: true,
	atom.Hr: true, atom.Img: true, atom.Input: true, atom.Link: true, atom.Meta: true,
	atom.Param: true, atom.Source: true, atom.Track: true, atom.Wbr: true,
}

// lines has the elements whose text has line ends around it, and how many.
var lines = map[atom.Atom]int{
	atom.P: 2, atom.H1: 2, atom.H2: 2, atom.H3: 2, atom.H4: 2, atom.H5: 2, atom.H6: 2,
	atom.Blockquote: 2, atom.Pre: 2, atom.Ul: 1, atom.Ol: 1, atom.Dl: 1, atom.Li: 1,
	atom.Div: 1, atom.Tr: 1, atom.Table: 1, atom.Section: 1, atom.Article: 1,
	atom.Header: 1, atom.Footer: 1, atom.Address: 1, atom.Dt: 1, atom.Dd: 1,
	atom.Center: 1, atom.Form: 1, atom.Fieldset: 1, atom.Main: 1, atom.Nav: 1,
	atom.Aside: 1, atom.Figure: 1, atom.Hr: 1, atom.Body: 1, atom.Html: 1,
}

// tagOf returns the name of an element as an atom, or as a string.
func tagOf(name []byte) (atom.Atom, string) {
	if tag := atom.Lookup(name); tag != 0 {
		return tag, ""
	}
	return 0, string(name)
}

// start opens an element, or acts on one that has no content. closed says that its tag ends
// with a slash.
func (p *page) start(z *html.Tokenizer, closed bool) error {
	name, more := z.TagName()
	tag, own := tagOf(name)
	p.implied(tag)
	el := p.top()
	el.tag, el.name = tag, own
	el.pre = el.pre || tag == atom.Pre
	if tag == atom.Blockquote {
		el.quote = min(el.quote+1, maxQuote)
	}
	el.hidden = el.hidden || never[tag] || p.folded(tag)
	p.born(&el)
	if !el.hidden || formatting[tag] { // for good, unless it is opened again
		p.attributes(&el, z, more)
	}
	if !el.hidden {
		if err := p.before(&el); err != nil {
			return err
		}
	}
	switch {
	case void[tag], closed && (tag == atom.Svg || tag == atom.Math): // HTML §13.1.2.1
	case len(p.open) == maxOpen:
		p.over++
	default:
		p.push(el)
	}
	return nil
}

// quoted marks the lines that follow as those of a quotation, or of the text around it. A line has
// only one of these.
func (p *page) quoted(el *element) error {
	if p.out.quote == el.quote {
		return nil
	}
	err := p.breaks(1)
	p.out.quote = el.quote
	return err
}

// before writes what separates an element from the text before it.
func (p *page) before(el *element) error {
	if err := p.quoted(el); err != nil {
		return err
	}
	switch el.tag {
	case atom.Br:
		p.gap = false
		return p.out.rune('\n')
	case atom.Td, atom.Th:
		p.gap = true
	case atom.Li:
		if err := p.breaks(1); err != nil {
			return err
		}
		return p.write([]byte("- "))
	}
	return p.breaks(lines[el.tag])
}

// breaks makes sure that the text ends with n line ends.
func (p *page) breaks(n int) error {
	if n == 0 {
		return nil
	}
	p.gap = false
	have := 0
	for i := len(p.out.blanks) - 1; i >= 0; i-- {
		if p.out.blanks[i] == '\n' {
			have++
		}
	}
	for ; have < n; have++ {
		if err := p.out.rune('\n'); err != nil {
			return err
		}
	}
	return nil
}

func (p *page) write(b []byte) error {
	_, err := p.out.add(b, false)
	return err
}

// implied closes the elements that the start of tag closes without an end tag (HTML
// §13.1.2.4).
func (p *page) implied(tag atom.Atom) {
	top := p.top().tag
	switch {
	case top == atom.P && lines[tag] > 0,
		top == tag && (tag == atom.Li || tag == atom.Tr || tag == atom.Option),
		(top == atom.Td || top == atom.Th) && (tag == atom.Td || tag == atom.Th || tag == atom.Tr),
		(top == atom.Dt || top == atom.Dd) && (tag == atom.Dt || tag == atom.Dd):
		if len(p.open) > 0 {
			p.cut(len(p.open) - 1)
		}
		if tag == atom.Tr && (top == atom.Td || top == atom.Th) {
			p.implied(tag)
		}
	}
}

// barrier reports whether an element stops the search for what an end tag closes. A stray
// </span> in a <div> does not end a hidden <span> around that (HTML §13.2.4.2).
func barrier(tag atom.Atom) bool {
	return lines[tag] > 0 || blocks[tag]
}

// end closes an element and all elements that are open inside it.
func (p *page) end(name []byte) error {
	tag, own := tagOf(name)
	if p.over > 0 {
		p.over--
		return nil
	}
	hidden := p.top().hidden
	block := barrier(tag)
	for i := len(p.path) - 1; i >= 0; i-- {
		if p.path[i].tag == tag && p.open[i].name == own {
			p.close(i)
			break
		}
		if p.path[i].barrier && !block {
			break
		}
	}
	if hidden {
		return nil
	}
	return p.breaks(lines[tag])
}

// text adds text with its white space collapsed, unless it can't be seen.
func (p *page) text(b []byte) error {
	el := p.top()
	switch {
	case p.over > 0 || !el.seen():
		if el.tag != atom.Style && el.tag != atom.Script {
			p.left.Add(envelope.LeftHidden, b)
		}
		return nil
	}
	if err := p.quoted(&el); err != nil {
		return err
	}
	if el.pre {
		return p.write(b)
	}
	for i := 0; ; {
		start := i
		for i < len(b) && asciiSpace(rune(b[i])) {
			i++
		}
		p.gap = p.gap && start == 0 || i > start
		if i == len(b) {
			return nil
		}
		if p.gap && !p.lineStart() {
			if err := p.out.rune(' '); err != nil {
				return err
			}
		}
		word := i
		for i < len(b) && !asciiSpace(rune(b[i])) {
			i++
		}
		if err := p.write(b[word:i]); err != nil {
			return err
		}
	}
}

// lineStart reports whether the current line is still empty.
func (p *page) lineStart() bool {
	n := len(p.out.blanks)
	return p.out.n == 0 && n == 0 || n > 0 && p.out.blanks[n-1] == '\n'
}

// asciiSpace reports whether HTML collapses r. It does not collapse a no-break space.
func asciiSpace(r rune) bool {
	return r == ' ' || r == '\t' || r == '\n' || r == '\r' || r == '\f'
}
