// Package markup writes a page of HTML that holds what strangers wrote, for a person who
// opens it as a file.
//
// Invariant: elements, attributes and styles are constants of the program, because nothing
// else has the type that names them. All that comes from outside becomes text or the value
// of an attribute, and is made visible by package escape first, so that it can neither end
// where it stands nor reorder what stands around it. The page allows no script, no request
// and no style except its own. Caveat: what an attribute does with its value is for the
// caller to know; give href, src and the like nothing from outside.
package markup

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"pulse/lib/shared/escape"
)

// constant is a text that stands in the source of the program: other packages can't convert
// to this type.
type constant string

// Attribute is an attribute of an element.
type Attribute struct {
	name  constant
	value string
}

// Set returns an attribute with any value.
func Set(name constant, value string) Attribute { return Attribute{name, value} }

// Class returns the attribute of that name.
func Class(names constant) Attribute { return Attribute{"class", string(names)} }

// Page is a page that is being written.
type Page struct {
	b    bytes.Buffer
	open []constant
}

// New begins a page with its title and its style sheet, whose hash is all that the policy of
// the page (Content Security Policy Level 3) allows.
func New(title, style constant) *Page {
	sum := sha256.Sum256([]byte(style))
	policy := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'"
	p := new(Page)
	p.b.WriteString("<!doctype html>\n")
	p.Open("html", Set("lang", "en"))
	p.Open("head")
	p.Void("meta", Set("charset", "utf-8"))
	// With its quotes as they are, because people and programs look for it in the source.
	p.b.WriteString(`<meta http-equiv="Content-Security-Policy" content="` + policy + `">`)
	p.Void("meta", Set("name", "viewport"), Set("content", "width=device-width, initial-scale=1"))
	p.Void("meta", Set("name", "color-scheme"), Set("content", "light dark"))
	p.Put("title", string(title))
	p.Open("style")
	p.b.WriteString(string(style))
	p.End()
	p.End()
	p.Open("body")
	return p
}

// Open begins an element, which End ends.
func (p *Page) Open(element constant, attributes ...Attribute) {
	p.tag(element, attributes)
	p.open = append(p.open, element)
}

// End ends the element that was opened last.
func (p *Page) End() {
	last := len(p.open) - 1
	element := p.open[last]
	p.open = p.open[:last]
	p.b.WriteString("</" + string(element) + ">")
	if !inline(element) {
		p.b.WriteByte('\n')
	}
}

// inline reports whether a line break after an element would be seen as a blank.
func inline(element constant) bool {
	switch element {
	case "bdi", "code", "span", "strong", "time":
		return true
	}
	return false
}

// Void writes an element that has no content.
func (p *Page) Void(element constant, attributes ...Attribute) { p.tag(element, attributes) }

// Put writes an element that holds a text.
func (p *Page) Put(element constant, text string, attributes ...Attribute) {
	p.Open(element, attributes...)
	p.Text(text)
	p.End()
}

// Text writes a text.
func (p *Page) Text(text string) { p.b.WriteString(quoted(text)) }

// Bytes ends what is open and returns the page.
func (p *Page) Bytes() []byte {
	for len(p.open) > 0 {
		p.End()
	}
	return p.b.Bytes()
}

func (p *Page) tag(element constant, attributes []Attribute) {
	p.b.WriteString("<" + string(element))
	for _, a := range attributes {
		p.b.WriteString(" " + string(a.name) + `="` + quoted(a.value) + `"`)
	}
	p.b.WriteByte('>')
}

// quoted returns a text as it may stand in an element and between double quotes.
func quoted(text string) string { return special.Replace(escape.Message(text)) }

var special = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")
