package dkimcheck

import (
	"errors"
	"strings"
)

// blanks is folding white space (RFC 6376 §2.8): CRLF only before SP or HTAB,
// which parseTags sees to.
const blanks = " \t\r\n"

// tag is one name=value (RFC 6376 §3.2). The value has no blanks at its ends.
type tag struct{ name, value string }

type tags []tag

// maxTags bounds a list; the standard knows 13.
const maxTags = 50

// The errors of parseTags.
var (
	errTagByte  = errors.New("it holds a byte that no tag may hold")
	errTagForm  = errors.New("a tag is not name=value")
	errTagTwice = errors.New("a tag stands there twice")
	errTagMany  = errors.New("it has more than 50 tags")
)

// parseTags reads a tag-list (RFC 6376 §3.2). It is narrower than go-msgauth,
// which takes every blank that Unicode knows for one. Empty tags, as in ";;", are
// skipped by both.
func parseTags(s string) (tags, error) {
	if !tagBytes(s) {
		return nil, errTagByte
	}
	var list tags
	for spec := range strings.SplitSeq(s, ";") {
		if spec = strings.Trim(spec, blanks); spec == "" {
			continue
		}
		name, value, ok := strings.Cut(spec, "=")
		name = strings.TrimRight(name, blanks)
		_, twice := list.get(name)
		switch {
		case !ok || !tagName(name):
			return nil, errTagForm
		case twice:
			return nil, errTagTwice
		case len(list) == maxTags:
			return nil, errTagMany
		}
		list = append(list, tag{name, strings.TrimLeft(value, blanks)})
	}
	return list, nil
}

// tagBytes demands printable ASCII and folding.
func tagBytes(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\r':
			if len(s) < i+3 || s[i+1] != '\n' || s[i+2] != ' ' && s[i+2] != '\t' {
				return false
			}
			i++
		case c != '\t' && (c < ' ' || c > '~'):
			return false
		}
	}
	return true
}

// tagName checks ALPHA *( ALPHA / DIGIT / "_" ).
func tagName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if 'a' <= c|0x20 && c|0x20 <= 'z' || i > 0 && (c == '_' || '0' <= c && c <= '9') {
			continue
		}
		return false
	}
	return s != ""
}

func (t tags) get(name string) (value string, ok bool) {
	for i := range t {
		if t[i].name == name {
			return t[i].value, true
		}
	}
	return "", false
}

// or returns the value of a tag, or what stands for it when it is absent.
func (t tags) or(name, absent string) string {
	if value, ok := t.get(name); ok {
		return value
	}
	return absent
}

// list returns the elements of a value that colons separate, without the blanks
// around them.
func list(value string) []string {
	names := strings.Split(value, ":")
	for i := range names {
		names[i] = strings.Trim(names[i], blanks)
	}
	return names
}
