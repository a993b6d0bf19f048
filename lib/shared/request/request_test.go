package request

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pulse/lib/shared/record"
)

func decode(t *testing.T, text string) Request {
	t.Helper()
	r, err := Decode(record.Value(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return r
}

func TestCanonicalIsEqualForEqualWishes(t *testing.T) {
	want := `{"action":"external_send","args":{"a":1,"b":[true,null,"ä<&\n"]},"target":["bob@x.example"]}`
	for _, text := range []string{
		want,
		`{"target":"bob@x.example","args":{"b":[true,null,"ä<&\n"],"a":1},"action":"external_send"}`,
		"{ \"target\" : [ \"\\u0062ob@x.example\" ] ,\t\"args\":{\"b\":[true , null,\"\\u00e4\\u003c\\u0026\\n\"],\"a\":1},\"act\\u0069on\":\"external_send\" }",
	} {
		r := decode(t, text)
		if got, err := r.Canonical(); err != nil || string(got) != want {
			t.Errorf("%s\n%s, %v", text, got, err)
		}
	}
}

func TestCanonicalDiffersForOtherWishes(t *testing.T) {
	seen := map[string]string{}
	for _, text := range []string{
		`{"action":"a","target":"x"}`, `{"action":"a","target":["x","y"]}`, `{"action":"a","target":["y","x"]}`, `{"action":"a"}`,
		`{"action":"a","target":[]}`, `{"action":"a","target":"x","args":1}`, `{"action":"a","target":"x","args":1.0}`,
		`{"action":"a","target":"x","args":10000000000000000000000001}`, `{"action":"a","target":"x","args":10000000000000000000000002}`,
		`{"action":"a","target":"x","args":"1"}`, `{"action":"a","target":"x","tool":"t"}`, `{"action":"a","target":"x","bcc":"y"}`,
		`{"action":"a","target":"x","args":{"a":{"b":1}}}`, `{"action":"a","target":"x","args":{"a":1,"b":1}}`,
	} {
		r := decode(t, text)
		got, err := r.Canonical()
		if err != nil || seen[string(got)] != "" {
			t.Errorf("%s and %s are both %s, %v", text, seen[string(got)], got, err)
		}
		seen[string(got)] = text
	}
}

func TestTargets(t *testing.T) {
	hundred := strings.TrimSuffix(strings.Repeat(`"a@x.example",`, maxTargets), ",")
	for _, c := range []struct {
		target string
		n      int
		err    error
	}{
		{`"bob@x.example"`, 1, nil}, {`["a","b"]`, 2, nil}, {`[]`, 0, nil}, {"[" + hundred + "]", 100, nil},
		{"[" + hundred + `,"b"]`, 0, errMany}, {`""`, 0, errTarget}, {`["a",""]`, 0, errTarget}, {`"a\nb"`, 0, errTarget},
		{`"a\u0000"`, 0, errTarget}, {`"a\u007f"`, 0, errTarget}, {`7`, 1, nil}, {`[-100123,"7"]`, 2, nil}, {`7.0`, 0, record.ErrType},
		{`7e1`, 0, record.ErrType}, {`-0`, 0, record.ErrType}, {`99999999999999999999`, 0, record.ErrType}, {`true`, 0, record.ErrType}, {`null`, 0, record.ErrType},
		{`{"a":1}`, 0, record.ErrType}, {`["a",7.5]`, 0, record.ErrType}, {`[["a"]]`, 0, record.ErrType},
	} {
		r, err := Decode(record.Value(`{"target":` + c.target + `}`))
		if !errors.Is(err, c.err) || c.err == nil && len(r.Target) != c.n {
			t.Errorf("%.40s: %v, %v", c.target, len(r.Target), err)
		}
	}
}

// TestNumbersAreStrings: 42 and "42" are one wish, so a refusal of one sticks to the other.
func TestNumbersAreStrings(t *testing.T) {
	want := `{"target":["42"]}`
	for _, text := range []string{`{"target":42}`, `{"target":[42]}`, `{"target":"42"}`, want} {
		r := decode(t, text)
		if got, err := r.Canonical(); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
}

// TestWhatIsShown: an unknown member appears nowhere in what is made from a request.
func TestWhatIsShown(t *testing.T) {
	for text, want := range map[string]string{
		`{"args":{"text":"hi"}}`:                `hi true {"args":{"text":"hi"}}`,
		`{"args":{"text":"hi","bcc":"x"}}`:      `hi false {"args":{"text":"hi","bcc":"x"}}`,
		`{"args":{"bcc":"x"}}`:                  ` false {"args":{"bcc":"x"}}`,
		`{"args":["text"]}`:                     ` false {"args":["text"]}`,
		`{"args":"text"}`:                       ` false {"args":"text"}`,
		`{}`:                                    ` false {}`,
		`{"args":{"text":7}}`:                   ` true {"args":{"text":7}}`,
		`{"bcc":"eve","tool":"t","note":["x"]}`: ` false {"tool":"t"}`,
		`{"files":[],"\u0061rgs":"x","evidence":"<a@b>","target":"x","action":"a"}`: ` false {"files":[],"args":"x","evidence":"<a@b>","target":"x","action":"a"}`,
	} {
		r := decode(t, text)
		if got := fmt.Sprint(r.Text(), " ", r.OnlyText(), " ", string(r.Append(nil))); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// FuzzCanonical: no panic; the canonical form is a request, is its own canonical form,
// and means the same as the request it was made from.
func FuzzCanonical(f *testing.F) {
	f.Add([]byte(`{"action":"external_send","target":"bob@x.example","tool":"","args":{"text":"hi","n":[1e400,-0,"\ud83d\ude00"]}}`))
	f.Add([]byte(`{"target":["a","b"],"\u0061ction":"x","":{"":[]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		rec, err := record.Parse(append(append([]byte(`{"request":`), b...), '}'), Member)
		if err != nil {
			return
		}
		v, err := rec.Get(Member)
		if err != nil {
			return
		}
		r, err := Decode(v)
		if err != nil {
			return
		}
		r.Text()
		r.OnlyText()
		canonical, err := r.Canonical()
		if err != nil {
			t.Fatalf("%s: %v", v, err)
		}
		if _, err := record.Parse(append(append([]byte(`{"request":`), canonical...), '}'), Member); err != nil {
			t.Fatalf("%s: %v", canonical, err)
		}
		again, err := Decode(record.Value(canonical))
		if err != nil || again.Action != r.Action || !reflect.DeepEqual(again.Target, r.Target) && len(r.Target) > 0 {
			t.Fatalf("%s\n%s: %v", v, canonical, err)
		}
		twice, err := again.Canonical()
		if err != nil || !bytes.Equal(twice, canonical) {
			t.Errorf("%s\n%s, %v", canonical, twice, err)
		}
		var x, y map[string]any
		if json.Unmarshal([]byte(v), &x) == nil && json.Unmarshal(canonical, &y) == nil {
			if _, ok := x["target"]; ok {
				x["target"] = y["target"] // the same strings, as was seen above
			}
			if !reflect.DeepEqual(x, y) {
				t.Errorf("%s\n%s", v, canonical)
			}
		}
	})
}
