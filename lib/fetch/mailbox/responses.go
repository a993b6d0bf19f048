package mailbox

import (
	"fmt"
	"strings"
)

// responses checks the server's bytes, one response after the other (RFC 9051
// §2.2.2, §9). It keeps numbers and the beginning of a line, never the content.
type responses struct {
	*limits
	done   func(tag, status, code string) error
	asked  func() error            // called for a continuation request
	busy   func(verb string) bool  // reports whether such a command is in flight
	parted func(text string) error // called for a BYE
	takes  func() *answer          // returns what takes a FETCH response, or nil for the library

	state   func(*responses, byte) error
	pass    []byte  // what is checked and for the library
	held    []byte  // the beginning of a response of which the type is not known yet
	known   bool    // it is
	answer  *answer // takes this response
	words   []byte  // the first words of the line: tag, type, or tag, number, type
	code    []byte  // the beginning of a status response's code
	greeted bool
	parting bool   // this is a BYE
	bye     []byte // its text
	kind    responseKind
	depth   int
	size    int64 // of the literal being announced
	digits  int   // of size, so far
	skip    int64 // bytes of a literal that are still to come
	n       int64 // bytes of this response outside body sections
	chatted int64 // the same since the last tagged answer
	found   found // numbers of search results, since then
}

// responseKind says which bound applies to a data response.
type responseKind int

const (
	otherData responseKind = iota
	searchData
	fetchData
)

const (
	maxWords = 80  // bytes of tag, number and type together
	maxCode  = 32  // bytes of a response code that are looked at
	maxBye   = 200 // bytes of a server's parting words that are kept
	overhead = 100 // bytes of chatter that a response counts as, besides its own
)

func broken(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errProtocol, fmt.Sprintf(format, args...))
}

// check takes the next bytes and returns those for the library, which are valid until the
// next call. With an error these end before the response that is wrong.
func (r *responses) check(b []byte) (pass []byte, err error) {
	if r.state == nil {
		r.state = (*responses).first
	}
	r.pass = r.pass[:0]
	whole := 0 // bytes of pass that end a response
	for i := 0; i < len(b); {
		if r.skip > 0 {
			n := int(min(r.skip, int64(len(b)-i)))
			if r.answer != nil {
				r.answer.bytes(b[i : i+n])
			} else {
				r.pass = append(r.pass, b[i:i+n]...)
			}
			i += n
			r.skip -= int64(n)
			continue
		}
		c := b[i]
		i++
		r.n++
		if r.chatted++; r.chatted > r.chatter {
			return r.pass[:whole], fmt.Errorf("%w: more than %d bytes that were not asked for", errFlood, r.chatter)
		}
		if limit := r.bound(); r.n > limit {
			class := errProtocol
			if r.kind == searchData {
				class = errFlood
			}
			return r.pass[:whole], fmt.Errorf("%w: a response of more than %d bytes", class, limit)
		}
		if err := r.step(c); err != nil {
			return r.pass[:whole], err
		}
		if r.n == 0 {
			whole = len(r.pass)
		}
	}
	return r.pass, nil
}

// step takes one byte of a response, and gives it to the library or to an answer. The
// beginning of a response is held back until its type says to which of them.
func (r *responses) step(c byte) error {
	if r.answer != nil {
		r.answer.line = append(r.answer.line, c)
		return r.state(r, c)
	}
	if r.known {
		r.pass = append(r.pass, c)
		err := r.state(r, c)
		r.known = r.n > 0
		return err
	}
	r.held = append(r.held, c)
	err := r.state(r, c)
	if r.known && r.answer == nil {
		r.pass = append(r.pass, r.held...)
	}
	if r.known {
		r.held = r.held[:0]
	}
	return err
}

func (r *responses) bound() int64 {
	if r.kind == searchData {
		return r.search
	}
	return r.line
}

// first reads tag, number and type. Exactly one space stands between them, as in the
// grammar, so that no two readers see different types.
func (r *responses) first(c byte) error {
	switch {
	case len(r.words) == 0 && c == '+':
		r.words, r.known = append(r.words, c), true
		r.state = (*responses).text
		return nil
	case isWord(c) || c == '*' && len(r.words) == 0:
		if r.words = append(r.words, c); len(r.words) > maxWords {
			return broken("a response without a type")
		}
		return nil
	case c != ' ' && c != '\r':
		return broken("%q at the beginning of a response", c)
	}
	words := strings.Split(string(r.words), " ")
	last := words[len(words)-1]
	switch {
	case last == "":
		return broken("a response without a type")
	case len(words) == 1 || len(words) == 2 && isNumber(last):
		if c == '\r' {
			return broken("a response without a type")
		}
		r.words = append(r.words, ' ')
		return nil
	}
	return r.typed(words, c)
}

// typed goes on by the type of the response. c is the byte after it.
func (r *responses) typed(words []string, c byte) error {
	kind := upper(words[len(words)-1])
	r.known = true
	switch {
	case len(words) == 2 && isStatus(kind):
		r.parting = words[0] == "*" && kind == "BYE"
		r.state = (*responses).codeBegin
	case isStatus(kind): // the parser takes "* 1 OK" for a status
		return broken("a status with a number")
	case words[0] != "*":
		return broken("a tagged response that is not a status")
	case len(words) == 3 && kind == "FETCH":
		r.kind, r.state = fetchData, (*responses).data
		if r.answer = r.takes(); r.answer != nil {
			r.answer.begin()
		}
	case len(words) == 2 && kind == "SEARCH":
		r.kind, r.state = searchData, (*responses).data
	default:
		r.state = (*responses).data
	}
	if c == '\r' {
		r.state = (*responses).lineFeed
	}
	return nil
}

// codeBegin reads the first byte after the type of a status response.
func (r *responses) codeBegin(c byte) error {
	if c == '[' {
		r.state = (*responses).codeText
		return nil
	}
	r.state = (*responses).text
	return r.text(c)
}

// codeText reads a response code. The code must end on its line, because the parser would
// look for its end further on.
func (r *responses) codeText(c byte) error {
	switch c {
	case ']':
		r.state = (*responses).text
	case '\r', '\n':
		return broken("a response code without an end")
	default:
		if len(r.code) < maxCode {
			r.code = append(r.code, c)
		}
	}
	return nil
}

// text reads text for people, in which only the line end has a meaning.
func (r *responses) text(c byte) error {
	switch {
	case c == '\r':
		r.state = (*responses).lineFeed
	case c == '\n':
		return broken("a line that ends without CR")
	case r.parting && len(r.bye) < maxBye:
		r.bye = append(r.bye, c)
	}
	return nil
}

// lineFeed ends a response.
func (r *responses) lineFeed(c byte) error {
	if c != '\n' {
		return broken("a CR without LF")
	}
	if r.depth != 0 {
		return broken("parentheses left open")
	}
	if a := r.answer; a != nil {
		r.answer, r.known = nil, false
		if err := a.end(); err != nil {
			return err
		}
	}
	r.chatted += overhead
	kind, words, code := r.kind, r.words, r.code
	r.words, r.code, r.n, r.kind = r.words[:0], r.code[:0], 0, otherData
	r.state = (*responses).first
	if kind != otherData {
		return nil
	}
	if string(words) == "+" {
		return r.asked()
	}
	tag, rest, _ := strings.Cut(string(words), " ")
	status, _, _ := strings.Cut(rest, " ")
	if status = upper(status); !isStatus(status) {
		return nil
	}
	return r.status(tag, status, upper(string(code)))
}

// status acts on a status response.
func (r *responses) status(tag, status, code string) error {
	switch {
	case tag != "*":
		r.chatted, r.found = 0, found{}
		return r.done(tag, status, code)
	case code == "READ-WRITE":
		return errReadWrite
	case strings.HasPrefix(code, "UIDVALIDITY") && r.greeted && !r.busy("EXAMINE"):
		return errReplaced
	case status == "BYE":
		if err := r.parted(string(r.bye)); err != nil {
			return err
		}
	}
	if !r.greeted {
		r.greeted = true
		return r.done(greeting, status, code)
	}
	return nil
}

func isStatus(word string) bool {
	switch word {
	case "OK", "NO", "BAD", "BYE", "PREAUTH":
		return true
	}
	return false
}

// isWord reports whether tags, numbers and types may have a byte. The grammar's atoms have
// more, but servers send only these.
func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '-' || c == '.' || c == '_'
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// upper returns s with the small letters of ASCII in upper case. No other letter changes:
// U+017F would become an S.
func upper(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'a' <= c && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
	}
	return string(b)
}
