package envelope

import (
	"reflect"
	"testing"

	"pulse/lib/shared/record"
)

// FuzzShown: no panic; the member that a worker is given reads back equal, and is
// written as the same bytes again.
func FuzzShown(f *testing.F) {
	f.Add([]byte(`{"source":"s","id":"<a@b>","received":"2026-11-21T07:00:00.5+02:00","from":"f","subject":"\ud83d\ude00\u202e","text":"a\u0000\r\n","scope":"full",` +
		`"truncated":true,"attachments":[{"name":"n","type":"t","size":7,"x":{}}],"sender":{"id":1,"chat":-2,"bot":true,"x":[]},"headers":[["a","b"]],"x":null}`))
	f.Add([]byte(`{"attachments":[]}`))
	f.Add([]byte(`{"thread":{"references":["<a@b>","\u001b"],"x":[]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		shown, ok := show(b)
		if !ok {
			return
		}
		given := shown.Append(nil)
		if t := shown.Thread; t != nil && t.InReplyTo == nil { // a list that is not there is written as an empty one
			t.InReplyTo = []string{}
		}
		if t := shown.Thread; t != nil && t.References == nil {
			t.References = []string{}
		}
		again, ok := show(given)
		if !ok || !reflect.DeepEqual(again, shown) {
			t.Fatalf("%s\n%+v\n%+v", given, shown, again)
		}
		if twice := again.Append(nil); string(twice) != string(given) {
			t.Errorf("%s\n%s", given, twice)
		}
	})
}

func show(b []byte) (Shown, bool) {
	rec, err := record.Parse(append(append([]byte(`{"message":`), b...), '}'), Member)
	if err != nil {
		return Shown{}, false
	}
	v, err := rec.Get(Member)
	if err != nil {
		return Shown{}, false
	}
	s, err := Show(v)
	return s, err == nil
}
