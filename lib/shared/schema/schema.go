// Package schema reads closed schemas, and holds against one what a reader made of a mail
// (pulse-policy(5), [extract]). A schema is closed if a stranger who decides what the reader
// prints can bring no text into it, except as much and of such characters as the schema says.
//
// Invariant: what Fit returns has no member that the schema does not name, and no string that
// is not a word of the schema, a real date or time, an address of the record, a message id, or
// made of the ASCII characters of a pattern. Each value has one spelling only: blanks, escapes,
// the order of members, zeros and offsets carry nothing.
// Caveat: words, dates and numbers can spell a text, too, letter by letter. That is why their
// number is bounded.
package schema

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"pulse/lib/shared/record"
)

// MaxSize bounds the file of a schema, what a reader prints, and what Fit returns, in bytes.
const MaxSize = 64 << 10

// maxFree bounds the free text that a schema lets through, in bytes.
const maxFree = 2000

// Schema is a closed schema. It does not change, so goroutines may share it.
type Schema struct {
	Text   []byte // the schema, compact JSON
	Free   int    // bytes of free text that it lets through
	Digest string // "sha256:" and the hex digest of Text

	root *node
}

//go:embed request.json
var request []byte

// Builtin returns the text of a schema that comes with pulse, or nil if there is none of that
// name. policy.Schemas lists the names.
func Builtin(name string) []byte {
	if name == "request" {
		return request
	}
	return nil
}

// Parse reads a schema and refuses one that is not closed. name stands for the file in
// errors, which say where in it what is to be written instead.
func Parse(name string, file []byte) (*Schema, error) {
	s, err := parse(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

func parse(file []byte) (*Schema, error) {
	if len(file) > MaxSize {
		return nil, fmt.Errorf("it has more than %d bytes", MaxSize)
	}
	v, err := record.ParseValue(file)
	if err != nil {
		return nil, err
	}
	root, err := build(v)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := json.Compact(&text, file); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text.Bytes())
	return &Schema{text.Bytes(), root.free(), "sha256:" + hex.EncodeToString(sum[:]), root}, nil
}
