package tools

import (
	"slices"
	"strings"

	"pulse/lib/shared/record"
)

// each calls fn for each member of args. Anything other than an object has none.
func each(args record.Value, fn func(name string, v record.Value) error) error {
	if args == "" || args[0] != '{' {
		return nil
	}
	return args.Each(fn)
}

// values returns the strings of the named members of args, each a string or an array
// of strings. ok is false if one is something else.
func values(args record.Value, names []string) (list []string, ok bool) {
	err := each(args, func(name string, v record.Value) error {
		if !slices.Contains(names, name) {
			return nil
		}
		some, err := oneOrMore(v)
		list = append(list, some...)
		return err
	})
	return list, err == nil
}

func oneOrMore(v record.Value) (list []string, err error) {
	if v[0] == '[' {
		err = v.Into(&list)
		return list, err
	}
	s, err := v.String()
	return []string{s}, err
}

func list(words []string) string { return strings.Join(words, ", ") }
