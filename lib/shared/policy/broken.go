package policy

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"pulse/lib/shared/peer"
)

// decode decodes a file with the TOML library, which can panic on what is not TOML,
// recurses into what is nested, and lets a value take the place of a table.
func decode(o *outline, text string, f *file) (meta toml.MetaData, err error) {
	if o.Fault != nil && o.Fault.Final {
		return meta, errors.New("not given to the library")
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return toml.Decode(text, f)
}

// broken says in words why the TOML library refused the file. Its own message is used for
// nothing but the line, and that only where there are no words.
func (v *validator) broken(err error) error {
	o := v.lines.outline
	if o.Fault != nil {
		return v.syntax(o.Fault)
	}
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
	line := 1
	var p toml.ParseError
	if errors.As(err, &p) {
		line = p.Position.Line
	}
	return v.failAt(line, "", "this line or the one before it is not TOML: compare it with man 5 pulse-policy")
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

// syntax adds to a fault what the key may be given.
func (v *validator) syntax(fault *flaw) error {
	text := fault.Text
	if f, ok := fieldAt(fault.Names); ok && len(fault.Names) > 0 {
		switch inner := element(f.Type); {
		case fault.Bare != "" && inner.Kind() != reflect.String:
			text = fmt.Sprintf("want %s, not %s", wanted(f, fault.Names, nil), fault.Bare)
		case strings.HasSuffix(text, "after ="):
			text += ": want " + wanted(f, fault.Names, nil)
		}
	}
	return v.failAt(fault.Line, strings.Join(fault.Names, "."), "%s", text)
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
