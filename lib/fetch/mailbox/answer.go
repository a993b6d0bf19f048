package mailbox

import (
	"bytes"
	"strconv"
	"time"

	"pulse/lib/fetch/message"
	"pulse/lib/fetch/source"
)

// answer reads the FETCH responses to one UID FETCH. The guard gives it their bytes in place
// of the library, as it reads them and on the same goroutine: the library would hand over
// each item of a message, and wait, which costs more than all its reading. What the guard
// demands of a response holds before this reads it: parentheses, strings and literals are
// closed, and a line is bounded.
type answer struct {
	*fetcher
	want expected
	use  func(*source.Message) error
	err  error // of use

	line               []byte  // of this response, from its "(", without what literals hold
	at                 int     // what of line was read
	into               *[]byte // what a literal fills; nil if it is not kept
	uid                uint32
	date               time.Time
	size               int64 // below 0 if not given
	hasHeader, hasText bool  // the section came
}

// begin begins a response.
func (a *answer) begin() {
	a.line, a.at, a.into = a.line[:0], 0, nil
	a.uid, a.date, a.size, a.hasHeader, a.hasText = 0, time.Time{}, -1, false, false
}

// literal begins a literal that is the value of an item, and returns an error if it is not
// wanted.
func (a *answer) literal() error {
	err := a.items()
	if err == nil && a.into == nil {
		err = broken("a part of a message that was not asked for")
	}
	return err
}

// bytes takes what a literal holds.
func (a *answer) bytes(b []byte) {
	if a.into != nil {
		*a.into = append(*a.into, b...)
	}
}

// end ends a response. One without a section is about a flag that another client changed,
// except where the message is still wanted.
func (a *answer) end() error {
	if err := a.items(); err != nil {
		return err
	}
	if string(a.line[a.at:]) != ")\r\n" {
		return errItem
	}
	switch {
	case !a.hasHeader && !a.hasText && !a.want.missing[a.uid]:
		return nil
	case a.date.IsZero() || a.size < 0 || !a.hasHeader || a.Window > 0 && !a.hasText:
		return broken("a message with parts missing")
	}
	if err := a.want.take(a.uid); err != nil {
		return err
	}
	m := a.message()
	a.err = a.use(&m)
	return a.err
}

func (a *answer) message() source.Message {
	if a.Window == 0 {
		a.body = a.body[:0]
	}
	got := int64(len(a.header) + len(a.body))
	cut := int64(len(a.body)) == a.Window && got < a.size
	return source.Message{
		Source: a.name, UID: a.uid, UIDValidity: a.validity, Received: a.date.UTC(),
		Raw: message.Raw{Header: a.header, Body: a.body, Size: max(a.size, got), Partial: cut, CRLF: true},
	}
}

var errItem = broken("a message that can't be read")

// items reads the items of the line that were not read yet, up to its end, or to the
// literal that begins there.
func (a *answer) items() error {
	for a.at < len(a.line) && a.line[a.at] != ')' {
		if begin := a.line[a.at]; begin != ' ' && (begin != '(' || a.at > 0) {
			return errItem
		}
		a.at++
		name := a.itemName()
		if len(name) == 0 || a.at == len(a.line) || a.line[a.at] != ' ' {
			return errItem
		}
		a.at++
		value := a.value()
		if len(value) == 0 {
			return errItem
		}
		if err := a.item(name, value); err != nil {
			return err
		}
	}
	return nil
}

// itemName reads the name of an item, in capitals. Blanks in brackets belong to it.
func (a *answer) itemName() []byte {
	begin, brackets := a.at, 0
	for ; a.at < len(a.line); a.at++ {
		switch c := a.line[a.at]; {
		case c == '[':
			brackets++
		case c == ']':
			brackets--
		case (c == ' ' || c == ')') && brackets <= 0:
			return a.line[begin:a.at]
		case 'a' <= c && c <= 'z':
			a.line[a.at] = c - 'a' + 'A'
		}
	}
	return a.line[begin:a.at]
}

// value reads the value of an item: an atom, a quoted string, a list, or what announces a
// literal.
func (a *answer) value() []byte {
	begin, depth := a.at, 0
	for ; a.at < len(a.line); a.at++ {
		switch c := a.line[a.at]; {
		case c == '(':
			depth++
		case c == ')' && depth > 0:
			depth--
		case (c == ' ' || c == ')') && depth == 0:
			return a.line[begin:a.at]
		case c == '"':
			if a.at = endOfString(a.line, a.at); depth == 0 { // what stands behind it is no part of it
				a.at++
				return a.line[begin:a.at]
			}
		}
	}
	return a.line[begin:a.at]
}

// endOfString returns where the quoted string that begins at i ends.
func endOfString(b []byte, i int) int {
	for i++; i < len(b) && b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return min(i, len(b)-1)
}

// item takes an item of a message. What was not asked for and is not a section is dropped.
func (a *answer) item(name, value []byte) error {
	a.into = nil
	switch string(name) {
	case "UID":
		uid, err := strconv.ParseUint(string(value), 10, 32)
		if err != nil || a.uid != 0 && uint32(uid) != a.uid {
			return broken("one message with two UIDs, or one that can't be read")
		}
		a.uid = uint32(uid)
	case "RFC822.SIZE":
		size, err := strconv.ParseUint(string(value), 10, 63)
		if err != nil {
			return errItem
		}
		a.size = int64(size)
	case "INTERNALDATE":
		date, err := time.Parse(`"_2-Jan-2006 15:04:05 -0700"`, string(value))
		if err != nil {
			return broken("a date that can't be read")
		}
		a.date = date
	case "BODY[HEADER]", "BODY[HEADER]<0>":
		return a.section(&a.hasHeader, &a.header, headerWindow, value)
	case "BODY[TEXT]", "BODY[TEXT]<0>":
		return a.section(&a.hasText, &a.body, a.Window, value)
	default:
		switch {
		case bytes.HasPrefix(name, []byte("BODY[HEADER]<")), bytes.HasPrefix(name, []byte("BODY[TEXT]<")):
			return broken("a part of a message from the middle")
		case bytes.IndexByte(name, '[') >= 0 || bytes.HasPrefix(name, []byte("RFC822")):
			return broken("a part of a message that was not asked for")
		}
	}
	return nil
}

// section takes a part of a message that is still wanted, once and not larger than asked
// for. It goes into the memory of the previous message.
func (a *answer) section(came *bool, into *[]byte, window int64, value []byte) error {
	switch {
	case *came:
		return broken("a part of a message twice")
	case !a.want.missing[a.uid]:
		return broken("a message that was not asked for, or twice")
	}
	*came, *into = true, (*into)[:0]
	size := int64(0)
	switch {
	case value[0] == '"':
		*into = unquoted(*into, value)
		size = int64(len(*into))
	case value[0] == '{':
		digits, _, _ := bytes.Cut(value[1:], []byte("}"))
		size, _ = strconv.ParseInt(string(digits), 10, 64) // the guard has read it
		a.into = into
	case !bytes.EqualFold(value, []byte("NIL")):
		return errItem
	}
	if size > window {
		return broken("%d bytes where at most %d were asked for", size, window)
	}
	if int64(cap(*into)) < size {
		*into = make([]byte, 0, size)
	}
	return nil
}

// unquoted appends what a quoted string holds.
func unquoted(to, value []byte) []byte {
	for i := 1; i < len(value)-1; i++ {
		if value[i] == '\\' {
			i++
		}
		to = append(to, value[i])
	}
	return to
}
