package message

import (
	"bytes"
	"strings"

	"pulse/lib/fetch/decode"
	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
)

// part is one MIME entity: its type and its body, still encoded.
type part struct {
	kind     string // "text/plain", lower case
	params   map[string]string
	id       string // Content-ID
	name     string // of the file, decoded
	attached bool   // it has a file name, or a Content-Disposition other than inline
	encoding string // Content-Transfer-Encoding, lower case
	body     []byte
	cut      bool // the body is not whole
	styles   *styles
}

// texts are the readable parts below one part, in order.
type texts struct {
	parts []part
	worth int // of the best of them: 0 if it is blank, 1 for HTML, 2 for plain text
}

// text returns the readable text of a message and whether there is more.
func (p *parser) text(fields []envelope.Field, body []byte) (string, bool) {
	root := p.part(fields, body)
	root.cut = p.partial
	p.html = maxHTML
	found := p.walk(root, 1)
	out := collector{limit: p.limit}
	out.b.Grow(min(len(body), p.limit))
	full := p.extractAll(&out, found) == errFull
	if full && out.doubled { // where it ends must not depend on blanks, which a signature lets anyone add
		q := p.aside()
		was := out
		out = collector{limit: p.limit, squeeze: true}
		full = q.extractAll(&out, found) == errFull
		out.invalid, out.control = out.invalid || was.invalid, out.control || was.control
	}
	p.leaveOut(root, found)
	if out.invalid {
		p.add(envelope.InvalidUTF8)
	}
	if out.control {
		p.add(envelope.ControlInText)
	}
	return out.String(), full || p.partial
}

// part reads the fields that describe an entity (RFC 2045, RFC 2183).
func (p *parser) part(fields []envelope.Field, body []byte) part {
	pt := part{kind: "text/plain", body: body}
	if f := p.only(fields, "content-type"); f != nil {
		pt.kind, pt.params = p.mediaType(f.Value)
		if !strings.Contains(pt.kind, "/") {
			p.add(envelope.MalformedMIME)
			pt.kind = "text/plain" // RFC 2045 §5.2
		}
	}
	if f := p.only(fields, "content-transfer-encoding"); f != nil {
		word, _, _ := strings.Cut(unfold(f.Value), ";")
		pt.encoding = address.Fold(strings.Trim(word, " \t\""))
	}
	if f := find(fields, "content-id"); f != nil {
		pt.id = strings.Trim(unfold(f.Value), " \t")
	}
	pt.name = pt.params["name"]
	if f := p.only(fields, "content-disposition"); f != nil {
		kind, params := p.mediaType(f.Value)
		pt.attached = kind != "inline" // RFC 2183 §2.8
		if params["filename"] != "" {
			pt.name = params["filename"]
		}
	}
	pt.attached = pt.attached || pt.name != ""
	return pt
}

// only returns the first field of that name. A second one is a defect, because readers
// differ in which they believe.
func (p *parser) only(fields []envelope.Field, lower string) *envelope.Field {
	var first *envelope.Field
	for i := range fields {
		switch {
		case !named(fields[i].Name, lower):
		case first == nil:
			first = &fields[i]
		default:
			p.add(envelope.MalformedMIME)
		}
	}
	return first
}

// walk finds the readable parts below pt and lists the others as attachments.
func (p *parser) walk(pt part, depth int) texts {
	if p.parts++; p.parts > maxParts {
		p.add(envelope.TooManyParts)
		p.left.Add(envelope.LeftMalformed, pt.body)
		return texts{}
	}
	multipart := strings.HasPrefix(pt.kind, "multipart/")
	switch {
	case multipart && pt.params["boundary"] == "":
		p.add(envelope.MalformedMIME) // all of it is shown as text
	case multipart && depth > maxDepth:
		p.add(envelope.TooDeep)
		p.left.Add(envelope.LeftMalformed, pt.body)
		return texts{}
	case multipart:
		return p.multipart(pt, depth)
	case pt.attached && p.texted || pt.kind != "text/plain" && pt.kind != "text/html":
		p.attach(pt)
		return texts{}
	}
	p.texted = true
	worth := p.worth(&pt)
	return texts{[]part{pt}, worth}
}

// multipart walks the parts of a multipart. Among alternatives it takes the first with
// plain text, or else the first with any text. (RFC 2046 §5.1.4 would take the last, which
// is the richest, and the easiest to hide something in.) Among related parts it takes the
// root, the only one that a reader shows (RFC 2387 §3).
func (p *parser) multipart(pt part, depth int) texts {
	var all texts
	n, start := 0, strings.Trim(pt.params["start"], " \t")
	if len(pt.params["boundary"]) > maxBoundary || pt.encoding == "base64" || pt.encoding == "quoted-printable" {
		p.add(envelope.MalformedMIME)
	}
	found := p.split(pt, func(child part) bool {
		t := p.walk(child, depth+1)
		n++
		switch {
		case pt.kind == "multipart/alternative":
			if len(all.parts) == 0 || t.worth > all.worth {
				t, all = all, t
			}
			if depth == 1 && len(t.parts) > 0 {
				p.others = append(p.others, t)
			}
		case pt.kind == "multipart/related" && n > 1:
			if start == "" || child.id != start {
				t, all = all, t
			}
			p.related = p.related || depth == 1 && len(all.parts) > 0
			p.attachAll(all)
			all = t
		default:
			all.parts = append(all.parts, t.parts...)
			all.worth = max(all.worth, t.worth)
		}
		return p.parts <= maxParts
	})
	if !found {
		p.add(envelope.MalformedMIME)
		if !pt.cut {
			return texts{[]part{{kind: "text/plain", body: pt.body}}, 2}
		}
	}
	return all
}

// split yields the parts between the boundary lines (RFC 2046 §5.1.1), and reports whether
// there was such a line.
func (p *parser) split(pt part, yield func(part) bool) (found bool) {
	delimiter := []byte("--" + pt.params["boundary"])
	rest, begin := pt.body, -1
	pos := 0
	for {
		at, next, last := boundary(rest, pos, delimiter)
		if at < 0 {
			break
		}
		if found = true; begin < 0 {
			p.left.Add(envelope.LeftPreamble, afterNotice(rest[:at]))
		} else if !yield(p.child(trimEOL(rest[begin:at]), pt.kind, false)) {
			return true
		}
		begin, pos = next, next
		if last {
			p.left.Add(envelope.LeftEpilogue, rest[next:])
			return true
		}
	}
	if begin >= 0 { // never closed
		if !pt.cut {
			p.add(envelope.MalformedMIME)
		}
		yield(p.child(rest[begin:], pt.kind, pt.cut))
	}
	return found
}

// boundary finds the next boundary line. It returns where that begins, where the next line
// begins, and whether it is the closing one.
func boundary(b []byte, pos int, delimiter []byte) (at, next int, last bool) {
	for {
		i := bytes.Index(b[pos:], delimiter)
		if i < 0 {
			return -1, 0, false
		}
		at = pos + i
		pos = at + len(delimiter)
		if at > 0 && b[at-1] != '\n' {
			continue
		}
		line, _, _ := bytes.Cut(b[pos:], []byte{'\n'})
		next = min(pos+len(line)+1, len(b))
		tail := bytes.TrimRight(line, " \t\r")
		if len(tail) == 0 {
			return at, next, false
		}
		if bytes.HasPrefix(tail, []byte("--")) {
			return at, next, true
		}
	}
}

// trimEOL removes the line end at the end of b, which belongs to the boundary after it.
func trimEOL(b []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(b, []byte{'\n'}), []byte{'\r'})
}

// child reads the entity between two boundaries of a multipart. Its header is bounded like
// that of the message. The defects of this header are dropped, because they do not matter
// to what the message's header says.
func (p *parser) child(b []byte, multipart string, cut bool) part {
	head, body := partHeader(b)
	if len(head) > 0 && len(body) == 0 && !bytes.Contains(head, []byte{':'}) {
		head, body = nil, b // no header, and no blank line for it
	}
	inner := parser{}
	fields := inner.fields(string(inner.headerBlock(head)))
	for _, f := range fields {
		if !describes(f.Name) {
			p.left.Add(envelope.LeftMalformed, []byte(f.Name+": "+f.Value))
		}
	}
	if len(inner.defects) > 0 {
		p.left.Add(envelope.LeftMalformed, head)
	}
	pt := p.part(fields, body)
	if multipart == "multipart/digest" && find(fields, "content-type") == nil {
		pt.kind = "message/rfc822" // RFC 2046 §5.1.5
	}
	pt.cut = cut
	return pt
}

// attachAll lists readable parts that are not emitted as text.
func (p *parser) attachAll(t texts) {
	for i := range t.parts {
		p.attach(t.parts[i])
	}
}

// attach lists a part that is not emitted as text.
func (p *parser) attach(pt part) {
	size := int64(len(pt.body))
	if pt.encoding == "base64" {
		size = base64Size(pt.body)
	}
	a := envelope.Attachment{
		Name: p.decodeWords(pt.name, maxName), Type: p.decodeWords(pt.kind, maxName), Size: size,
	}
	p.content(&a, &pt)
	p.attachments = append(p.attachments, a)
}

// base64Size returns how many bytes b decodes to.
func base64Size(b []byte) int64 {
	n := int64(0)
	for _, c := range b {
		if decode.IsBase64(c) {
			n++
		}
	}
	return n * 3 / 4
}

// describes reports whether a field has a meaning at the head of a part (RFC 2046 §5.1). Of
// any other name, it may be a text that nobody is shown.
func describes(name string) bool {
	name = address.Fold(name)
	return strings.HasPrefix(name, "content-") || strings.HasPrefix(name, "x-") || strings.HasPrefix(name, "mime-version")
}
