package compare

import (
	"cmp"

	"pulse/lib/shared/policy"
	"pulse/lib/shared/schema"
)

// Schemas loads the schema that a policy names.
type Schemas func(p *policy.Policy) (*schema.Schema, error)

// extract compares what workers get in place of a text.
func (v *valued) extract(load Schemas) {
	was, is := &v.old.Extract, &v.new.Extract
	if was.Schema != is.Schema && was.Schema != "" && is.Schema != "" {
		v.schema(load)
	}
}

// schema compares two schemas by how much free text they let through. A schema that lets
// less through may still let something through that the other does not.
func (v *valued) schema(load Schemas) {
	const key = "extract.schema"
	from, to := v.old.Extract.Schema, v.new.Extract.Schema
	was, err := load(v.old)
	is, failed := load(v.new)
	switch err = cmp.Or(err, failed); {
	case err != nil:
		v.unknown(key, "%s -> %s was not compared: %v", from, to, err)
	case was.Digest == is.Digest:
	case is.Free > was.Free:
		v.add(Wider, key, "%s -> %s: %d -> %d bytes of free text", from, to, was.Free, is.Free)
	default:
		v.unknown(key, "%s -> %s: %d -> %d bytes of free text; what else fits, more or less, is not compared",
			from, to, was.Free, is.Free)
	}
}

// unknown adds a line about a key of which nothing is known.
func (v *valued) unknown(key, format string, args ...any) {
	v.add(Other, key, format, args...)
	v.list[len(v.list)-1].Unknown = true
}
