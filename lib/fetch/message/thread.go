package message

import (
	"slices"
	"strings"

	"pulse/lib/shared/envelope"
)

// The bounds of what is read of a thread, in message ids.
const (
	maxInReplyTo  = 10
	maxReferences = 50
)

// thread returns the ids in In-Reply-To and References, or nil if there are none.
func thread(fields []envelope.Field) *envelope.Thread {
	t := envelope.Thread{
		InReplyTo:  messageIDs(fields, "in-reply-to", maxInReplyTo),
		References: messageIDs(fields, "references", maxReferences),
	}
	if len(t.InReplyTo)+len(t.References) == 0 {
		return nil
	}
	return &t
}

// messageIDs returns the plain ids in the field of that name. If there are more than limit,
// it returns the first, with which the conversation began, and the last ones, which are the
// nearest. A field that occurs twice has none, because readers differ in which of them
// counts (RFC 5322 §3.6 allows one).
func messageIDs(fields []envelope.Field, lower string, limit int) (ids []string) {
	f := find(fields, lower)
	if f == nil || f != findLast(fields, lower) {
		return nil
	}
	eachID(unfold(f.Value), func(id string) {
		if ids = append(ids, id); len(ids) > limit {
			ids = slices.Delete(ids, 1, 2)
		}
	})
	return ids
}

// findLast returns the last field of that name, as find returns the first.
func findLast(fields []envelope.Field, lower string) *envelope.Field {
	for i := len(fields) - 1; i >= 0; i-- {
		if f := find(fields[i:i+1], lower); f != nil {
			return f
		}
	}
	return nil
}

// eachID calls fn for the plain message ids in an unfolded value. It passes over what is in
// comments and quoted strings, and words between the ids, which the obsolete syntax allows
// (RFC 5322 §4.5.4).
func eachID(value string, fn func(id string)) {
	for len(value) > 0 {
		n := 1
		switch value[0] {
		case '(':
			n = commentEnd(value)
		case '"':
			n = quotedEnd(value)
		case '<':
			n += len(value[1:])
			if end := strings.IndexAny(value[1:], "<>") + 1; end > 0 && value[end] == '<' {
				n = end // the first was never closed
			} else if end > 0 {
				n = end + 1
			}
			if envelope.PlainID(value[:n]) {
				fn(value[:n])
			}
		}
		value = value[n:]
	}
}

// commentEnd returns where the comment ends with which s begins. Comments nest (RFC 5322
// §3.2.2). One that is never closed takes the rest.
func commentEnd(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// quotedEnd returns where the quoted string ends with which s begins. One that is never
// closed takes the rest.
func quotedEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}
