package message

import (
	"io"

	"pulse/lib/shared/envelope"
)

// extract adds the text of a readable part. It returns errFull if it did not fit.
func (p *parser) extract(out *collector, pt *part) error {
	if pt.kind != "text/html" {
		d := p.decoded(pt)
		err := out.readFrom(d.Reader)
		p.judge(pt, d)
		return err
	}
	sheet, err := readSheet(&budget{r: p.decoded(pt), left: p.html})
	if err != nil && err != errFull {
		return err
	}
	if sheet == nil {
		return errFull
	}
	d := p.decoded(pt)
	limited := budget{r: d, left: p.html}
	err = readHTML(out, &limited, sheet)
	p.html = limited.left
	p.judge(pt, d)
	return err
}

// decoded reads the text of a part as UTF-8.
type decoded struct {
	io.Reader
	transfer *pieces   // undoes the transfer encoding, or nil
	charset  *replaced // reads from the charset's decoder, or nil
}

func (p *parser) decoded(pt *part) *decoded {
	var d decoded
	var r io.Reader = &plainReader{pieces{b: pt.body}}
	switch pt.encoding {
	case "base64":
		b := &base64Reader{pieces: pieces{b: pt.body}}
		r, d.transfer = b, &b.pieces
	case "quoted-printable":
		q := &quotedReader{pieces: pieces{b: pt.body}}
		r, d.transfer = q, &q.pieces
	case "", "7bit", "8bit", "binary":
	default:
		p.add(envelope.BrokenEncoding)
	}
	if d.Reader = p.decodeCharset(pt.params["charset"], r); d.Reader != r {
		d.charset = &replaced{r: d.Reader}
		d.Reader = d.charset
	}
	return &d
}

// judge adds a defect if something did not decode. A cut part is not judged, because its
// last characters may be cut, too.
func (p *parser) judge(pt *part, d *decoded) {
	if !pt.cut && (d.transfer != nil && d.transfer.broken || d.charset != nil && d.charset.seen) {
		p.add(envelope.BrokenEncoding)
	}
}
