package agent

import "pulse/lib/shared/record"

// member returns a member of an object; empty if there is none.
func member(v record.Value, name string) (found record.Value) {
	if v == "" || v[0] != '{' {
		return ""
	}
	_ = v.Each(func(n string, v record.Value) error {
		if n == name {
			found = v
		}
		return nil
	})
	return found
}

// textIn returns a string, and whether it is one.
func textIn(v record.Value) (string, bool) {
	if v == "" || v[0] != '"' {
		return "", false
	}
	s, err := v.String()
	return s, err == nil
}

// textOf returns a string; empty if it is none.
func textOf(v record.Value) string {
	s, _ := textIn(v)
	return s
}

// eachOf calls fn for each element of an array.
func eachOf(v record.Value, fn func(record.Value) error) error {
	if v == "" || v[0] != '[' {
		return nil
	}
	return v.Elements(func(_ int, v record.Value) error { return fn(v) })
}
