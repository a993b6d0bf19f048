package schema

import "strings"

// The types of values. null may stand beside one of them.
const (
	isObject  = "object"
	isArray   = "array"
	isString  = "string"
	isNumber  = "number"
	isInteger = "integer"
	isBoolean = "boolean"
	isNull    = "null"
	isWord    = "" // whatever enum or const lists
)

// The formats of strings.
const (
	asDate     = "date"
	asDateTime = "date-time"
	asAddress  = "record-address"
	asID       = "message-id"
)

var formats = []string{asDate, asDateTime, asAddress, asID}

// The bounds of a schema. maxValues is for all values together, because each may be a letter
// of a text that words, dates or numbers spell.
const (
	maxValues = 1000
	maxDepth  = 32
	maxItems  = 100 // of an array
	maxLength = 200 // of a string with a pattern
)

// The bytes of text that addresses and ids count as.
const (
	maxAddress   = 254 // an address (RFC 5321 §4.5.3.1.3)
	maxAddresses = 500 // all addresses of an extract together
	maxID        = 250 // a message id
)

// node is a schema that is known to be closed, with what its references stand for.
type node struct {
	kind    string
	null    bool // null will do, too
	format  string
	members []member // of an object, in the order of the schema
	items   *node    // of an array
	rules   []rule

	// What it lets through at worst: values, addresses, and bytes of any other free text.
	values, addresses, text int
}

// member is a member that an object may have.
type member struct {
	name string
	of   *node
}

// free returns the bytes of free text that a value may hold.
func (n *node) free() int { return n.text + min(n.addresses*maxAddress, maxAddresses) }

// add counts what another node lets through, times over.
func (n *node) add(times int, of *node) {
	const most = 1 << 24 // much more than any bound, and times it is no overflow
	n.values = min(n.values+times*of.values, most)
	n.addresses = min(n.addresses+times*of.addresses, most)
	n.text = min(n.text+times*of.text, most)
}

// within returns the place of a member or an element, as a JSON Pointer after # (RFC 6901).
func within(at, name string) string {
	return at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
