package agent

import "pulse/lib/shared/record"

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
