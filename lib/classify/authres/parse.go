package authres

import (
	"fmt"
	"strings"
)

// parser stands at byte i of the value s. Every method consumes what its name says or
// returns an error. No method looks ahead or steps back.
type parser struct {
	s string
	i int
	m *Memory
}

// Memory is what Read puts results into. A Field is valid until the next Read with the same
// memory.
type Memory struct {
	results []Result
	props   []Prop
}

// Read reads the value of one field (authres-payload): the text after "Name:", folding
// kept as CRLF and blanks, without the CRLF that ends the field. accept judges the id
// before the results are read or the length is judged, and isn't called if the id can't be read. On an error,
// which is ErrPin, ErrMalformed, ErrComment, ErrVersion or ErrBounds, the Field is zero.
//
// It accepts RFC 8601 §2.2 and these habits of real receivers, none of which
// blurs where a token ends: one final ";", "_" in keywords, properties without a
// type, a reason after properties, and any printable ASCII except ;"()\ in an
// unquoted value. Versions of field and method must be absent or 1.
//
// It refuses some values that RFC 8601 allows. Receivers echo sender-chosen text in
// comments, so a comment is refused that has an odd number of quotes, a parenthesis
// between quotes or a quote after a backslash. So are a quoted string that ends in a
// backslash, non-ASCII other than letters, marks and digits outside quotes, and U+FFFD
// outside comments. U+FFFD replaces any broken bytes that are made into UTF-8, and
// would make unequal values equal.
func Read(value string, accept func(id string) bool) (Field, error) {
	return new(Memory).Read(value, accept)
}

// Read is the function Read, and uses the memory again.
func (m *Memory) Read(value string, accept func(id string) bool) (Field, error) {
	p := parser{s: value[:min(len(value), maxLen)], m: m}
	id, err := p.authservID()
	switch {
	case err == nil && !accept(id):
		return Field{}, fmt.Errorf("%w: %+.100q", ErrPin, id)
	case len(value) > maxLen:
		return Field{}, tooLong(value)
	case err != nil:
		return Field{}, err
	}
	if err := p.version(); err != nil {
		return Field{}, err
	}
	more, err := p.next()
	if err != nil {
		return Field{}, err
	}
	results, err := p.results(more)
	if err != nil {
		return Field{}, err
	}
	return Field{AuthservID: id, Results: results}, nil
}

// ID returns the authserv-id of a value as it is spelled, or nothing if it can't be read.
func ID(value string) (id string) {
	_, _ = Read(value, func(s string) bool { id = s; return false })
	return id
}

func tooLong(value string) error {
	return fmt.Errorf("%w: %d bytes, at most %d", ErrBounds, len(value), maxLen)
}

// authservID reads [CFWS] value [CFWS] and returns the id as it is spelled.
func (p *parser) authservID() (string, error) {
	if _, err := p.cfws(); err != nil {
		return "", err
	}
	start := p.i
	if p.at('"') {
		if err := p.quoted(); err != nil {
			return "", err
		}
	} else if p.word(tokenClass) == "" {
		return "", p.expected("an authserv-id")
	}
	id := p.s[start:p.i]
	sep, err := p.cfws()
	switch {
	case err != nil:
		return "", err
	case p.at('='), p.at('/'):
		return "", p.expected("an authserv-id before the first result")
	case !sep && !p.at(';'):
		return "", p.expected(`";" or a blank after the authserv-id`)
	}
	return id, nil
}

// version reads the version that may stand between the id and the first ";".
func (p *parser) version() error {
	if p.at(';') {
		return nil
	}
	v := p.word(digitClass)
	if v == "" {
		return p.expected(`";" or a version`)
	}
	if _, err := p.cfws(); err != nil {
		return err
	}
	if !p.at(';') {
		return p.expected(`";"`)
	}
	return p.checkVersion(v)
}

func (p *parser) checkVersion(v string) error {
	if v != "1" {
		return fmt.Errorf("%w: before byte %d", ErrVersion, p.i)
	}
	return nil
}

// results reads ( no-result / 1*resinfo ) up to the end, with one final ";" if the
// receiver wrote one (Yahoo, Zoho, Amazon SES). more says whether there is a first one.
func (p *parser) results(more bool) ([]Result, error) {
	// The counts are upper limits, so the slices never grow for an honest field. The
	// caps keep a hostile one from claiming memory for separators alone.
	all, pool := p.m.results[:0], p.m.props[:0]
	if cap(all) == 0 {
		all = make([]Result, 0, min(strings.Count(p.s, ";"), 16))
		pool = make([]Prop, 0, min(strings.Count(p.s, "="), 32))
	}
	none := false
	for more {
		r, rest, err := p.result(pool)
		if err != nil {
			return nil, err
		}
		pool, none = rest, none || r.isNone()
		if all = append(all, r); len(all) > maxResults {
			return nil, fmt.Errorf("%w: over %d results", ErrBounds, maxResults)
		}
		if more, err = p.next(); err != nil {
			return nil, err
		}
	}
	p.m.results, p.m.props = all, pool
	switch {
	case len(all) == 0:
		return nil, p.expected(`a result or "none"`)
	case none && len(all) > 1:
		return nil, p.expected(`"none" alone`)
	case none:
		return nil, nil
	}
	return all, nil
}

// next reads ";" [CFWS] and reports whether a result follows; if not, the value ends.
func (p *parser) next() (more bool, err error) {
	if p.end() {
		return false, nil
	}
	p.i++ // version and result stop at nothing but a ";" or the end
	_, err = p.cfws()
	return !p.end(), err
}

// isNone reports whether this is the word "none", which is not a result, rather than a
// method of that name.
func (r *Result) isNone() bool { return r.Method == "none" && r.Value == "" }

// result reads methodspec [reasonspec] [propspec...] up to a ";" or the end. It appends
// the properties to pool, the one array for all results, and returns that.
func (p *parser) result(pool []Prop) (Result, []Prop, error) {
	var r Result
	var reasoned bool
	sep, err := p.method(&r)
	if err != nil {
		return r, nil, err
	}
	start := len(pool)
	for !p.end() && !p.at(';') {
		if !sep {
			return r, nil, p.expected(`a blank, a comment or ";"`)
		}
		pool = append(pool, Prop{})
		prop := &pool[len(pool)-1]
		if sep, err = p.prop(prop); err != nil {
			return r, nil, err
		}
		if prop.Type == "" && prop.Name == "reason" {
			if reasoned {
				return r, nil, p.expected("one reason")
			}
			r.Reason, reasoned = prop.Value, true
			pool = pool[:len(pool)-1]
		}
		if len(pool)-start > maxProps {
			return r, nil, fmt.Errorf("%w: over %d properties", ErrBounds, maxProps)
		}
	}
	if len(pool) > start {
		r.Props = pool[start:len(pool):len(pool)]
	}
	return r, pool, nil
}

// method reads method ["/" version] "=" result, or the word "none". Like cfws it
// reports whether a blank or a comment sets it off from what follows.
func (p *parser) method(r *Result) (sep bool, err error) {
	if r.Method, err = p.keyword("a method"); err != nil {
		return false, err
	}
	if r.Method == "none" && (p.end() || p.at(';')) {
		return true, nil
	}
	if p.take('/') {
		if err := p.methodVersion(); err != nil {
			return false, err
		}
	}
	blank, err := p.equals()
	if err != nil {
		return false, err
	}
	if r.Method == "envelope-from" || r.Method == "helo" {
		r.Value, err = p.value(blank)
	} else if r.Value = lower(p.word(keywordClass)); r.Value == "" {
		err = p.expected("a result")
	}
	if err != nil {
		return false, err
	}
	return p.cfws()
}

func (p *parser) methodVersion() error {
	if _, err := p.cfws(); err != nil {
		return err
	}
	v := p.word(digitClass)
	if v == "" {
		return p.expected("a method version")
	}
	if _, err := p.cfws(); err != nil {
		return err
	}
	return p.checkVersion(v)
}

// prop reads [ptype "."] property "=" pvalue.
func (p *parser) prop(prop *Prop) (sep bool, err error) {
	if prop.Name, err = p.keyword("a property"); err != nil {
		return false, err
	}
	if p.take('.') {
		if _, err := p.cfws(); err != nil {
			return false, err
		}
		prop.Type = prop.Name
		if prop.Name, err = p.keyword("a property after the type"); err != nil {
			return false, err
		}
	}
	blank, err := p.equals()
	if err != nil {
		return false, err
	}
	if prop.Value, err = p.value(blank); err != nil {
		return false, err
	}
	sep, prop.Comment, err = p.afterValue()
	return sep, err
}

// afterValue reads the CFWS after a property's value and reports whether it holds a
// comment. A comment that touches the value voids the field. DNS labels may hold a
// parenthesis, so a signature with d=example.com(.evil.example can be genuine, and a
// receiver that echoes it bare seems to name example.com.
func (p *parser) afterValue() (sep, comment bool, err error) {
	start := p.i
	if p.at('(') {
		return false, false, p.expected("a blank after the value")
	}
	sep, err = p.cfws()
	return sep, p.i-start > 1 && strings.IndexByte(p.s[start:p.i], '(') >= 0, err // most often it is one blank
}

// keyword reads a Keyword (RFC 5321 §4.1.2, plus "_") and the CFWS after it, and
// returns the keyword in lower case.
func (p *parser) keyword(what string) (string, error) {
	w := p.word(keywordClass)
	if w == "" {
		return "", p.expected(what)
	}
	_, err := p.cfws()
	return lower(w), err
}

// equals reads "=" [CFWS] and reports whether CFWS stood there.
func (p *parser) equals() (bool, error) {
	if !p.take('=') {
		return false, p.expected(`"="`)
	}
	return p.cfws()
}

// value reads a pvalue; blank says whether CFWS stands before it.
func (p *parser) value(blank bool) (string, error) {
	start := p.i
	if p.at('"') {
		if err := p.quoted(); err != nil {
			return "", err
		}
		if !p.at('@') {
			return unquote(p.s[start:p.i]), nil
		}
		p.i++
		if p.word(domainClass) == "" {
			return "", p.expected("a domain")
		}
		return unfold(p.s[start:p.i]), nil
	}
	v := p.word(valueClass)
	if v == "" {
		return "", p.expected("a value")
	}
	// "header.i= header.s=x" may be an empty value and a property, or a value that
	// looks like a property. The sender may have chosen either, so neither counts.
	if blank && looksLikeProp(v) {
		return "", p.expected("a value, not a property, before here")
	}
	return v, nil
}

func looksLikeProp(v string) bool {
	for i := range len(v) {
		if v[i] == '=' {
			return i > 0
		}
		if v[i] != '.' && classes[v[i]]&keywordClass == 0 {
			return false
		}
	}
	return false
}
