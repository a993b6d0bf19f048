package authres

import "fmt"

// Microsoft reads the value of a field as Microsoft 365 writes it. That field begins
// with no id, so nothing but its form and its place tells who wrote it, and the form is
// taken narrowly:
//
//	spf=R (text) smtp.mailfrom|helo=D; 1*( dkim=R (text) header.d=D; )
//	dmarc=R action=W header.from=D; [ compauth=R reason=N ]
//
// All of it is ASCII. A comment holds letters, digits, blanks and . : - _ / , ' alone,
// and none follows a property. Anything else is an error, as for Read: an encoded word,
// a field that names its recipient as until 2019, or one with an id.
func Microsoft(value string) (Field, error) {
	p := &parser{s: value, m: new(Memory)}
	if len(value) > maxLen {
		return Field{}, tooLong(value)
	}
	if !plainASCII(value) {
		return Field{}, fmt.Errorf("%w: a byte that Microsoft 365 doesn't write there", ErrMalformed)
	}
	if _, err := p.cfws(); err != nil {
		return Field{}, err
	}
	results, err := p.results(!p.end())
	if err != nil {
		return Field{}, err
	}
	if !microsoftShape(results) {
		return Field{}, fmt.Errorf("%w: not spf, dkim and dmarc as Microsoft 365 writes them", ErrMalformed)
	}
	return Field{Results: results}, nil
}

// plainASCII reports whether every byte is printable ASCII or folding, and whether every
// comment is made of the closed alphabet.
func plainASCII(s string) bool {
	comment := false
	for i := range len(s) {
		switch c := s[i]; {
		case c == ' ', c == '\t', c == '\r', c == '\n':
		case c == '(' && !comment:
			comment = true
		case c == ')' && comment:
			comment = false
		case !isGraph(c), c == '"', c == '\\', comment && !inComment(c):
			return false
		}
	}
	return !comment
}

func inComment(c byte) bool {
	switch c {
	case '.', ':', '-', '_', '/', ',', '\'':
		return true
	}
	l := lowerByte(c)
	return 'a' <= l && l <= 'z' || '0' <= c && c <= '9'
}

// microsoftShape reports whether the results are those of the dialect, in its order.
func microsoftShape(list []Result) bool {
	n := 0
	next := func(method, props string) bool {
		if n == len(list) || list[n].Method != method || !list[n].hasProps(props) {
			return false
		}
		n++
		return true
	}
	if !next("spf", "smtp.mailfrom") && !next("spf", "smtp.helo") || !next("dkim", "header.d") {
		return false
	}
	for next("dkim", "header.d") {
	}
	if !next("dmarc", ".action header.from") {
		return false
	}
	return n == len(list) || next("compauth", "") && n == len(list)
}

// hasProps reports whether the result has exactly these properties, in this order, and
// no comment after any of them.
func (r *Result) hasProps(want string) bool {
	got := ""
	for i := range r.Props {
		p := &r.Props[i]
		if p.Comment {
			return false
		}
		if i > 0 {
			got += " "
		}
		got += p.Type + "." + p.Name
	}
	return got == want && (r.Reason == "" || r.Method == "compauth")
}
