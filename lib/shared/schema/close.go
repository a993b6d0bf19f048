package schema

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pulse/lib/shared/record"
)

// close checks what is special to a kind of schema, and counts what it lets through.
func (o *object) close(n *node, depth int) {
	switch n.kind {
	case isWord:
		o.words(n)
	case isObject:
		o.members(n, depth)
	case isArray:
		o.items(n, depth)
	case isString:
		o.string(n)
	case isNumber, isInteger:
		o.number(n)
	}
}

// words checks enum and const. What they list is the text of the schema's author.
func (o *object) words(n *node) {
	if v, ok := o.has["const"]; ok {
		n.oneOf("const", []string{o.word("const", v)})
	}
	enum, ok := o.has["enum"]
	if !ok {
		return
	}
	var words []string
	err := enum.Elements(func(i int, v record.Value) error {
		words = append(words, o.word("enum/"+strconv.Itoa(i), v))
		return nil
	})
	n.oneOf("enum", words)
	if err != nil || o.err == nil && enum == "[]" {
		o.fail("enum", "want a list of words")
	}
}

// word checks a word, and returns its one spelling.
func (o *object) word(at string, v record.Value) string {
	switch kindOf(v) {
	case isObject, isArray:
		o.failAt(at, "want a string, a number, true, false or null")
	case isNumber:
		if _, err := number(v); err != nil {
			o.failAt(at, "%w", err)
		}
	}
	return spelling(v)
}

// failAt reports an error at a place below the object.
func (o *object) failAt(below, format string, args ...any) {
	under := *o
	under.at += "/" + below
	under.fail("", format, args...)
}

// members reads an object.
func (o *object) members(n *node, depth int) {
	more := true
	if o.decode("additionalProperties", &more); more {
		o.fail("", `want "additionalProperties": false`)
	}
	properties, ok := o.has["properties"]
	if !ok {
		o.fail("", "want properties")
		return
	}
	list := o.schema(properties, within(o.at, "properties"))
	for _, name := range list.names {
		of := o.node(list.has[name], within(list.at, name), depth+1)
		n.members = append(n.members, member{name, of})
		n.add(1, of)
	}
	var required []string
	o.decode("required", &required)
	n.requires(required)
	for i, name := range required {
		if !slices.Contains(list.names, name) || slices.Contains(required[:i], name) {
			o.failAt("required/"+strconv.Itoa(i), "want the name of one of properties, once")
		}
	}
}

// items reads an array.
func (o *object) items(n *node, depth int) {
	least, most, unique := 0, 0, false
	o.decode("uniqueItems", &unique)
	if !o.decode("maxItems", &most) || most < 0 || most > maxItems {
		o.fail("", "want maxItems, at most %d", maxItems)
	}
	if o.decode("minItems", &least); least < 0 || least > most {
		o.fail("minItems", "want 0 to maxItems")
	}
	items, ok := o.has["items"]
	if !ok {
		o.fail("", "want items, the schema of each of them")
		return
	}
	n.counts(least, most, unique)
	n.items = o.node(items, within(o.at, "items"), depth+1)
	n.add(most, n.items)
}

// string reads a string that is not one of some words.
func (o *object) string(n *node) {
	least, most := 0, 0
	bounded := o.decode("maxLength", &most)
	if o.decode("minLength", &least); least < 0 || most < 0 || bounded && least > most {
		o.fail("minLength", "want 0 to maxLength")
	}
	pattern, ok := o.text("pattern")
	if ok {
		longest, err := longest(pattern)
		if err != nil {
			o.fail("pattern", "%w", err)
		}
		if !bounded || most > maxLength {
			o.fail("", "want maxLength beside pattern, at most %d", maxLength)
		}
		n.text = min(most, longest)
		if o.err == nil {
			o.pattern(n, pattern)
		}
	}
	n.lengths(most, bounded, least)
	format, formatted := o.text("format")
	if n.format = format; formatted && !slices.Contains(formats, format) {
		o.fail("format", "want %s", strings.Join(formats, ", "))
	}
	switch {
	case !ok && !formatted:
		o.fail("", "it lets any text through: want enum, const, format (%s), or pattern and maxLength", strings.Join(formats, ", "))
	case format == asDate || format == asDateTime:
		n.text = 0
	case format == asAddress:
		n.text, n.addresses = 0, 1
	case format == asID:
		n.text = maxID
	}
}

// pattern adds the rule of a pattern that is closed.
func (o *object) pattern(n *node, pattern string) {
	re, err := regexp.Compile(pattern)
	if err != nil { // more than the package takes, such as very many repetitions
		o.fail("pattern", "%w", err)
		return
	}
	n.matches(re)
}

// number reads a number. The text that it may hold is as long as its longest spelling.
func (o *object) number(n *node) {
	spelled := map[string]string{}
	for _, name := range bounds {
		v, ok := o.has[name]
		if !ok {
			continue
		}
		s, err := number(v)
		if spelled[name] = s; err != nil {
			o.fail(name, "%w", err)
		}
		n.compared(name, s)
	}
	least, most := cmp.Or(spelled["minimum"], spelled["exclusiveMinimum"]), cmp.Or(spelled["maximum"], spelled["exclusiveMaximum"])
	step := spelled["multipleOf"]
	switch {
	case least == "" || most == "":
		o.fail("", "want minimum and maximum")
	case step == "0" || strings.HasPrefix(step, "-"):
		o.fail("multipleOf", "want more than 0")
	}
	n.text = max(beforePoint(least), beforePoint(most))
	_, fraction, _ := strings.Cut(step, ".")
	switch {
	case n.kind == isInteger:
	case step == "":
		n.text = maxDigits + len("-.")
	case fraction != "":
		n.text += len(".") + len(fraction)
	}
}

func beforePoint(s string) int {
	whole, _, _ := strings.Cut(s, ".")
	return len(whole)
}
