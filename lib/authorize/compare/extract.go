package compare

import (
	"cmp"

	"pulse/lib/shared/policy"
	"pulse/lib/shared/schema"
	"pulse/lib/shared/terms"
)

// Schemas loads the schema that a policy names.
type Schemas func(p *policy.Policy) (*schema.Schema, error)

// extract compares whose text workers read, and what they get instead.
func (v *valued) extract(load Schemas) {
	const key = "extract.require"
	was, is := &v.old.Extract, &v.new.Extract
	for _, t := range terms.TrustLevels {
		switch {
		case was.Requires(t) && !is.Requires(t):
			v.add(Wider, key, "workers read the text of %s", t)
		case !was.Requires(t) && is.Requires(t):
			v.add(Narrower, key, "workers do not read the text of %s", t)
		}
	}
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
		v.add(Other, key, "%s -> %s was not compared: %v", from, to, err)
		v.list[len(v.list)-1].Unknown = true
	case was.Digest == is.Digest:
	case is.Free > was.Free:
		v.add(Wider, key, "%s -> %s: %d -> %d bytes of free text", from, to, was.Free, is.Free)
	default:
		v.add(Other, key, "%s -> %s: %d -> %d bytes of free text; what else fits, more or less, is not compared",
			from, to, was.Free, is.Free)
	}
}
