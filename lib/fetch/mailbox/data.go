package mailbox

// data reads a data response: parentheses, strings and literals.
func (r *responses) data(c byte) error {
	if r.kind == searchData {
		if err := r.found.read(c); err != nil {
			return err
		}
	}
	switch c {
	case '(':
		if r.depth++; r.depth > r.limits.depth {
			return broken("parentheses nested deeper than %d", r.limits.depth)
		}
	case ')':
		if r.depth--; r.depth < 0 {
			return broken("a stray parenthesis")
		}
	case '"':
		r.state = (*responses).quoted
	case '{':
		r.size, r.digits = 0, 0
		r.state = (*responses).literalSize
	case '\r':
		r.state = (*responses).lineFeed
	case '\n':
		return broken("a line that ends without CR")
	}
	return nil
}

// quoted reads a quoted string, which ends on its line.
func (r *responses) quoted(c byte) error {
	switch c {
	case '"':
		r.state = (*responses).data
	case '\\':
		r.state = (*responses).escaped
	case '\r', '\n':
		return broken("a quoted string without an end")
	}
	return nil
}

func (r *responses) escaped(c byte) error {
	if c == '\r' || c == '\n' {
		return broken("a quoted string without an end")
	}
	r.state = (*responses).quoted
	return nil
}

// literalSize reads "123}" of "{123}".
func (r *responses) literalSize(c byte) error {
	switch {
	case '0' <= c && c <= '9' && r.digits < 10:
		r.size = r.size*10 + int64(c-'0')
		r.digits++
	case c == '}' && r.digits > 0:
		r.state = (*responses).literalCR
	default:
		return broken("a malformed literal")
	}
	return nil
}

func (r *responses) literalCR(c byte) error {
	if c != '\r' {
		return broken("a malformed literal")
	}
	r.state = (*responses).literalLF
	return nil
}

// literalLF reads the LF before the bytes of a literal. A body section of a FETCH that was
// asked for may be large, because it is streamed. The library keeps any other in memory.
func (r *responses) literalLF(c byte) error {
	if c != '\n' {
		return broken("a malformed literal")
	}
	if r.kind == fetchData && r.depth == 1 && r.busy("UID FETCH") {
		if r.size > r.literal {
			return broken("a literal of %d bytes", r.size)
		}
		r.state, r.skip = (*responses).data, r.size
		if r.answer != nil {
			return r.answer.literal()
		}
		return nil
	}
	if r.answer != nil {
		r.answer.into = nil
	}
	r.n += r.size
	r.chatted += r.size
	if r.n > r.line {
		return broken("a literal of %d bytes that was not asked for", r.size)
	}
	r.state, r.skip = (*responses).data, r.size
	return nil
}

// found follows the numbers in a search result. The parser keeps them sorted: if a number
// is out of order, it moves those that belong after it. A server could waste time so.
type found struct {
	number, most int64
	count, moved int64 // numbers
}

// maxMoved is how many numbers may be moved so. That takes some seconds, and a result of up
// to 40,000 numbers never reaches it.
const maxMoved = 1 << 30

func (f *found) read(c byte) error {
	if '0' <= c && c <= '9' {
		f.number = min(f.number*10+int64(c-'0'), 1<<40)
		return nil
	}
	if f.number == 0 {
		return nil
	}
	if f.count++; f.number < f.most {
		f.moved += f.count
	}
	f.number, f.most = 0, max(f.number, f.most)
	if f.moved > maxMoved {
		return broken("a search result out of order")
	}
	return nil
}
