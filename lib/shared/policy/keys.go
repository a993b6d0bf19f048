package policy

import (
	"reflect"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"
)

// known reports whether the file type has the key, byte for byte. The library would
// take Owners for owners, or either of them if both are there.
func known(key toml.Key) bool {
	_, ok := typeOf(key)
	return ok
}

// isMap reports whether the key is a table whose keys the user chooses. If its value is
// something else, the library silently leaves such a map empty.
func isMap(key toml.Key) bool {
	t, ok := typeOf(key)
	return ok && t.Kind() == reflect.Map
}

func typeOf(key toml.Key) (reflect.Type, bool) {
	f, ok := fieldAt(key)
	return f.Type, ok
}

// fieldAt returns the field that a key is decoded into.
func fieldAt(key toml.Key) (f reflect.StructField, ok bool) {
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

func path(key toml.Key) string { return strings.Join(key, ".") }
