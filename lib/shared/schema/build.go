package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pulse/lib/shared/record"
)

// dialect is what $schema may say.
const dialect = "https://json-schema.org/draft/2020-12/schema"

// The keywords that a schema may have, by what it is. Those of any schema are for its readers:
// no value fits better or worse for them.
var (
	anywhere = []string{"title", "description", "$comment", "examples"}
	atTop    = []string{"$schema", "$id", "$defs"}
	ofRef    = []string{"$ref"}
	bounds   = []string{"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"}
	ofKind   = map[string][]string{
		isWord:    {"type", "enum", "const"},
		isObject:  {"type", "properties", "required", "additionalProperties"},
		isArray:   {"type", "items", "minItems", "maxItems", "uniqueItems"},
		isString:  {"type", "format", "pattern", "minLength", "maxLength"},
		isNumber:  append(bounds, "type"),
		isInteger: append(bounds, "type"),
		isBoolean: {"type"},
	}
)

// builder makes nodes, and keeps the first error.
type builder struct {
	defs  map[string]record.Value
	open  []string // the references inside which it is
	nodes int
	err   error
}

// build makes the node of a whole schema, and checks what no single keyword decides.
func build(v record.Value) (*node, error) {
	b := &builder{}
	top := b.schema(v, "#")
	if says, ok := top.text("$schema"); ok && says != dialect && says != dialect+"#" {
		top.fail("$schema", "want %s", dialect)
	}
	top.text("$id")
	b.defs = map[string]record.Value{}
	if defs, ok := top.has["$defs"]; ok {
		b.defs = b.schema(defs, "#/$defs").has
	}
	n := b.node(v, "#", 0)
	for _, name := range slices.Sorted(maps.Keys(b.defs)) { // those that nothing refers to, too
		b.node(b.defs[name], within("#/$defs", name), 0)
	}
	switch free := n.free(); {
	case n.values > maxValues:
		top.fail("", "it lets %d values through: want at most %d, with a smaller maxItems", n.values, maxValues)
	case free > maxFree:
		top.fail("", "it lets %d bytes of free text through: want at most %d, with a smaller maxLength or maxItems", free, maxFree)
	}
	return n, b.err
}

// object is a schema, or another object of the file, that is being read.
type object struct {
	*builder
	at    string
	has   map[string]record.Value
	names []string // in the order of the file
}

func (b *builder) schema(v record.Value, at string) *object {
	o := &object{b, at, map[string]record.Value{}, nil}
	err := v.Each(func(name string, v record.Value) error {
		o.has[name], o.names = v, append(o.names, name)
		return nil
	})
	if err != nil {
		o.fail("", "%w, want an object", record.ErrType)
	}
	return o
}

// fail reports an error in a keyword, or in the whole object if there is none.
func (o *object) fail(keyword, format string, args ...any) {
	at := o.at
	if keyword != "" {
		at = within(at, keyword)
	}
	if o.err == nil {
		o.builder.err = fmt.Errorf("%s: %w", at, fmt.Errorf(format, args...))
	}
}

// decode reads the value of a keyword, if it is there.
func (o *object) decode(keyword string, dst any) bool {
	v, ok := o.has[keyword]
	if !ok {
		return false
	}
	err := v.Into(dst)
	if err != nil {
		o.fail(keyword, "%w", err)
	}
	return err == nil
}

func (o *object) text(keyword string) (s string, ok bool) {
	ok = o.decode(keyword, &s)
	return s, ok
}

// node makes the node of a schema that is so many values deep.
func (b *builder) node(v record.Value, at string, depth int) *node {
	n := &node{values: 1}
	o := b.schema(v, at)
	if b.nodes++; b.nodes > 2*maxValues || depth > maxDepth {
		o.fail("", "want less: at most %d values, and %d of them in each other", maxValues, maxDepth)
	}
	if b.err != nil {
		return n
	}
	if _, ok := o.has["$ref"]; ok {
		o.only(ofRef)
		o.notes()
		return o.referred(depth)
	}
	n.kind, n.null = o.kind(n)
	o.only(ofKind[n.kind])
	if o.notes(); b.err == nil {
		o.close(n, depth)
	}
	return n
}

// notes checks what a schema says to its readers.
func (o *object) notes() {
	for _, name := range anywhere {
		kind := isString
		if name == "examples" {
			kind = isArray
		}
		if v, ok := o.has[name]; ok && kindOf(v) != kind {
			o.fail(name, "not as draft 2020-12 has it (type)")
		}
	}
}

// kind returns what the schema is, and whether null will do, too.
func (o *object) kind(n *node) (kind string, null bool) {
	var list []string
	if s, ok := o.has["type"]; ok && s[0] == '[' {
		o.decode("type", &list)
	} else if ok {
		s, _ := o.text("type")
		list = []string{s}
	}
	_, enum := o.has["enum"]
	_, constant := o.has["const"]
	if i := slices.Index(list, isNull); i >= 0 && len(list) == 2 {
		list, null = slices.Delete(list, i, i+1), true
	}
	switch {
	case len(list) == 1 && list[0] != isWord && ofKind[list[0]] != nil:
		kind = list[0]
	case len(list) > 0:
		o.fail("type", `want object, array, string, integer, number or boolean, or a list of one of them and "null"`)
	case !enum && !constant:
		o.fail("", "want type, enum or const: it lets anything through")
	}
	if (enum || constant) && kind != "" || kind == isInteger {
		n.ofType(kind)
	}
	if enum || constant {
		kind = isWord
	}
	return kind, null
}

// only refuses every keyword that is not known.
func (o *object) only(keywords []string) {
	known := slices.Concat(anywhere, keywords)
	if o.at == "#" {
		known = append(known, atTop...)
	}
	for _, name := range o.names {
		if !slices.Contains(known, name) {
			o.fail(name, "unknown keyword, want %s", strings.Join(known, ", "))
		}
	}
}

const intoDefs = "#/$defs/"

// referred makes the node that a reference stands for.
func (o *object) referred(depth int) *node {
	to, _ := o.text("$ref")
	name, ok := strings.CutPrefix(to, intoDefs)
	v, there := o.defs[name]
	switch {
	case !ok || !there || strings.ContainsAny(name, "/~%"):
		o.fail("$ref", "want %sNAME, which $defs of this file has", intoDefs)
	case slices.Contains(o.open, name):
		o.fail("$ref", "want no reference to what it stands in: a value could be of any depth")
	}
	if o.err != nil {
		return &node{}
	}
	o.open = append(o.open, name)
	n := o.node(v, within("#/$defs", name), depth)
	o.open = o.open[:len(o.open)-1]
	return n
}
