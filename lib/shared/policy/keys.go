package policy

import (
	"reflect"
	"strings"

	"github.com/BurntSushi/toml"
)

// known reports whether the file type has the key, byte for byte. The library would
// take Owners for owners, or either of them if both are there.
func known(key toml.Key) bool {
	_, ok := typeOf(key)
	return ok
}

// isMap reports whether the key is a table whose keys the user chooses. If its value is
// something else, the library silently leaves such a map empty.
func isMap(key toml.Key) bool {
	t, ok := typeOf(key)
	return ok && t.Kind() == reflect.Map
}

func typeOf(key toml.Key) (reflect.Type, bool) {
	t := reflect.TypeFor[file]()
	for _, part := range key {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		switch t.Kind() {
		case reflect.Struct:
			field, ok := fieldOf(t, part)
			if !ok {
				return nil, false
			}
			t = field
		case reflect.Map:
			t = t.Elem()
		default:
			return nil, false
		}
	}
	return t, true
}

func fieldOf(t reflect.Type, name string) (reflect.Type, bool) {
	for f := range t.Fields() {
		if f.Tag.Get("toml") == name {
			return f.Type, true
		}
	}
	return nil, false
}

func path(key toml.Key) string { return strings.Join(key, ".") }

// Line returns the line of the nth occurrence, from 0, of a key or table such as
// matrix.owner_verified_email.allow or receiver. It is 0 if the file does not have it.
// Quotes in key make no difference.
func (p *Policy) Line(key string, nth int) int {
	if lines := p.lines[unquoted(key)]; nth >= 0 && nth < len(lines) {
		return lines[nth]
	}
	return 0
}

// index finds the lines on which keys and tables stand, because the library does not
// tell. It serves messages only; a line inside a multi-line string may mislead it.
func index(text string) map[string][]int {
	lines := map[string][]int{}
	table := ""
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			head, _, _ := strings.Cut(strings.TrimLeft(line, "["), "]")
			table = unquoted(head)
			lines[table] = append(lines[table], n)
			continue
		}
		key, _, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		full := unquoted(key)
		if table != "" {
			full = table + "." + full
		}
		lines[full] = append(lines[full], n)
	}
	return lines
}

func unquoted(key string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("\"' \t", r) {
			return -1
		}
		return r
	}, key)
}
