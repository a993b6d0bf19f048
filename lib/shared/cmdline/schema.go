package cmdline

import (
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/safefile"
	"pulse/lib/shared/schema"
)

// Schema loads the schema of [extract]: nil if the policy has none. Every error is a usage
// error, because a task whose text must not be seen has nothing else to be seen.
func Schema(p *policy.Policy) (*schema.Schema, error) {
	if p.Extract.Schema == "" {
		return nil, nil
	}
	s, err := SchemaFile(p.Extract.Schema)
	if err != nil {
		return nil, fault.Usagef(fault.HintOf(err), "%s:%d: extract.%w", p.Name, p.Line("extract.schema", 0), err)
	}
	return s, nil
}

// SchemaFile loads a schema by the name of one that comes with pulse, or by its path. Every
// error is a usage error.
func SchemaFile(name string) (*schema.Schema, error) {
	text := schema.Builtin(name)
	if text == nil {
		var err error
		if text, err = safefile.Read(name, schema.MaxSize); err != nil {
			return nil, fault.Usagef(fileHint(name, err, "pulse-authorize schema request"), "schema: %w", err)
		}
	}
	s, err := schema.Parse(name, text)
	if err != nil {
		return nil, fault.Usagef("man 5 pulse-policy", "schema: %w", err)
	}
	return s, nil
}
