package schema

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// of wraps the schema of one member.
func of(schema string) string {
	return `{"type":"object","additionalProperties":false,"properties":{"a":` + schema + `}}`
}

// closed are schemas that are closed, and the bytes of free text that they let through.
var closed = []struct {
	schema string
	free   int
}{
	{`{"type":"boolean"}`, 0},
	{`{"const":"x"}`, 0},
	{`{"enum":["é",1,-0.5,true,null]}`, 0},
	{`{"type":["string","null"],"enum":["x",null]}`, 0},
	{`{"type":"string","format":"date"}`, 0},
	{`{"type":["string","null"],"format":"date-time","maxLength":30}`, 0},
	{`{"type":"string","format":"message-id"}`, 250},
	{`{"type":"string","format":"record-address"}`, 254},
	{`{"type":"array","maxItems":100,"items":{"type":"string","format":"record-address"}}`, 500},
	{`{"type":"integer","minimum":0,"maximum":9}`, 1},
	{`{"type":"integer","minimum":-10,"maximum":9.5,"multipleOf":2}`, 3},
	{`{"type":"number","minimum":0,"maximum":1}`, 17},
	{`{"type":["null","integer"],"exclusiveMinimum":0,"exclusiveMaximum":100}`, 3},
	{`{"type":"number","minimum":0,"maximum":100,"multipleOf":5}`, 3},
	{`{"type":"number","minimum":0,"maximum":99.5,"multipleOf":0.010}`, 5},
	{`{"type":"string","pattern":"^[A-Z]*$","maxLength":200}`, 200},
	{`{"type":"string","pattern":"^[A-Z]{2}-\\d{1,8}x?$","maxLength":200}`, 12},
	{`{"type":"string","format":"date","pattern":"^2026-[0-9-]+$","maxLength":10}`, 0},
	{`{"type":"string","format":"message-id","pattern":"^<[a-z@.]+>$","minLength":99,"maxLength":99}`, 250},
	{`{"type":"integer","minimum":0,"maximum":999999999999999}`, 15},
	{`{"type":"array","minItems":1,"maxItems":1,"items":{"const":1}}`, 0},
	{`{"type":"array","maxItems":0,"items":{"const":1}}`, 0},
	{`{"type":"array","maxItems":37,"items":{"type":"array","maxItems":26,"items":{"enum":["a","b"," "]}}}`, 0},
	{`{"type":"array","maxItems":9,"items":{"type":"array","maxItems":100,"items":{"enum":["a","b"," "]}}}`, 0},
	{`{"type":"string","pattern":"^[ -~]{3,}$","minLength":3,"maxLength":7}`, 7},
	{`{"type":"string","pattern":"^$","maxLength":200}`, 0},
	{`{"type":"array","maxItems":10,"minItems":1,"uniqueItems":true,"items":{"type":"string","pattern":"^[a-z]*$","maxLength":200}}`, 2000},
	{`{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://example.com/x","$comment":"c","title":"t","description":"d","examples":[{}],"$defs":{"d":{"type":"string","pattern":"^a{9}$","maxLength":9}},` +
		`"type":"object","additionalProperties":false,"required":["x~/"],"properties":{"x~/":{"$ref":"#/$defs/d","title":"t"},"y":{"$ref":"#/$defs/d"}}}`, 18},
	{`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"type":"boolean"}}}`, 0},
}

func TestClosed(t *testing.T) {
	for _, c := range closed {
		s, err := Parse("s", []byte(c.schema))
		if err != nil || s.Free != c.free || !strings.HasPrefix(s.Digest, "sha256:") {
			t.Errorf("%s: %+v, %v, want %d", c.schema, s, err, c.free)
		}
	}
}

// Blanks make no other schema, words do.
func TestDigest(t *testing.T) {
	digest := func(text string) string {
		s, err := Parse("s", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return s.Digest
	}
	if a := digest(`{"const":"a b"}`); a != digest("\n{ \"const\":\t\"a b\" }\r\n") || a == digest(`{"const":"a  b"}`) {
		t.Error(a)
	}
}

// open are schemas that are not closed, each in a way of its own, with what is said.
var open = map[string]string{
	``:                          "not valid JSON",
	`{"const":1}{}`:             "not valid JSON",
	`{"const":1,"const":2}`:     "duplicate member name",
	"{\"const\":\"\xff\"}":      "not valid UTF-8",
	`true`:                      "#: wrong type, want an object",
	`[]`:                        "#: wrong type, want an object",
	`{}`:                        "#: want type, enum or const",
	`{"const":1,"title":1}`:     "#/title: not as draft 2020-12 has it (type)",
	`{"const":1,"default":"x"}`: "#/default: unknown keyword, want title, description, $comment, examples, type, enum, const, $schema, $id, $defs",
	`{"const":1,"x-y":1}`:       "#/x-y: unknown keyword",
	`{"const":1,"$schema":"http://json-schema.org/draft-07/schema#"}`: "#/$schema: want https://json-schema.org/draft/2020-12/schema",
	`{"const":1,"$id":1}`:                             "#/$id: wrong type",
	`{"const":1,"$defs":[]}`:                          "#/$defs: wrong type",
	`{"const":1,"$vocabulary":{}}`:                    "#/$vocabulary: unknown keyword",
	`{"const":1,"examples":1}`:                        "#/examples: not as draft 2020-12 has it (type)",
	`{"const":{}}`:                                    "#/const: want a string, a number, true, false or null",
	`{"enum":["a",["b"]]}`:                            "#/enum/1: want a string, a number",
	`{"enum":[1e400]}`:                                "#/enum/0: want a number of at most 15 digits",
	`{"enum":[]}`:                                     "#/enum: want a list of words",
	`{"enum":"a"}`:                                    "#/enum: want a list of words",
	`{"enum":["a"],"pattern":"^a$"}`:                  "#/pattern: unknown keyword",
	`{"type":"null"}`:                                 "#/type: want object, array",
	`{"type":""}`:                                     "#/type: want object, array",
	`{"type":[]}`:                                     "#: want type",
	`{"type":["string","integer"]}`:                   "#/type: want object, array",
	`{"type":["null","null"]}`:                        "#/type: want object, array",
	`{"type":["string","integer","null"],"enum":[1]}`: "#/type: want object, array",
	`{"type":["boolean",1]}`:                          "#/type: [1]: wrong type, want a string",
	`{"type":"string"}`:                               "#: it lets any text through",
	`{"type":"string","maxLength":9}`:                 "#: it lets any text through",
	`{"type":"string","format":"email"}`:              "#/format: want date, date-time, record-address, message-id",
	`{"type":"string","format":"uri","pattern":"^a$","maxLength":1}`:                                        "#/format: want date",
	`{"type":"string","pattern":"^a$"}`:                                                                     "#: want maxLength beside pattern, at most 200",
	`{"type":"string","pattern":"^a$","maxLength":201}`:                                                     "#: want maxLength beside pattern, at most 200",
	`{"type":"string","pattern":"^a$","maxLength":-1}`:                                                      "#/minLength: want 0 to maxLength",
	`{"type":"string","pattern":"^a$","maxLength":1e9}`:                                                     "#/maxLength: wrong type, want a whole number",
	`{"type":"string","format":"date","contentEncoding":"base64"}`:                                          "#/contentEncoding: unknown keyword",
	`{"type":"string","pattern":"^.*$","maxLength":9}`:                                                      "#/pattern: . is not known here",
	`{"type":"string","pattern":"[a-z]","maxLength":9}`:                                                     "#/pattern: want ^ at its beginning",
	`{"type":"string","format":"date","pattern":"^(a)$","maxLength":9}`:                                     "#/pattern: ( is not known here",
	`{"type":"string","pattern":1,"maxLength":9}`:                                                           "#/pattern: wrong type",
	`{"type":"string","pattern":"^a$","minLength":-1,"maxLength":9}`:                                        "#/minLength: want 0 to maxLength",
	`{"type":"string","pattern":"^a$","minLength":10,"maxLength":9}`:                                        "#/minLength: want 0 to maxLength",
	`{"type":"integer","minimum":0}`:                                                                        "#: want minimum and maximum",
	`{"type":"number","maximum":0}`:                                                                         "#: want minimum and maximum",
	`{"type":"number","minimum":0,"exclusiveMinimum":9}`:                                                    "#: want minimum and maximum",
	`{"type":"number","minimum":0,"maximum":1e15}`:                                                          "#/maximum: want a number of at most 15 digits",
	`{"type":"integer","minimum":0,"maximum":1000000000000000}`:                                             "#/maximum: want a number of at most 15 digits",
	`{"type":"number","minimum":"0","maximum":1}`:                                                           "#/minimum: want a number",
	`{"type":"number","minimum":0,"maximum":1,"multipleOf":0}`:                                              "#/multipleOf: want more than 0",
	`{"type":"array","items":{"const":1}}`:                                                                  "#: want maxItems, at most 100",
	`{"type":"array","maxItems":101,"items":{"const":1}}`:                                                   "#: want maxItems, at most 100",
	`{"type":"array","maxItems":1}`:                                                                         "#: want items",
	`{"type":"array","maxItems":1,"items":{}}`:                                                              "#/items: want type, enum or const",
	`{"type":"array","maxItems":1,"items":true}`:                                                            "#/items: wrong type, want an object",
	`{"type":"array","maxItems":1,"items":{"const":1},"prefixItems":[]}`:                                    "#/prefixItems: unknown keyword",
	`{"type":"array","maxItems":1,"items":{"const":1},"contains":{}}`:                                       "#/contains: unknown keyword",
	`{"type":"array","maxItems":1,"minItems":2,"items":{"const":1}}`:                                        "#/minItems: want 0 to maxItems",
	`{"type":"object","properties":{}}`:                                                                     `#: want "additionalProperties": false`,
	`{"type":"object","properties":{},"additionalProperties":true}`:                                         `#: want "additionalProperties": false`,
	`{"type":"object","properties":{},"additionalProperties":{}}`:                                           "#/additionalProperties: wrong type",
	`{"type":"object","properties":{},"unevaluatedProperties":false}`:                                       "#/unevaluatedProperties: unknown keyword",
	`{"type":"object","additionalProperties":false,"patternProperties":{}}`:                                 "#/patternProperties: unknown keyword",
	`{"type":"object","additionalProperties":false,"propertyNames":{}}`:                                     "#/propertyNames: unknown keyword",
	`{"type":"object","additionalProperties":false}`:                                                        "#: want properties",
	`{"type":"object","additionalProperties":false,"properties":[]}`:                                        "#/properties: wrong type",
	`{"type":"object","additionalProperties":false,"properties":{"a/~b":1}}`:                                "#/properties/a~1~0b: wrong type",
	`{"type":"object","additionalProperties":false,"properties":{},"required":["b"]}`:                       "#/required/0: want the name of one of properties",
	`{"type":"object","additionalProperties":false,"properties":{},"required":[1]}`:                         "#/required: [0]: wrong type, want a string",
	`{"anyOf":[{"const":1},{"type":"string"}]}`:                                                             "#: want type, enum or const",
	`{"const":1,"allOf":[]}`:                                                                                "#/allOf: unknown keyword",
	`{"const":1,"not":{}}`:                                                                                  "#/not: unknown keyword",
	`{"const":1,"if":{}}`:                                                                                   "#/if: unknown keyword",
	`{"$dynamicRef":"#x"}`:                                                                                  "#: want type, enum or const",
	`{"const":1,"$anchor":"x"}`:                                                                             "#/$anchor: unknown keyword",
	`{"$ref":"#"}`:                                                                                          "#/$ref: want #/$defs/NAME",
	`{"$ref":"https://example.com/s"}`:                                                                      "#/$ref: want #/$defs/NAME",
	`{"$ref":"file:///etc/passwd"}`:                                                                         "#/$ref: want #/$defs/NAME",
	`{"$ref":"#/$defs/a"}`:                                                                                  "#/$ref: want #/$defs/NAME",
	`{"$ref":1}`:                                                                                            "#/$ref: wrong type",
	`{"$ref":"#/$defs/a","type":"string","$defs":{"a":{"const":1}}}`:                                        "#/type: unknown keyword",
	`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`:                      "#/$defs/b/$ref: want no reference to what it stands in",
	`{"$ref":"#/$defs/a","$defs":{"a":{"type":"array","maxItems":1,"items":{"$ref":"#/$defs/a"}}}}`:         "#/$defs/a/items/$ref: want no reference to what it stands in",
	`{"$ref":"#/$defs/a","$defs":{"a":{"const":1,"$id":"x"}}}`:                                              "#/$defs/a/$id: unknown keyword",
	`{"const":1,"$defs":{"a":{"type":"string"}}}`:                                                           "#/$defs/a: it lets any text through",
	`{"type":"array","maxItems":11,"items":{"type":"string","pattern":"^[a-z]*$","maxLength":200}}`:         "#: it lets 2200 bytes of free text through: want at most 2000",
	`{"type":"array","maxItems":9,"items":{"type":"string","format":"message-id"}}`:                         "#: it lets 2250 bytes of free text through",
	`{"type":"array","maxItems":100,"items":{"type":"array","maxItems":10,"items":{"enum":["a","b"," "]}}}`: "#: it lets 1101 values through: want at most 1000",
	`{"type":"array","maxItems":100,"items":{"type":"number","minimum":0,"maximum":1,"multipleOf":0.0000000000000000000000000000001}}`: "#/items/multipleOf: want a number of at most 15 digits",
}

// TestOpen: what is not closed is refused, with its place and what to write, alone and below.
func TestOpen(t *testing.T) {
	for text, want := range open {
		if _, err := Parse("s", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), "s: "+want) {
			t.Errorf("%s:\n got %v\nwant s: %s", text, err, want)
		}
		if _, err := Parse("s", []byte(of(text))); err == nil {
			t.Errorf("%s is taken for closed below another", text)
		}
	}
}

// TestLarge: a small file that stands for a large schema, and a large one, are refused before
// they take time.
func TestLarge(t *testing.T) {
	var defs strings.Builder
	for i := range 40 {
		fmt.Fprintf(&defs, `"d%d":{"type":"object","additionalProperties":false,"properties":{"a":{"$ref":"#/$defs/d%[2]d"},"b":{"$ref":"#/$defs/d%[2]d"}}},`, i, i+1)
	}
	deep := `{"const":1}`
	for range maxDepth + 1 {
		deep = of(deep)
	}
	arrays := `{"const":1}`
	for range 20 {
		arrays = `{"type":"array","maxItems":100,"items":` + arrays + `}`
	}
	for text, want := range map[string]string{
		`{"$ref":"#/$defs/d0","$defs":{` + defs.String() + `"d40":{"const":1}}}`: "want less: at most 1000 values, and 32 of them in each other",
		deep:                      "want less: at most 1000 values, and 32 of them in each other",
		arrays:                    "it lets 16777216 values through",
		strings.Repeat(`[`, 5000): "nested too deeply",
		`{"const":1}` + strings.Repeat(" ", MaxSize): "it has more than 65536 bytes",
	} {
		if _, err := Parse("s", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", text, err, want)
		}
	}
}

func TestPatterns(t *testing.T) {
	for text, want := range map[string]int{
		`^$`: 0, `^a$`: 1, `^ab?c{3}$`: 5, `^[a-z]+$`: 200, `^a*b{0,7}$`: 200, `^[a-zA-Z0-9 ,.?-]{1,80}$`: 80, `^\d\w\.\^[\]\\\-]$`: 5,
		`^[-a][a-][+-.]$`: 3, `^a{3,}$`: 200, `^[\d_.-]{2,4}$`: 4, `^-/!"#%&',:;<=>@_~ $`: 18,
	} {
		if got, err := longest(text); got != max(want, 0) || (err == nil) != (want >= 0) {
			t.Errorf("%s: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{
		``, `^`, `$`, `a`, `a$`, `^a`, `^a\$`, `^.$`, `^.*$`, `^[^a]$`, `^[]a]$`, `^[]$`, `^[a$`, `^a]$`, `^a|b$`, `^(a)$`, `^(?i)a$`, `(?s)^a$`, `(?m)^a$`, `^a$\n`,
		`^a$b$`, `^^a$`, `^\s$`, `^\S$`, `^\W$`, `^\D$`, `^\pL$`, `^\p{L}$`, `^\x41$`, `^\u0041$`, `^\n$`, `^\b$`, `^\B$`, `^\z$`, `^\Q.\E$`, `^\1$`, `^\$`,
		"^\n$", "^a$\n", "^\x00$", "^[\n]$", "^é$", "^[à-é]$", "^[a-é]$", "^\x7f$", `^[[:alpha:]]$`, `^[a[b]]$`, `^[z-a]$`, `^[\d-x]$`, `^[a-\d]$`, `^[\s]$`, `^[\n]$`, `^[\u0041]$`, `^[a\$`,
		`^*$`, `^a**$`, `^a+?$`, `^a??$`, `^a{1}{2}$`, `^a{$`, `^a{}$`, `^a{,3}$`, `^a{3,1}$`, `^a{201}$`, `^a{-1}$`, `^a{+1}$`, `^a{1,999}$`, `^a{ 1}$`, `^a{1}}$`, `^{1}$`, `^?$`, `^[a-z&&[^b]]$`,
	} {
		if n, err := longest(text); err == nil {
			t.Errorf("%q is taken for a closed pattern, of %d", text, n)
		}
	}
}

// FuzzPattern: a text that fits a pattern, as Go reads it, has printable ASCII characters
// only, and no more of them than counted; with a line end more it does not fit.
func FuzzPattern(f *testing.F) {
	for _, s := range []string{`^[a-z]{2}-\d?$`, `^a*b{0,7}$`, `^[-a][a-][+-.]$`, `^[\d_.-]{2,4}$`, `^-/!"$`, `^[ -~]+$`, `^a{3,}x$`} {
		f.Add(s, "ab-1", "aaab")
	}
	f.Fuzz(func(t *testing.T, pattern, text, other string) {
		n, err := longest(pattern)
		if err != nil {
			return
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			t.Fatalf("%q: %v", pattern, err)
		}
		for _, s := range []string{text, other, text + other, strings.Repeat(text, 9)} {
			if re.MatchString(s) && (!visible(s) || len(s) > n && n < maxLength) || re.MatchString(s+"\n") || re.MatchString("\n"+s) {
				t.Errorf("%q fits %q, of at most %d", s, pattern, n)
			}
		}
	})
}
