package policy

import (
	"reflect"
	"strings"
	"sync"
)

// known reports whether the file type has the key.
func known(key []string) bool {
	_, ok := fieldAt(key)
	return ok
}

// fieldAt returns the field that a key is decoded into. It compares byte for byte: the library
// would take Owners for owners, or either of them if both are there.
func fieldAt(key []string) (f reflect.StructField, ok bool) {
	t := reflect.TypeFor[file]()
	f.Type = t
	for _, part := range key {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		switch t.Kind() {
		case reflect.Struct:
			if f, ok = fieldOf(t, part); !ok {
				return f, false
			}
		case reflect.Map:
			f.Type = t.Elem()
		default:
			return f, false
		}
		t = f.Type
	}
	return f, true
}

func fieldOf(t reflect.Type, name string) (reflect.StructField, bool) {
	all, ok := fields.Load(t)
	if !ok {
		all, _ = fields.LoadOrStore(t, byName(t))
	}
	f, ok := all.(map[string]reflect.StructField)[name]
	return f, ok
}

// fields has the fields of each type by the names of their keys: every key of a file is
// looked for, and reflect makes each field anew.
var fields sync.Map

func byName(t reflect.Type) map[string]reflect.StructField {
	all := make(map[string]reflect.StructField, t.NumField())
	for f := range t.Fields() {
		all[f.Tag.Get("toml")] = f
	}
	return all
}

func path(key []string) string { return strings.Join(key, ".") }
