package policy

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"

	"pulse/lib/shared/lazy"
	"pulse/lib/shared/peer"
)

// check demands that each key of the file is one of a policy, with a value of its kind, and that
// the file is TOML.
func (v *validator) check(text string) error {
	o := v.lines.outline
	for i := range o.Entries {
		e := &o.Entries[i]
		f, ok := fieldAt(e.Names)
		if !ok {
			return v.unknown(e.Names, e.Line)
		}
		if above := v.missing(o.Entries[:i], e); above != "" {
			return v.failAt(e.Line, e.Key, "want [[%s]] above it, which it belongs to", above)
		}
		if !fits(f.Type, e) {
			return v.failAt(e.Line, e.Key, "want %s, not %s", wanted(f, e.Names, e), found(e))
		}
	}
	if o.Fault != nil {
		return v.broken(o, text)
	}
	return nil
}

// broken says why a file is not TOML, in words of its own for what people write most.
func (v *validator) broken(o *outline, text string) error {
	line := o.wrote(text)
	name, value, _ := strings.Cut(line, "=")
	names := append(o.Table[:len(o.Table):len(o.Table)], strings.Split(strings.TrimSpace(name), ".")...)
	value = strings.TrimSpace(value)
	f, ok := fieldAt(names)
	switch word := bareWord().MatchString(value); {
	case !utf8.ValidString(line):
		return v.failAt(o.Line, "", "it is not UTF-8: save the file as UTF-8")
	case strings.ContainsAny(line, "“”„"):
		return v.failAt(o.Line, "", "“ is not a quote of TOML: want \"")
	case word && ok && element(f.Type).Kind() != reflect.String:
		return v.failAt(o.Line, path(names), "want %s, not %s", wanted(f, names, nil), value)
	case word:
		return v.failAt(o.Line, path(names), "%s has no quotes: want \"%s\"", value, value)
	case strings.Contains(o.Fault.Message, "start of key") || strings.Contains(o.Fault.Message, "table name"):
		return v.failAt(o.Line, "", "%.80s: this is not TOML: %s; a name needs quotes where it is not a to z, digits, _ or -",
			line, o.Fault.Message)
	}
	return v.failAt(o.Line, "", "%.80s: this is not TOML: %s", line, o.Fault.Message)
}

var bareWord = lazy.Regexp(`^[A-Za-z0-9_.+@*/:-]*[A-Za-z][A-Za-z0-9_.+@*/:-]*$`)

// undecoded says why the library takes no file in which each key is well.
func (v *validator) undecoded(err error) error {
	var e *toml.DecodeError
	if !errors.As(err, &e) {
		return v.failAt(1, "", "%v", err)
	}
	line, _ := e.Position()
	return v.failAt(line, path(e.Key()), "%s", strings.TrimPrefix(e.Error(), "toml: "))
}

// missing returns the name of the [[table]] that an entry lies in, if none begins before
// the entry.
func (v *validator) missing(before []outlined, e *outlined) string {
	for n := 1; n < len(e.Names); n++ {
		f, ok := fieldAt(e.Names[:n])
		begins := func(b outlined) bool {
			return slices.Equal(b.Names, e.Names[:n]) && (b.Kind == isTables || b.Element)
		}
		if ok && f.Type.Kind() == reflect.Slice && !slices.ContainsFunc(before, begins) {
			return strings.Join(e.Names[:n], ".")
		}
	}
	return ""
}

// element returns the type without its pointer, and that of the elements of a list.
func element(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// fits reports whether an entry of the file can be decoded into its field.
func fits(t reflect.Type, e *outlined) bool {
	for t.Kind() == reflect.Pointer || e.Element && t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t == reflect.TypeFor[names]() && e.Kind == isString {
		return true
	}
	if t == reflect.TypeFor[target]() {
		return e.Kind == isInteger || e.Kind == isString
	}
	if t == reflect.TypeFor[peer.ID]() {
		return e.Kind == isInteger || e.Kind == isString && isID(e.Text)
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return e.Kind == isTable || e.Kind == isInline
	case reflect.Slice:
		return e.Kind == isArray || e.Kind == isTables && t.Elem().Kind() == reflect.Struct
	case reflect.String:
		return e.Kind == isString
	case reflect.Bool:
		return e.Kind == isBool
	}
	return e.Kind == isInteger
}

// isID reports whether a string can be an id. text is as it stands in the file, in quotes.
func isID(text string) bool {
	if len(text) < 2 {
		return false
	}
	_, err := peer.Text(text[1 : len(text)-1])
	return err == nil
}

// wanted says what may stand for a key. e is what stands there, or nil.
func wanted(f reflect.StructField, key []string, e *outlined) string {
	t, name := f.Type, strings.Join(key, ".")
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	list := t.Kind() == reflect.Slice && (e == nil || !e.Element)
	switch inner := element(t); {
	case t == reflect.TypeFor[names]():
		return "a string or an array of strings"
	case inner.Kind() == reflect.Struct && t.Kind() == reflect.Slice:
		return "tables, [[" + name + "]]"
	case inner.Kind() == reflect.Struct || inner.Kind() == reflect.Map:
		return "one table, [" + name + "]"
	case list && inner == reflect.TypeFor[peer.ID]():
		return `a list of ids, such as [123456789] or ["U024BE7LH"]`
	case inner == reflect.TypeFor[peer.ID]():
		return "a whole number, or a string of letters and digits in quotes"
	case list && inner.Kind() == reflect.String && e != nil && e.Kind == isString:
		return "a list of strings, [" + e.Text + "]"
	case list && inner == reflect.TypeFor[target]():
		return `a list of addresses, @domains and targets such as ["tel:+4930901820"]`
	case list && inner.Kind() == reflect.String:
		return `a list of strings, such as ["…"]`
	case f.Tag.Get("want") == "duration":
		return `a duration in quotes, such as "48h" or "14d"`
	case f.Tag.Get("want") == "size":
		return `bytes in quotes, such as "64MiB"`
	case inner.Kind() == reflect.String:
		return "a string in quotes"
	case inner.Kind() == reflect.Bool:
		return "true or false, without quotes"
	}
	return "a whole number, without quotes"
}

// found names what stands there.
func found(e *outlined) string {
	switch e.Kind {
	case isTable:
		return "[" + strings.Join(e.Names, ".") + "]"
	case isTables:
		return "[[" + strings.Join(e.Names, ".") + "]]"
	case isArray, isInline:
		return "a " + string(e.Kind)
	}
	const most = 40
	text, _, _ := strings.Cut(e.Text, "\n")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return "the " + string(e.Kind) + " " + text
}
