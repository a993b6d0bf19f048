package record

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// value parses text as the member "v" of a record.
func value(t *testing.T, text string) Value {
	t.Helper()
	rec, err := Parse([]byte(`{"v":`+text+`}`), "v")
	if err != nil {
		t.Fatal(err)
	}
	v, err := rec.Get("v")
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestInto(t *testing.T) {
	for _, c := range []struct {
		text string
		dst  any
		want any // nil: ErrType
	}{
		{`"a\n\u00e9"`, new(string), "a\né"},
		{`1`, new(string), nil},
		{`null`, new(string), nil},
		{`true`, new(bool), true},
		{`false`, new(bool), false},
		{`"true"`, new(bool), nil},
		{`1`, new(bool), nil},
		{`42`, new(int), 42},
		{`-42`, new(int64), int64(-42)},
		{`9223372036854775807`, new(int64), int64(math.MaxInt64)},
		{`9223372036854775808`, new(int64), nil},
		{`1.0`, new(int), nil},
		{`1e3`, new(int), nil},
		{`"1"`, new(int), nil},
		{`4294967295`, new(uint32), uint32(math.MaxUint32)},
		{`4294967296`, new(uint32), nil},
		{`-1`, new(uint32), nil},
		{`"1"`, new(uint32), nil},
		{`18446744073709551615`, new(uint64), uint64(math.MaxUint64)},
		{`18446744073709551616`, new(uint64), nil},
		{`"2026-11-21T07:00:02.5+01:00"`, new(time.Time), time.Date(2026, 11, 21, 6, 0, 2, 5e8, time.UTC)},
		{`"yesterday"`, new(time.Time), nil},
		{`0`, new(time.Time), nil},
		{`{}`, new([]string), nil},
		{`["a",1]`, new([]string), nil},
	} {
		err := value(t, c.text).Into(c.dst)
		if c.want == nil {
			if !errors.Is(err, ErrType) {
				t.Errorf("%s into %T: %v", c.text, c.dst, err)
			}
			continue
		}
		if got := pointee(c.dst); err != nil || got != c.want {
			t.Errorf("%s into %T: %v, %v; want %v", c.text, c.dst, got, err, c.want)
		}
	}
}

func pointee(dst any) any {
	switch d := dst.(type) {
	case *string:
		return *d
	case *bool:
		return *d
	case *int:
		return *d
	case *int64:
		return *d
	case *uint32:
		return *d
	case *uint64:
		return *d
	case *time.Time:
		return *d
	}
	return nil
}

// TestErrorsNameThePlace: a person must find the value in a line of 3 kB.
func TestErrorsNameThePlace(t *testing.T) {
	rec, err := Parse([]byte(`{"message":{"headers":[["a","b"],["c",{"d":[0,null]}]]}}`), "message")
	if err != nil {
		t.Fatal(err)
	}
	var walk func(Value) error
	walk = func(v Value) error {
		switch v[0] {
		case '{':
			return v.Each(func(_ string, v Value) error { return walk(v) })
		case '[':
			return v.Elements(func(_ int, v Value) error { return walk(v) })
		case 'n':
			return v.Into(new(int))
		}
		return nil
	}
	want := "message.headers[1][1].d[1]: wrong type, want a whole number"
	if err := rec.Decode("message", walk); err == nil || err.Error() != want || !errors.Is(err, ErrType) {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := rec.Get("identity"); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
}

func TestPairs(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                              "",
		`[["a","b"]]`:                     "a=b;",
		` [ [ "a" , "b" ] , ["","\""] ] `: "a=b;=\";",
		`["a","b"]`:                       "!",
		`[["a"]]`:                         "!",
		`[["a","b","c"]]`:                 "!",
		`[["a",1]]`:                       "!",
		`[[]]`:                            "!",
		`[["a","b"],null]`:                "!",
		`{"a":"b"}`:                       "!",
		`"ab"`:                            "!",
	} {
		var got strings.Builder
		err := value(t, text).Pairs(func(a, b string) { got.WriteString(a + "=" + b + ";") })
		if want == "!" {
			if !errors.Is(err, ErrType) {
				t.Errorf("%s: %v", text, err)
			}
		} else if err != nil || got.String() != want {
			t.Errorf("%s: %s, %v; want %s", text, got.String(), err, want)
		}
	}
}

// notedPairs reads two lines, and compares what the scan has noted of the pairs in each value of the
// second one's v with a walk over that value. It returns how many pairs there are.
func notedPairs(t *testing.T, before, text string) (n int) {
	t.Helper()
	r := NewReader(strings.NewReader(before+"\n"+text), "test", DefaultMax, "v")
	for range 2 {
		rec, err := r.Next()
		if err != nil {
			return 0
		}
		n = 0
		_ = rec.Each("v", func(_ string, v Value) error {
			var got, want []string
			wrong := v.Pairs(func(a, b string) { want = append(want, a, b) })
			err := rec.Pairs(v, func(a, b string) { got = append(got, a, b) })
			if (err == nil) != (wrong == nil) || err == nil && !slices.Equal(got, want) {
				t.Fatalf("%s: %q, %v; want %q, %v", v, got, err, want, wrong)
			}
			n += len(want) / 2
			return nil
		})
	}
	return n
}

// TestNotedPairs: also where the scan has noted no members, or not these pairs, or what it noted is of
// another line.
func TestNotedPairs(t *testing.T) {
	const h = `"h":[["a","b\r\n\tb"],["\u0063","\"d"]]`
	many := strings.Repeat(`["x","y"],`, maxNoted)
	members := func(n int) (s string) {
		for i := range n {
			s += fmt.Sprintf(`"%d":0,`, i)
		}
		return s
	}
	for text, want := range map[string]int{
		`{"v":{` + h + `}}`: 2,
		`  {"u":[["a","b"]],"v":{"i":[ ["e","f"] , ["g","h"] ],` + h + `}}`: 4,
		`{"v":{` + members(maxNoted) + h + `}}`:                             2, // of which not all are noted
		`{"v":{"h":[` + many + `["c","d"]],"i":[["e","f"]]}}`:               maxNoted + 2,
		`{"v":{"h":[["a","b"],["c" ,"d"],["e","f"]]}}`:                      3,
		`{"v":{"h":[["a","b"],["c","d","e"]]}}`:                             1, // before the error
		`{"v":{"h":[[["a","b"],["c","d"]],[["a","b"]]],"i":[]}}`:            0,
		`{"v":[["a","b"]]}`: 0,
	} {
		for pad := range 800 { // what was noted last stood before these pairs, in their midst and behind them
			before := `{"v":{"g":"` + strings.Repeat("x", pad) + `",` + h + `}}`
			if n := notedPairs(t, before, text); n != want {
				t.Fatalf("%.80s, then %.80s: %d pairs, want %d", before, text, n, want)
			}
		}
	}
}

// FuzzValue: the methods of Value decode what the json package decodes.
func FuzzValue(f *testing.F) {
	for _, c := range lines {
		if len(c.in) < 4096 && c.want == nil {
			f.Add(c.in)
		}
	}
	f.Add(`{"a":[["x","y"],["\ud83d\ude00","\\\""]],"b":[ 1 , -2.5 , 1e400, {"c":null} ]}`)
	f.Fuzz(func(t *testing.T, text string) {
		notedPairs(t, `{"v":{"h":[["a","b"]]}}`, `{"v":{"h":`+text+`}}`)
		rec, err := Parse([]byte(`{"v":`+text+`}`), "v")
		if err != nil {
			return
		}
		v, err := rec.Get("v")
		if err != nil {
			return // text closed the object and began another member
		}
		compare(t, v)
	})
}

func compare(t *testing.T, v Value) {
	t.Helper()
	raw := jsontext.Value(v)
	switch raw.Kind() {
	case '"':
		var want string
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		if got, err := v.String(); err != nil || got != want {
			t.Fatalf("%s: %q, %v; want %q", v, got, err, want)
		}
	case '{':
		compareObject(t, v)
	case '[':
		compareArray(t, v)
	case '0':
		var n int64
		want, wrong := strconv.ParseInt(string(v), 10, 64)
		if err := v.Into(&n); (err == nil) != (wrong == nil) || err == nil && n != want {
			t.Fatalf("%s: %d, %v", v, n, err)
		}
	default:
		var got, want bool
		wrong := json.Unmarshal(raw, &want)
		if err := v.Into(&got); (err == nil) != (wrong == nil && raw.Kind() != 'n') || got != want {
			t.Fatalf("%s: %v, %v", v, got, err)
		}
	}
}

func compareObject(t *testing.T, v Value) {
	t.Helper()
	want := map[string]jsontext.Value{}
	if err := json.Unmarshal([]byte(v), &want); err != nil {
		t.Fatal(err)
	}
	n := 0
	err := v.Each(func(name string, v Value) error {
		n++
		if string(want[name]) != string(v) {
			t.Fatalf("%q is %s, want %s", name, v, want[name])
		}
		compare(t, v)
		return nil
	})
	if err != nil || n != len(want) {
		t.Fatalf("%s: %d members, %v", v, n, err)
	}
}

func compareArray(t *testing.T, v Value) {
	t.Helper()
	var want []jsontext.Value
	if err := json.Unmarshal([]byte(v), &want); err != nil {
		t.Fatal(err)
	}
	n := 0
	err := v.Elements(func(i int, v Value) error {
		n++
		if string(want[i]) != string(v) {
			t.Fatalf("[%d] is %s, want %s", i, v, want[i])
		}
		compare(t, v)
		return nil
	})
	if err != nil || n != len(want) {
		t.Fatalf("%s: %d elements, %v", v, n, err)
	}
	comparePairs(t, v, want)
}

// comparePairs compares the fast walk with the slow one.
func comparePairs(t *testing.T, v Value, raw []jsontext.Value) {
	t.Helper()
	var want, got []string
	pairs := true
	for _, r := range raw {
		var pair []any
		if json.Unmarshal(r, &pair) != nil || len(pair) != 2 {
			pairs = false
			break
		}
		a, okA := pair[0].(string)
		b, okB := pair[1].(string)
		pairs = pairs && okA && okB
		want = append(want, a, b)
	}
	err := v.Pairs(func(a, b string) { got = append(got, a, b) })
	if (err == nil) != pairs || pairs && strings.Join(got, "\x00") != strings.Join(want, "\x00") {
		t.Fatalf("%s: %q, %v", v, got, err)
	}
}

func TestObject(t *testing.T) {
	var o Object
	if got := string(o.Bytes()); got != "{}" {
		t.Errorf("empty: %s", got)
	}
	o.Str("s", "a\"b")
	o.StrIf("none", "")
	o.StrIf("some", "x")
	o.Int("n", -1)
	o.Bool("b", true)
	o.Time("zero", time.Time{})
	o.Time("t", time.Date(2026, 11, 21, 8, 0, 0, 5e8, time.FixedZone("", 3600)))
	o.Strs("empty", nil)
	o.Strs("list", []string{"a", "b"})
	o.Raw("raw", []byte(`{"x":1}`))
	want := `{"s":"a\"b","some":"x","n":-1,"b":true,"t":"2026-11-21T07:00:00.5Z","empty":[],"list":["a","b"],"raw":{"x":1}}`
	if got := string(o.Bytes()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := string(new(Object).Bytes()); got != "{}" {
		t.Errorf("an empty one: %s", got)
	}
}

// TestObjectAfter: an object that is appended to something is the same as one alone.
func TestObjectAfter(t *testing.T) {
	o := ObjectAfter([]byte("{"))
	if got := string(o.Bytes()); got != "{{}" {
		t.Errorf("empty: %s", got)
	}
	o.Nested("list", func(dst []byte) []byte { return append(dst, "[1]"...) })
	o.Int("n", 1)
	if got := string(o.Bytes()); got != `{{"list":[1],"n":1}` {
		t.Error(got)
	}
}

// TestHides: the limits that hides looks at first leave out no character.
func TestHides(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if hides(r) != unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			t.Errorf("%U", r)
		}
	}
}

// FuzzAppendString: the result reads back equal, is valid JSON, and holds no control
// that a terminal would obey.
func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain", "\"\\/\b\f\n\r\t\x00\x1b\x7f", "é😀\u0085\u009b\u2028\ufffd", "\xff\xc3", "\xed\xa0\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := AppendString(nil, s)
		if !jsontext.Value(out).IsValid() {
			t.Fatalf("%q: %s", s, out)
		}
		for _, r := range string(out) {
			if r < 0x20 || 0x7f <= r && r <= 0x9f {
				t.Fatalf("%q: %q", s, out)
			}
		}
		got, err := value(t, string(out)).String()
		if want := string([]rune(s)); err != nil || got != want || utf8.ValidString(s) && got != s {
			t.Fatalf("%q came back as %q, %v", s, got, err)
		}
	})
}

// TestTo: members go where they belong in whatever order they come, and others are left out or, with
// Only, are an error.
func TestTo(t *testing.T) {
	other := errors.New("other")
	for text, want := range map[string]string{
		`{"a":"x","n":3,"raw":[1]}`: "x 3 [1] 0", `{"raw":{},"n":3,"a":"x","f":1}`: "x 3 {} 1", `{"f":2,"a":"y"}`: "y 0  2", `{}`: " 0  0",
		`{"n":"3"}`: "type", `{"a":null}`: "type", `{"f":true}`: "type", `{"a":"x","n2":1}`: "other", `{"other":1}`: "other",
	} {
		var a string
		var n, called int
		var raw Value
		places := []any{"a", &a, "n", &n, "raw", &raw, "f", func(v Value) error { return v.Into(&called) }}
		err := Value(text).Each(Only(other, places...))
		got := fmt.Sprint(a, " ", n, " ", raw, " ", called)
		switch {
		case errors.Is(err, ErrType):
			got = "type"
		case errors.Is(err, other):
			got = "other"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		if err := Value(text).Each(To(places...)); (err == nil) != (want != "type") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestMember(t *testing.T) {
	v := value(t, `{"a":{"b":"\u0041"},"\u0063":null}`)
	for got, want := range map[Value]Value{
		v.Member("a").Member("b"): `"\u0041"`, v.Member("c"): "null", v.Member("b"): "",
		v.Member("b").Member("a"): "", v.Member("c").Member("a"): "", // not an object
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
