package schema

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"pulse/lib/shared/record"
)

// oracle reads a schema with a library. It gets no $id, which would be another url, and
// nothing is ever loaded. The library reads its metaschemas at the start of whatever links it,
// which takes longer than the start of a command: only tests do.
func oracle(text []byte) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	if object, ok := doc.(map[string]any); ok {
		delete(object, "$id")
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(jsonschema.SchemeURLLoader{}) // of no scheme
	const url = "https://pulse.invalid/schema"
	if err := c.AddResource(url, doc); err != nil {
		return nil, err
	}
	return c.Compile(url)
}

// alike fails unless the library takes the schema, too, and says the same of what is written
// for a value.
func alike(t *testing.T, s *Schema, out []byte) {
	v, err := record.ParseValue(out)
	if err != nil || len(out) > MaxSize {
		return
	}
	w := &writer{addresses: addresses}
	if w.value(s.root, v, "#"); w.err != nil {
		return
	}
	of, err := oracle(s.Text)
	if err != nil {
		t.Fatalf("%s: %v", s.Text, err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(w.out))
	if err != nil {
		t.Fatalf("%s: %s: %v", s.Text, w.out, err)
	}
	if err := of.Validate(value); (err == nil) != (w.broken == nil) {
		t.Fatalf("%s: %s: the library says %v, pulse %v", s.Text, w.out, err, w.broken)
	}
}

// TestOracle: every schema of the tests, and every value, with numbers at the edges.
func TestOracle(t *testing.T) {
	values := []string{`null`, `true`, `""`, `"a"`, `"x"`, `"A-1"`, `[]`, `[1]`, `[1,1]`, `[1,1.0]`, `["a","b"]`, `{}`, `{"a":1}`, `"2026-01-01"`,
		`-10`, `-0.5`, `0`, `-0.0`, `0.1`, `0.3`, `0.30`, `1`, `1.5`, `5`, `9`, `9.5`, `10`, `99.5`, `99.99`, `99.995`, `100`, `999999999999999`}
	for _, c := range closed {
		s := parsed(t, c.schema)
		if _, err := oracle(s.Text); err != nil {
			t.Errorf("%s: %v", s.Text, err)
		}
		for _, v := range values {
			alike(t, s, []byte(v))
		}
	}
	for _, c := range fits {
		alike(t, parsed(t, c.schema), []byte(c.out))
	}
}
