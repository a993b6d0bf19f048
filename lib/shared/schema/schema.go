// Package schema reads closed schemas, and holds the JSON value that a reader of mail printed
// against one (pulse-policy(5), [extract]). A schema is closed if a stranger who decides what
// the reader prints can write no text into the value, except where the schema says how much
// and of which characters.
//
// Invariant: what Fit returns has no member that the schema does not name, no string that is
// not a word of the schema, a real date, an address of the record, a message id or made of the
// ASCII characters of a pattern, and one spelling for each value: blanks, escapes, the order
// of members, zeros and capitals carry nothing.
// Caveat: words, dates and numbers carry bits all the same, as many as there are of them. That
// is why their number is bounded, too.
package schema

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"pulse/lib/shared/record"
)

// MaxSize bounds the file of a schema, and what a reader prints, in bytes.
const MaxSize = 64 << 10

// MaxFree bounds the free text that a schema lets through, in bytes.
const MaxFree = 2000

// Schema is a closed schema.
type Schema struct {
	Text   []byte // the schema, compact JSON
	Free   int    // bytes of free text that it lets through
	Digest string // "sha256:" and the hex digest of Text

	root  *node
	draft *jsonschema.Schema
}

//go:embed request.json
var request []byte

// Builtin returns a schema that comes with pulse, or nil if there is none of that name.
func Builtin(name string) []byte {
	if name == "request" {
		return request
	}
	return nil
}

// Parse reads a schema and refuses one that is not closed. name stands for the file in
// errors, which say at which place of it what is to be written instead.
func Parse(name string, file []byte) (*Schema, error) {
	if len(file) > MaxSize {
		return nil, fmt.Errorf("%s: it has more than %d bytes", name, MaxSize)
	}
	v, err := record.ParseValue(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	b := &builder{}
	root := b.document(v)
	if b.err != nil {
		return nil, fmt.Errorf("%s: %w", name, b.err)
	}
	var text bytes.Buffer
	if err := json.Compact(&text, file); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	draft, err := compile(text.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	sum := sha256.Sum256(text.Bytes())
	return &Schema{text.Bytes(), root.free(), "sha256:" + hex.EncodeToString(sum[:]), root, draft}, nil
}

// place is the URL under which the library knows the schema. Nothing is ever loaded from it.
const place = "https://pulse.invalid/schema"

// compile gives the schema to the library. No reference leads out of it, and its $id, which
// would give it another URL, is left out.
func compile(text []byte) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	if object, ok := doc.(map[string]any); ok {
		delete(object, "$id")
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(jsonschema.SchemeURLLoader{})
	if err := c.AddResource(place, doc); err != nil {
		return nil, err
	}
	return c.Compile(place)
}
