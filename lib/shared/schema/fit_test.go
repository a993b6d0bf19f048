package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/shared/record"
)

func parsed(t testing.TB, text string) *Schema {
	t.Helper()
	s, err := Parse("s", []byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

var addresses = []string{"Bob@Example.com", "ann@example.com", `"a b"@example.com`, strings.Repeat("a", 64) + "@" + strings.Repeat("b.", 90) + "example"}

// fits lists what a reader printed and what of it goes on; nothing: it does not fit.
var fits = []struct{ schema, out, want string }{
	{`{"type":"boolean"}`, " true\r\n", `true`},
	{`{"type":"boolean"}`, "true true", ``},
	{`{"type":"boolean"}`, "```json\ntrue\n```", ``},
	{`{"type":"boolean"}`, `1`, ``},
	{`{"type":"boolean"}`, `null`, ``},
	{`{"type":["boolean","null"]}`, `null`, `null`},
	{`{"enum":["a\u0062","é",0.50,null]}`, `"\u0061b"`, `"ab"`},
	{`{"enum":["a\u0062","é",0.50,null]}`, `"\u00e9"`, `"é"`},
	{`{"enum":["a\u0062","é",0.50,null]}`, `0.500`, `0.5`},
	{`{"enum":["a\u0062","é",0.50,null]}`, `null`, `null`},
	{`{"enum":["a\u0062","é",0.50,null]}`, `5e-1`, ``},
	{`{"enum":["a\u0062","é",0.50,null]}`, `"e\u0301"`, ``},
	{`{"enum":["a\u0062","é",0.50,null]}`, `"AB"`, ``},
	{`{"enum":["a\u0062","é",0.50,null]}`, `["ab"]`, ``},
	{`{"const":"a"}`, `"a\n"`, ``},

	{`{"type":"string","format":"date"}`, `"2028-02-29"`, `"2028-02-29"`},
	{`{"type":"string","format":"date"}`, `"2026-02-29"`, ``},
	{`{"type":"string","format":"date"}`, `"2026-1-02"`, ``},
	{`{"type":"string","format":"date"}`, `"2026-01-02\n"`, ``},
	{`{"type":"string","format":"date"}`, `"２026-01-02"`, ``},
	{`{"type":"string","format":"date"}`, `"tomorrow"`, ``},
	{`{"type":"string","format":"date"}`, `""`, ``},
	{`{"type":"string","format":"date-time"}`, `"2026-11-24T15:00:00+01:00"`, `"2026-11-24T14:00:00Z"`},
	{`{"type":"string","format":"date-time"}`, `"2026-11-24T15:00:00.123456789Z"`, `"2026-11-24T15:00:00Z"`},
	{`{"type":"string","format":"date-time"}`, `"2026-11-24T15:00:00.1234567890Z"`, ``},
	{`{"type":"string","format":"date-time"}`, `"2026-11-24T15:00:00,5Z"`, ``},
	{`{"type":"string","format":"date-time"}`, `"2026-11-24T5:00:00Z"`, ``},
	{`{"type":"string","format":"date-time"}`, `"2026-11-24t15:00:00z"`, ``},
	{`{"type":"string","format":"date-time"}`, `"2026-11-24 15:00:00Z"`, ``},
	{`{"type":"string","format":"date-time"}`, `"2026-11-24T15:00:00"`, ``},
	{`{"type":"string","format":"date-time"}`, `"0000-01-01T00:00:00+01:00"`, ``},
	{`{"type":"string","format":"date-time"}`, `"9999-12-31T23:59:59-01:00"`, ``},

	{`{"type":"string","format":"record-address"}`, `"BOB@example.COM"`, `"Bob@Example.com"`},
	{`{"type":"string","format":"record-address"}`, `"eve@example.com"`, ``},
	{`{"type":"string","format":"record-address"}`, `"Bob <bob@example.com>"`, ``},
	{`{"type":"string","format":"record-address"}`, `"bob@example.com\n"`, ``},
	{`{"type":"string","format":"record-address"}`, `"\"a b\"@example.com"`, ``},
	{`{"type":"string","format":"record-address"}`, `"b\u043fb@example.com"`, ``},
	{`{"type":"array","maxItems":100,"items":{"type":"string","format":"record-address"}}`, `[` + strings.Repeat(`"bob@example.com",`, 32) + `"bob@example.com"]`,
		`[` + strings.Repeat(`"Bob@Example.com",`, 32) + `"Bob@Example.com"]`},
	{`{"type":"array","maxItems":100,"items":{"type":"string","format":"record-address"}}`, `[` + strings.Repeat(`"bob@example.com",`, 33) + `"bob@example.com"]`, ``},

	{`{"type":"string","format":"message-id"}`, `"<a.b=c@mail.example.com>"`, `"<a.b=c@mail.example.com>"`},
	{`{"type":"string","format":"message-id"}`, `"<a b@example.com>"`, ``},
	{`{"type":"string","format":"message-id"}`, `"a@example.com"`, ``},
	{`{"type":"string","format":"message-id"}`, `"<a@b> <c@d>"`, ``},
	{`{"type":"string","format":"message-id"}`, `"<a@é>"`, ``},
	{`{"type":"string","format":"message-id"}`, `"<` + strings.Repeat("a", 246) + `@b>"`, `"<` + strings.Repeat("a", 246) + `@b>"`},
	{`{"type":"string","format":"message-id"}`, `"<` + strings.Repeat("a", 247) + `@b>"`, ``},

	{`{"type":"string","pattern":"^[a-z ]*$","maxLength":5}`, `"a b"`, `"a b"`},
	{`{"type":"string","pattern":"^[a-z ]*$","maxLength":5}`, `"\u0061\u0020b"`, `"a b"`},
	{`{"type":"string","pattern":"^[a-z ]*$","maxLength":5}`, `"a b\n"`, ``},
	{`{"type":"string","pattern":"^[a-z ]*$","maxLength":5}`, `"a\nb"`, ``},
	{`{"type":"string","pattern":"^[a-z ]*$","maxLength":5}`, `"aaaaaa"`, ``},
	{`{"type":"string","pattern":"^[a-z ]*$","maxLength":5}`, `"\u212a"`, ``},
	{`{"type":["string","null"],"pattern":"^[a-z ]+$","maxLength":5}`, `""`, ``},
	{`{"type":["string","null"],"pattern":"^[a-z ]+$","maxLength":5}`, `null`, `null`},

	{`{"type":"integer","minimum":-5,"maximum":5}`, `-0`, `0`},
	{`{"type":"integer","minimum":-5,"maximum":5}`, `5.000`, `5`},
	{`{"type":"integer","minimum":-5,"maximum":5}`, `5e0`, ``},
	{`{"type":"integer","minimum":-5,"maximum":5}`, `1.5`, ``},
	{`{"type":"integer","minimum":-5,"maximum":5}`, `6`, ``},
	{`{"type":"integer","minimum":-5,"maximum":5}`, `"5"`, ``},
	{`{"type":"number","minimum":0,"maximum":99,"multipleOf":0.01}`, `10.50`, `10.5`},
	{`{"type":"number","minimum":0,"maximum":99,"multipleOf":0.01}`, `10.505`, ``},
	{`{"type":"number","minimum":0,"maximum":99}`, `0.1` + strings.Repeat("0", 1000), `0.1`},
	{`{"type":"number","minimum":0,"maximum":99}`, `1.000000000000001`, ``},
	{`{"type":"number","minimum":0,"maximum":99}`, `1e400`, ``},
	{`{"type":"number","minimum":0,"maximum":99}`, `1e999999999`, ``},
	{`{"type":"number","minimum":0,"maximum":99}`, `1E1`, ``},
	{`{"type":"number","minimum":0,"maximum":99}`, strings.Repeat("9", 60000), ``},

	{`{"type":"array","maxItems":2,"uniqueItems":true,"items":{"type":"number","minimum":0,"maximum":9}}`, ` [ 1 , 2.0 ] `, `[1,2]`},
	{`{"type":"array","maxItems":2,"uniqueItems":true,"items":{"type":"number","minimum":0,"maximum":9}}`, `[1,1.0]`, ``},
	{`{"type":"array","maxItems":2,"uniqueItems":true,"items":{"type":"number","minimum":0,"maximum":9}}`, `[1,2,3]`, ``},
	{`{"type":"array","maxItems":2,"uniqueItems":true,"items":{"type":"number","minimum":0,"maximum":9}}`, `[1,"2"]`, ``},
	{`{"type":"array","maxItems":2,"uniqueItems":true,"items":{"type":"number","minimum":0,"maximum":9}}`, `{}`, ``},

	{pair, ` { "b" : true , "\u0061" : "x" } `, `{"a":"x","b":true}`},
	{pair, `{"a":"x"}`, `{"a":"x"}`},
	{pair, `{"a":"x","b":false,"c":1}`, ``},
	{pair, `{"a":"x","\u0061":"x"}`, ``},
	{pair, `{"a":"x","A":"x"}`, ``},
	{pair, `{"b":true}`, ``},
	{pair, `{"a":"x",}`, ``},
	{pair, `{"a":"x"} and more`, ``},
	{pair, "\ufeff" + `{"a":"x"}`, ``},
	{pair, `[{"a":"x"}]`, ``},
	{pair, ``, ``},
	{pair, strings.Repeat(" ", MaxSize-9) + `{"a":"x"}`, `{"a":"x"}`},
	{pair, strings.Repeat(" ", MaxSize-8) + `{"a":"x"}`, ``},
	{pair, strings.Repeat(`{"a":`, 10000), ``},
	{pair, "{\"a\":\"x\xff\"}", ``},
	{pair, `{"a":"\ud800"}`, ``},
}

const pair = `{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"type":"string","pattern":"^[a-z]+$","maxLength":9},"b":{"type":"boolean"}}}`

func TestFit(t *testing.T) {
	for _, c := range fits {
		got, err := parsed(t, c.schema).Fit([]byte(c.out), addresses)
		if string(got) != c.want || (err == nil) != (c.want != "") || err != nil && !errors.Is(err, errUnfit) {
			t.Errorf("%s: %.80s:\n got %s, %v\nwant %s", c.schema, c.out, got, err, c.want)
		}
	}
}

// TestWhere: an error names the place and the keyword.
func TestWhere(t *testing.T) {
	s := parsed(t, `{"type":"object","additionalProperties":false,"properties":{"x/y":{"type":"array","maxItems":3,"items":`+pair+`},"n":{"type":"integer","minimum":0,"maximum":9}}}`)
	for out, want := range map[string]string{
		`{"x/y":[{"a":"x"},{"a":"X"}]}`:         "it does not fit the schema: #/x~1y/1/a breaks pattern",
		`{"x/y":[{"a":"x"},{}]}`:                "it does not fit the schema: #/x~1y/1 breaks required",
		`{"x/y":[{"a":"x","canary":"canary"}]}`: "it does not fit the schema: #/x~1y/0: want no member besides those of the schema",
		`{"x/y":[{"a":"é"}]}`:                   "it does not fit the schema: #/x~1y/0/a: want ASCII characters",
		`{"n":1e0}`:                             "it does not fit the schema: #/n: want a number of at most 15 digits, without an exponent",
		`{"n":10}`:                              "it does not fit the schema: #/n breaks maximum",
		`{"x/y":[{"a":5}]}`:                     "it does not fit the schema: #/x~1y/0/a: want a value of another type",
	} {
		if _, err := s.Fit([]byte(out), nil); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", out, err, want)
		}
	}
}

// TestCanary: whatever a stranger puts wherever in a value, none of it is in an extract or in
// an error, except where the schema counts free text.
func TestCanary(t *testing.T) {
	const canary = "canary"
	hostile := []string{`"canary"`, `"2026-01-01 canary"`, `"canary@example.org"`, `"canary <bob@example.com>"`, `"bob@example.com\u0000canary"`, `["canary"]`, `{"canary":1}`, `{"a":"canary"}`,
		`{"a":1,"canary":1}`, `"2026-01-01T00:00:00Zcanary"`, `canary`, `"can\u0061ry"`, `[["canary"]]`, `[true,"canary"]`, `"canary\n"`, `"<a@b>canary"`}
	for _, c := range closed {
		for _, schema := range []string{c.schema, strings.ReplaceAll(twice, "HERE", c.schema)} {
			s, err := Parse("s", []byte(schema))
			if err != nil {
				continue // some stand only at the top, or are twice too many
			}
			for _, value := range hostile {
				for _, out := range []string{value, `{"a":` + value + `}`, `{"list":[` + value + `]}`, value + value} {
					got, err := s.Fit([]byte(out), addresses)
					if bytes.Contains(got, []byte(canary)) && s.Free < len(canary) {
						t.Errorf("%s: %s went through as %s", schema, out, got)
					}
					if err != nil && strings.Contains(err.Error(), canary) {
						t.Errorf("%s: %s is in: %v", schema, out, err)
					}
				}
			}
		}
	}
}

const twice = `{"type":"object","additionalProperties":false,"properties":{"a":HERE,"list":{"type":"array","maxItems":2,"items":HERE}}}`

// check fails unless an extract keeps what the package promises of it.
func check(t *testing.T, s *Schema, extract []byte) {
	if again, err := s.Fit(extract, addresses); err != nil || !bytes.Equal(again, extract) {
		t.Fatalf("%s: %s does not fit again: %s, %v", s.Text, extract, again, err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, extract); err != nil || !bytes.Equal(compact.Bytes(), extract) {
		t.Fatalf("%s is not compact: %v", extract, err)
	}
	var names, texts []string
	strs(&names, &names, s.Text)
	strs(&texts, &names, extract)
	free := 0
	for _, text := range texts {
		_, date := time.Parse(time.DateOnly, text)
		_, at := time.Parse("2006-01-02T15:04:05Z", text)
		switch {
		case slices.Contains(names, text), date == nil, at == nil:
		case !visible(text) || len(text) > maxAddress:
			t.Fatalf("%s: %q in %s", s.Text, text, extract)
		default:
			free += len(text)
		}
	}
	if free > s.Free {
		t.Fatalf("%s: %d bytes of free text in %s, counted as %d", s.Text, free, extract, s.Free)
	}
}

// strs collects the strings and the numbers of a JSON text, and apart from them its names.
func strs(values, names *[]string, text []byte) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var all any
	_ = d.Decode(&all)
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			*values = append(*values, v)
		case json.Number:
			s, _ := number(record.Value(v))
			*values = append(*values, s)
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for name, e := range v {
				*names = append(*names, name)
				walk(e)
			}
		}
	}
	walk(all)
}

// FuzzParse: a schema of any bytes is refused or bounded, and Fit holds what it promises under
// it.
func FuzzParse(f *testing.F) {
	for _, c := range closed {
		f.Add([]byte(c.schema), []byte(`"a"`))
		f.Add([]byte(of(c.schema)), []byte(`{"a":1}`))
	}
	for text := range open {
		f.Add([]byte(text), []byte(`["a"]`))
	}
	f.Fuzz(func(t *testing.T, schema, out []byte) {
		s, err := Parse("s", schema)
		if err != nil {
			return
		}
		if s.Free < 0 || s.Free > maxFree || len(s.Text) > len(schema) {
			t.Fatalf("%s: %+v", schema, s)
		}
		if again, err := Parse("s", s.Text); err != nil || again.Digest != s.Digest || again.Free != s.Free {
			t.Fatalf("%s is not the same schema: %v", s.Text, err)
		}
		if got, err := s.Fit(out, addresses); err == nil {
			check(t, s, got)
		}
		alike(t, s, out)
	})
}

// FuzzFit: what a reader prints, under schemas that are closed.
func FuzzFit(f *testing.F) {
	var list []*Schema
	for i, c := range fits {
		list = append(list, parsed(f, c.schema))
		f.Add(i, []byte(c.out))
	}
	list = append(list, parsed(f, string(request)))
	f.Add(len(list)-1, []byte(example))
	f.Fuzz(func(t *testing.T, i int, out []byte) {
		s := list[uint(i)%uint(len(list))]
		got, err := s.Fit(out, addresses)
		if err == nil {
			check(t, s, got)
		} else if got != nil || !errors.Is(err, errUnfit) {
			t.Fatalf("%s: %s, %v", out, got, err)
		}
		alike(t, s, out)
	})
}

const example = `{"request":"order_status","question":"When will it arrive, and can it come on Friday?","orders":["A-1234"],
 "dates":["2026-11-27"],"amounts":[{"currency":"EUR","amount":10.50}],"addresses":["bob@example.com"]}`

// TestRequest: what comes with pulse says what a mail asks for, and lets little text through.
func TestRequest(t *testing.T) {
	s := parsed(t, string(Builtin("request")))
	const want = `{"request":"order_status","question":"When will it arrive, and can it come on Friday?","orders":["A-1234"],` +
		`"dates":["2026-11-27"],"amounts":[{"amount":10.5,"currency":"EUR"}],"addresses":["Bob@Example.com"]}`
	got, err := s.Fit([]byte(example), addresses)
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	if s.Free > 1000 {
		t.Errorf("%d bytes of free text", s.Free)
	}
	for _, text := range []string{`a"b`, "a\nb", "{a}", "[a]", "a:b", "a/b", "a@b", "<a>", "`a`", `a\b`, "a'b", "a;b", "a=b", "a-b", "$a", "a|b", "é", strings.Repeat("a", 201)} {
		quoted, _ := json.Marshal(text)
		if got, err := s.Fit([]byte(`{"request":"other","question":`+string(quoted)+`}`), nil); err == nil {
			t.Errorf("%s", got)
		}
	}
	if Builtin("requests") != nil || Builtin("") != nil {
		t.Error("a schema of no name")
	}
}
