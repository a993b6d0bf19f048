package message

import (
	"io"

	"pulse/lib/fetch/decode"
	"pulse/lib/shared/envelope"
)

// extractAll adds the texts of readable parts. Each but the first comes after a line that
// names it. It returns errFull if they did not fit.
func (p *parser) extractAll(out *collector, t texts) (err error) {
	for i := 0; i < len(t.parts) && err != errFull; i++ {
		pt := &t.parts[i]
		if out.n > 0 {
			if p.blank(pt) {
				continue
			}
			err = out.separate(i+1, pt.kind)
		}
		if err != errFull {
			err = p.extract(out, pt)
		}
	}
	return err
}

func (p *parser) worth(pt *part) int {
	switch {
	case p.blank(pt):
		return 0
	case pt.kind == "text/html":
		return 1
	}
	return 2
}

// blank reports whether a part shows nothing.
func (p *parser) blank(pt *part) bool {
	q, out := p.aside(), collector{limit: 1}
	return q.extract(&out, pt) != errFull && out.n == 0
}

// aside returns a parser for a second look at a part, which is to leave no trace.
func (p *parser) aside() parser { return parser{html: maxHTML} }

// extract adds the text of a readable part. It returns errFull if it did not fit.
func (p *parser) extract(out *collector, pt *part) error {
	if pt.kind != "text/html" {
		d := p.decoded(pt)
		err := out.readFrom(d.Reader)
		p.judge(pt, d)
		return err
	}
	sheet, err := p.sheet(pt)
	if err != nil && err != errFull {
		return err
	}
	if sheet == nil {
		return errFull
	}
	d := p.decoded(pt)
	limited := budget{r: d, left: p.html}
	err = readHTML(out, &limited, sheet, &p.left)
	p.html = limited.left
	p.judge(pt, d)
	return err
}

// styles is what readSheet said of a part: its text is looked at up to three times.
type styles struct {
	sheet *sheet
	err   error
}

// sheet returns the style sheets of a part of HTML, with no work done yet.
func (p *parser) sheet(pt *part) (*sheet, error) {
	if pt.styles == nil {
		s, err := readSheet(&budget{r: p.decoded(pt), left: maxHTML})
		pt.styles = &styles{s, err}
	}
	if pt.styles.sheet != nil {
		pt.styles.sheet.work = 0
	}
	return pt.styles.sheet, pt.styles.err
}

// decoded reads the text of a part as UTF-8.
type decoded struct {
	io.Reader
	transfer decode.Reader    // undoes the transfer encoding
	charset  *decode.Replaced // reads from the charset's decoder, or nil
	unknown  bool             // nobody knows the transfer encoding or the charset
}

func (p *parser) decoded(pt *part) *decoded {
	d := decoded{transfer: decode.Transfer(pt.encoding, pt.body)}
	if d.transfer == nil {
		p.add(envelope.BrokenEncoding)
		d.transfer, d.unknown = decode.Transfer("", pt.body), true
	}
	text, known := p.decodeCharset(pt.params["charset"], d.transfer)
	d.unknown = d.unknown || !known
	if d.Reader = text; text != d.transfer {
		d.charset = &decode.Replaced{R: text}
		d.Reader = d.charset
	}
	return &d
}

// decodeCharset is decode.Charset, and adds a defect if the charset is unknown.
func (p *parser) decodeCharset(name string, r io.Reader) (text io.Reader, known bool) {
	if text, known = decode.Charset(name, r); !known {
		p.add(envelope.UnknownCharset)
	}
	return text, known
}

// judge adds a defect if something did not decode. A cut part is not judged, because its
// last characters may be cut, too.
func (p *parser) judge(pt *part, d *decoded) {
	broken := !pt.cut && (d.transfer.Broken() || d.charset != nil && d.charset.Seen)
	if broken {
		p.add(envelope.BrokenEncoding)
	}
	if broken || d.unknown {
		p.left.Add(envelope.LeftUndecodable, pt.body)
	}
}
