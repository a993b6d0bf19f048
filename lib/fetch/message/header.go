package message

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
)

// splitHeader cuts b before and after the blank line that ends the header (RFC 5322
// §2.1). Lines end with CRLF or LF. head does not have the mbox "From " line that some
// tools leave at the beginning of saved messages.
func splitHeader(b []byte) (head, blank, body []byte) {
	if FromLine(b) {
		i := bytes.IndexByte(b, '\n') + 1
		if i == 0 {
			i = len(b)
		}
		b = b[i:]
	}
	for i := 0; i < len(b); {
		n := bytes.IndexByte(b[i:], '\n')
		if n < 0 {
			break
		}
		if n == 0 || n == 1 && b[i] == '\r' {
			return b[:i], b[i : i+n+1], b[i+n+1:]
		}
		i += n + 1
	}
	return b, nil, nil
}

// partHeader cuts a part before and after the line that ends its header. Every run of blanks
// in the header becomes one, and a line of blanks is a blank line: whoever sends a mail on can
// change these in a body, and the signature stays good (RFC 6376 §3.4.4).
func partHeader(b []byte) (head, body []byte) {
	for rest := b; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte{'\n'})
		if line = oneBlank(bytes.TrimRight(line, " \t\r")); len(line) == 0 && ended {
			return head, after
		}
		head = append(append(head, line...), '\r', '\n')
		rest = after
	}
	return head, nil
}

// oneBlank makes every run of blanks one space.
func oneBlank(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i, c := range b {
		if c != ' ' && c != '\t' {
			out = append(out, c)
		} else if i == 0 || b[i-1] != ' ' && b[i-1] != '\t' {
			out = append(out, ' ')
		}
	}
	return out
}

// mixed reports whether some lines of a header end with CRLF and some with LF. Some readers
// take both and some only CRLF, so they differ in where the header ends.
func mixed(head, blank []byte) bool {
	lf, crlf := []byte("\n"), []byte("\r\n")
	strict := bytes.Count(head, crlf) + bytes.Count(blank, crlf)
	return strict > 0 && strict < bytes.Count(head, lf)+bytes.Count(blank, lf)
}

// stray reports whether an LF or CR is not part of a CRLF. A CR at the end of what was
// fetched may be.
func (r *Raw) stray() bool {
	head, body := r.Header, r.Body
	if len(head) > MaxHeader {
		head = bytes.TrimSuffix(head, []byte{'\r'})
	}
	if r.Partial {
		body = bytes.TrimSuffix(body, []byte{'\r'})
	}
	return stray(head) || stray(body)
}

func stray(b []byte) bool {
	lines, bare := lineEnds(b)
	return bare || bytes.Count(b, []byte{'\r'}) != lines
}

// lineEnds returns how many lines of b end with CRLF, up to one that ends with LF alone, and
// whether there is one.
func lineEnds(b []byte) (lines int, bare bool) {
	for ; ; lines++ {
		i := bytes.IndexByte(b, '\n')
		if i < 0 || i == 0 || b[i-1] != '\r' {
			return lines, i >= 0
		}
		b = b[i+1:]
	}
}

// FromLine reports whether b begins with the "From " line of an mbox. "From : x" is a field
// instead, one that a spoofer would like to see dropped.
func FromLine(b []byte) bool {
	rest, ok := bytes.CutPrefix(b, []byte("From "))
	return ok && !bytes.HasPrefix(bytes.TrimLeft(rest, " \t"), []byte(":"))
}

// headerBlock returns head with CRLF line ends, cut after the last line that fits into
// MaxHeader. It copies head only if something has to change.
func (p *parser) headerBlock(head []byte) []byte {
	if _, bare := lineEnds(head); !bare && len(head) <= MaxHeader && bytes.HasSuffix(head, []byte("\r\n")) {
		return head
	}
	block := make([]byte, 0, min(len(head)+len(head)/16+2, MaxHeader))
	for len(head) > 0 {
		line, rest, _ := bytes.Cut(head, []byte{'\n'})
		line = bytes.TrimSuffix(line, []byte{'\r'})
		if len(block)+len(line)+2 > MaxHeader {
			p.add(envelope.HeaderTooLarge)
			break
		}
		block = append(append(block, line...), '\r', '\n')
		head = rest
	}
	return block
}

// fields splits a block whose lines all end with CRLF. It does not trim names, so that a
// caller can tell "From : x" from "From: x".
func (p *parser) fields(block string) []envelope.Field {
	list := make([]envelope.Field, 0, 32)
	for len(block) > 0 {
		end := fieldEnd(block)
		raw := block[:end-2]
		block = block[end:]
		if len(list) == maxFields {
			p.add(envelope.TooManyFields)
			break
		}
		if f, ok := p.field(raw); ok {
			list = append(list, f)
		}
	}
	if len(list) == 0 {
		p.add(envelope.NoHeader)
	}
	return list
}

// fieldEnd returns where the first line and its continuation lines end (RFC 5322
// §2.2.3).
func fieldEnd(block string) int {
	end := 0
	for {
		end += strings.IndexByte(block[end:], '\n') + 1
		if end == len(block) || block[end] != ' ' && block[end] != '\t' {
			return end
		}
	}
}

// field splits one field, which has its folding but not the line end.
func (p *parser) field(raw string) (envelope.Field, bool) {
	if hasControl(raw) {
		p.add(envelope.ControlInHeader)
	}
	if !utf8.ValidString(raw) {
		p.add(envelope.InvalidUTF8)
		raw = validUTF8(raw)
	}
	name, value, ok := strings.Cut(raw, ":")
	if !ok || strings.ContainsAny(name, "\n") {
		p.add(envelope.MalformedHeader)
		return envelope.Field{}, false
	}
	if !plainName(name) {
		p.add(envelope.MalformedHeader)
	}
	return envelope.Field{Name: name, Value: strings.TrimPrefix(value, " ")}, true
}

// plainName reports whether name is a field name (RFC 5322 §3.6.8). It may end with blanks,
// which the obsolete syntax has before the colon (§4.5).
func plainName(name string) bool {
	name = strings.TrimRight(name, " \t")
	for i := 0; i < len(name); i++ {
		if name[i] <= ' ' || name[i] > '~' {
			return false
		}
	}
	return name != ""
}

// hasControl reports whether s has a control character other than HTAB and the CRLF of its
// folding.
func hasControl(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= ' ' && c != 0x7f || c == '\t':
		case c == '\r' && i+1 < len(s) && s[i+1] == '\n':
			i++
		default:
			return true
		}
	}
	return false
}

// validUTF8 replaces every byte that is not UTF-8 by U+FFFD.
func validUTF8(s string) string {
	b := make([]byte, 0, len(s)+len(s)/2)
	for _, r := range s {
		b = utf8.AppendRune(b, r)
	}
	return string(b)
}

// find returns the first field whose trimmed name is lower, with ASCII letters in any case,
// or nil.
func find(fields []envelope.Field, lower string) *envelope.Field {
	for i := range fields {
		if named(fields[i].Name, lower) {
			return &fields[i]
		}
	}
	return nil
}

// named reports whether name, without the blanks at its end, is lower.
func named(name, lower string) bool {
	return len(name) >= len(lower) && address.Equal(name[:len(lower)], lower) && strings.Trim(name[len(lower):], " \t") == ""
}

func lowerByte(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// unfold removes the CRLF of folding and keeps the blanks (RFC 5322 §2.2.3).
func unfold(value string) string { return strings.ReplaceAll(value, "\r\n", "") }

// relaxed is unfold, and makes every run of blanks one space, because most signatures do not
// cover how long it is (RFC 6376 §3.4.2): it must not move what the bounds cut off.
func relaxed(value string) string { return string(oneBlank([]byte(unfold(value)))) }
