package policy

import (
	"slices"

	"pulse/lib/shared/terms"
)

// Schemas are the names of the schemas that come with pulse, see package schema.
var Schemas = []string{"request"}

// extract reads [extract], whose two keys are nothing without each other.
func (v *validator) extract(e *Extract, f *file) {
	t := &f.Extract
	if t.Schema != nil && !slices.Contains(Schemas, *t.Schema) && !isPath(*t.Schema) {
		v.fail("extract.schema", "%s: want an absolute path, without . and .., or the name of a schema that comes with pulse: %s",
			*t.Schema, join(Schemas))
	}
	for i, word := range t.Require {
		key, trust := at("extract.require", i), terms.Trust(word)
		if !trust.Valid() || trust == terms.System {
			v.fail(key, "%s is no trust level of mail: want %s", word, join(mailLevels))
		}
		if slices.Contains(e.Require, trust) {
			v.fail(key, "%s is listed twice", word)
		}
		e.Require = append(e.Require, trust)
	}
	switch {
	case t.Schema != nil && len(e.Require) == 0:
		v.fail("extract.schema", "it is for no sender: want require, such as [\"external_verified\"]")
	case t.Schema == nil && t.Require != nil:
		v.fail("extract.require", "want schema, such as \"request\": without one nothing fits")
	}
	if t.Schema != nil {
		e.Schema = *t.Schema
	}
}

// mailLevels are the trust levels that mail can have.
var mailLevels = slices.DeleteFunc(slices.Clone(terms.TrustLevels), func(t terms.Trust) bool { return t == terms.System })
