package schema

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pulse/lib/shared/record"
)

// The formats of strings.
const (
	formatDate     = "date"
	formatDateTime = "date-time"
	formatAddress  = "record-address"
	formatID       = "message-id"
)

var formats = []string{formatDate, formatDateTime, formatAddress, formatID}

// The bounds of a schema. Each value may be a letter of a text that words, dates or numbers
// spell, so there is a bound for all together.
const (
	maxItems  = 100  // of an array
	maxLength = 200  // of a string with a pattern
	maxValues = 1000 // in all
	maxDepth  = 32   // of values in each other
)

// Bytes of free text that addresses and ids count as.
const (
	maxAddresses = 500 // of all addresses of an extract together
	maxAddress   = 254 // of each of them (RFC 5321 §4.5.3.1.3)
	maxID        = 250 // of a message id
)

// node is a schema that is known to be closed. References are resolved.
type node struct {
	kind    string // the type; empty: any word of the schema
	null    bool   // null will do, too
	format  string
	members []member // of an object, in the order of the schema
	items   *node    // of an array

	// What it lets through at worst: values, addresses, and bytes of other free text.
	values, addresses, text int
}

type member struct {
	name string
	of   *node
}

// free returns the bytes of free text that the node lets through.
func (n *node) free() int { return n.text + min(n.addresses*maxAddress, maxAddresses) }

// add counts what times another node lets through.
func (n *node) add(times int, of *node) {
	const most = 1 << 30
	n.values = min(n.values+times*of.values, most)
	n.addresses = min(n.addresses+times*of.addresses, most)
	n.text = min(n.text+times*of.text, most)
}

// annotations are keywords that are for readers. No value fits better or worse for them.
var annotations = []string{"title", "description", "$comment", "examples"}

// keywords lists what else a schema of each kind may have.
var keywords = map[string][]string{
	"document": {"$schema", "$id", "$defs"},
	"$ref":     {"$ref"},
	"word":     {"type", "enum", "const"},
	"object":   {"type", "properties", "required", "additionalProperties"},
	"array":    {"type", "items", "minItems", "maxItems", "uniqueItems"},
	"string":   {"type", "format", "pattern", "minLength", "maxLength"},
	"integer":  {"type", "minimum", "maximum", "multipleOf"},
	"number":   {"type", "minimum", "maximum", "multipleOf"},
	"boolean":  {"type"},
}

// builder makes nodes of a schema and keeps the first error.
type builder struct {
	defs  map[string]record.Value
	open  []string // the references that are being resolved
	nodes int
	err   error
}

// fail reports an error at a place, which is a JSON Pointer as a fragment (RFC 6901 §6,
// without its percent-encoding).
func (b *builder) fail(at, format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf("%s: %w", at, fmt.Errorf(format, args...))
	}
}

// within returns the place of a member.
func within(at, name string) string {
	return at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// object is a schema that is being read.
type object struct {
	*builder
	at   string
	has  map[string]record.Value
	list []string // the names, in order
}

// read reads an object.
func (b *builder) read(v record.Value, at string) *object {
	o := &object{b, at, map[string]record.Value{}, nil}
	err := v.Each(func(name string, v record.Value) error {
		o.has[name], o.list = v, append(o.list, name)
		return nil
	})
	if err != nil {
		b.fail(at, "want an object: %w", record.ErrType)
	}
	return o
}

// into decodes a keyword, if it is there.
func (o *object) into(keyword string, dst any) bool {
	v, ok := o.has[keyword]
	if !ok {
		return false
	}
	if err := v.Into(dst); err != nil {
		o.fail(within(o.at, keyword), "%w", err)
	}
	return o.err == nil
}

// document reads a whole schema.
func (b *builder) document(v record.Value) *node {
	o := b.read(v, "#")
	var dialect, id string
	if o.into("$schema", &dialect) && strings.TrimSuffix(dialect, "#") != "https://json-schema.org/draft/2020-12/schema" {
		o.fail("#/$schema", "want https://json-schema.org/draft/2020-12/schema")
	}
	o.into("$id", &id)
	b.defs = map[string]record.Value{}
	var defs *object
	if v, ok := o.has["$defs"]; ok {
		defs = b.read(v, "#/$defs")
		b.defs = defs.has
	}
	n := b.node(v, "#", 0)
	if defs != nil {
		for _, name := range defs.list {
			b.node(defs.has[name], within("#/$defs", name), 0)
		}
	}
	if n.values > maxValues {
		b.fail("#", "it lets %d values through: want at most %d, by smaller maxItems", n.values, maxValues)
	}
	if n.free() > MaxFree {
		b.fail("#", "it lets %d bytes of free text through: want at most %d, by smaller maxLength and maxItems", n.free(), MaxFree)
	}
	return n
}

// node reads a schema that is depth values deep.
func (b *builder) node(v record.Value, at string, depth int) *node {
	n := &node{values: 1}
	if b.nodes++; b.nodes > 2*maxValues || depth > maxDepth {
		b.fail(at, "want less: at most %d values, %d deep", maxValues, maxDepth)
	}
	if b.err != nil {
		return n
	}
	if v == "true" || v == "{}" {
		b.fail(at, "it lets anything through: want a type")
		return n
	}
	o := b.read(v, at)
	if b.err != nil {
		return n
	}
	if _, ok := o.has["$ref"]; ok {
		o.only("$ref")
		return o.ref(depth)
	}
	n.kind, n.null = o.types()
	_, enum := o.has["enum"]
	_, constant := o.has["const"]
	switch {
	case b.err != nil:
	case enum || constant:
		n.kind = ""
		o.only("word")
		o.words()
	case keywords[n.kind] == nil || !typed[n.kind]:
		o.fail(at, "want type (object, array, string, integer, number or boolean), enum or const")
	default:
		o.only(n.kind)
		o.closed(n, depth)
	}
	return n
}

var typed = map[string]bool{"object": true, "array": true, "string": true, "integer": true, "number": true, "boolean": true}

// closed reads what is special to the type.
func (o *object) closed(n *node, depth int) {
	switch n.kind {
	case "object":
		o.object(n, depth)
	case "array":
		o.array(n, depth)
	case "string":
		o.string(n)
	case "integer", "number":
		o.number(n)
	}
}

// only refuses keywords that a schema of the kind does not have.
func (o *object) only(kind string) {
	known := slices.Concat(annotations, keywords[kind])
	if o.at == "#" {
		known = append(known, keywords["document"]...)
	}
	for _, name := range o.list {
		if !slices.Contains(known, name) {
			o.fail(within(o.at, name), "this keyword is not one of %s", strings.Join(known, ", "))
		}
	}
	for _, name := range []string{"title", "description", "$comment"} {
		var text string
		o.into(name, &text)
	}
}

// types reads type: one, or one and null.
func (o *object) types() (kind string, null bool) {
	v, ok := o.has["type"]
	if !ok {
		return "", false
	}
	list := []string{""}
	err := error(nil)
	if strings.HasPrefix(string(v), "[") {
		err = v.Into(&list)
	} else {
		err = v.Into(&list[0])
	}
	rest := slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == "null" })
	if err != nil || len(rest) != 1 || len(list) > 2 || !typed[rest[0]] {
		o.fail(within(o.at, "type"), `want one type, or a list of one and "null"`)
		return "", false
	}
	return rest[0], len(list) == 2
}

const defs = "#/$defs/"

// ref resolves a reference to $defs.
func (o *object) ref(depth int) *node {
	var to string
	o.into("$ref", &to)
	name, ok := strings.CutPrefix(to, defs)
	of, there := o.defs[name]
	switch {
	case !ok || !there || strings.ContainsAny(name, "/~%"):
		o.fail(within(o.at, "$ref"), "want %sNAME, of a schema in $defs of this file", defs)
	case slices.Contains(o.open, name):
		o.fail(within(o.at, "$ref"), "want no reference into what it stands in: a value could be of any depth")
	}
	if o.err != nil {
		return &node{}
	}
	o.open = append(o.open, name)
	n := o.node(of, within("#/$defs", name), depth)
	o.open = o.open[:len(o.open)-1]
	return n
}

// words checks enum and const: strings, numbers, true, false and null.
func (o *object) words() {
	check := func(at string, v record.Value) {
		if v[0] == '{' || v[0] == '[' {
			o.fail(at, "want a string, a number, true, false or null")
		}
		if c := v[0]; c == '-' || '0' <= c && c <= '9' {
			o.literal(at, v)
		}
	}
	if v, ok := o.has["const"]; ok {
		check(within(o.at, "const"), v)
	}
	v, ok := o.has["enum"]
	if !ok {
		return
	}
	at, n := within(o.at, "enum"), 0
	err := v.Elements(func(i int, v record.Value) error {
		check(within(at, strconv.Itoa(i)), v)
		n++
		return nil
	})
	if err != nil || n == 0 {
		o.fail(at, "want a list of words")
	}
}

func (o *object) object(n *node, depth int) {
	closed := true
	if !o.into("additionalProperties", &closed) || closed {
		o.fail(o.at, `want "additionalProperties": false`)
	}
	var required []string
	o.into("required", &required)
	properties, ok := o.has["properties"]
	if !ok {
		o.fail(o.at, "want properties")
	}
	if o.err != nil {
		return
	}
	at := within(o.at, "properties")
	list := o.read(properties, at)
	for _, name := range list.list {
		of := o.node(list.has[name], within(at, name), depth+1)
		n.members = append(n.members, member{name, of})
		n.add(1, of)
	}
	for i, name := range required {
		if _, ok := list.has[name]; !ok {
			o.fail(within(within(o.at, "required"), strconv.Itoa(i)), "want the name of a property: nothing would ever fit")
		}
	}
}

func (o *object) array(n *node, depth int) {
	least, most, unique := 0, 0, false
	if !o.into("maxItems", &most) || most < 1 || most > maxItems {
		o.fail(o.at, "want maxItems, 1 to %d", maxItems)
	}
	o.into("minItems", &least)
	o.into("uniqueItems", &unique)
	items, ok := o.has["items"]
	if !ok {
		o.fail(o.at, "want items, a schema for each of them")
	}
	if o.err == nil {
		n.items = o.node(items, within(o.at, "items"), depth+1)
		n.add(most, n.items)
	}
}

func (o *object) string(n *node) {
	least, most, pattern := 0, 0, ""
	bounded := o.into("maxLength", &most)
	o.into("minLength", &least)
	if o.into("format", &n.format) && !slices.Contains(formats, n.format) {
		o.fail(within(o.at, "format"), "want one of %s", strings.Join(formats, ", "))
	}
	if o.into("pattern", &pattern) {
		if err := readPattern(pattern); err != nil {
			o.fail(within(o.at, "pattern"), "%w", err)
		}
		if !bounded || most > maxLength {
			o.fail(o.at, "want maxLength, at most %d", maxLength)
		}
	}
	switch {
	case n.format == formatAddress:
		n.addresses = 1
	case n.format == formatID:
		n.text = maxID
	case n.format == "" && pattern == "":
		o.fail(o.at, "it lets any text through: want enum, const, format (%s), or pattern and maxLength", strings.Join(formats, ", "))
	case n.format == "":
		n.text = most
	}
}

// literal reads a number.
func (o *object) literal(at string, v record.Value) string {
	s, err := number(v)
	if err != nil {
		o.fail(at, "%w", err)
	}
	return s
}

// number checks the bounds. The text that a number holds is that of its longest spelling.
func (o *object) number(n *node) {
	spelled := map[string]string{}
	for _, name := range []string{"minimum", "maximum", "multipleOf"} {
		if v, ok := o.has[name]; ok {
			spelled[name] = o.literal(within(o.at, name), v)
		} else if name != "multipleOf" {
			o.fail(o.at, "want minimum and maximum")
		}
	}
	n.text = max(longest(spelled["minimum"]), longest(spelled["maximum"]))
	if n.kind == "number" {
		_, fraction, _ := strings.Cut(spelled["multipleOf"], ".")
		if n.text += 1 + len(fraction); spelled["multipleOf"] == "" {
			n.text = max(n.text, maxDigits+len("-."))
		}
	}
}

// longest returns the length of the part before the point.
func longest(s string) int {
	whole, _, _ := strings.Cut(s, ".")
	return len(whole)
}

// maxDigits bounds a number, so that every program reads it alike and its digits hold no text.
const maxDigits = 15

var errNumber = fmt.Errorf("want a number of at most %d digits, without an exponent", maxDigits)

// number returns the only spelling of a number: no exponent, no zeros at the end of a
// fraction, no minus before zero.
func number(v record.Value) (string, error) {
	if c := v[0]; c != '-' && (c < '0' || c > '9') {
		return "", fmt.Errorf("%w, want a number", record.ErrType)
	}
	digits, minus := strings.CutPrefix(string(v), "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	fraction = strings.TrimRight(fraction, "0")
	switch {
	case strings.ContainsAny(digits, "eE") || len(whole)+len(fraction) > maxDigits:
		return "", errNumber
	case fraction != "":
		whole += "." + fraction
	}
	if minus && whole != "0" {
		whole = "-" + whole
	}
	return whole, nil
}

var errPattern = errors.New("want ^, characters and classes such as [A-Za-z0-9 ] with a repetition, $")
