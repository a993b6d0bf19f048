package pins

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pulse/lib/shared/record"
)

func read(t testing.TB, text string) Tool {
	t.Helper()
	v, err := record.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	tool, err := Read(v)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func TestRead(t *testing.T) {
	a := read(t, `{"name":"a","description":"\u0061<\u2028","inputSchema":{"x":1,"y":[1.0,{"b":null,"a":true}]}}`)
	b := read(t, ` { "inputSchema" : {"y":[1.0, {"a":true,"b":null}], "x":1}, "description":"a<`+"\u2028"+`", "n\u0061me":"a" } `)
	if a != b || len(Differ(a, b)) > 0 || len(a.SHA256) != 64 {
		t.Errorf("%+v, %+v", a, b)
	}
	for _, other := range []string{
		`{"name":"a","description":"a<\u2028","inputSchema":{"x":1.0,"y":[1.0,{"b":null,"a":true}]}}`, `{"name":"a","description":"a<\u2028 ","inputSchema":{"x":1,"y":[1.0,{"b":null,"a":true}]}}`,
		`{"name":"a","description":"a<\u2028","inputSchema":{"x":1,"y":[{"b":null,"a":true},1.0]}}`, `{"name":"a","description":"a<\u2028","inputSchema":{"x":1,"y":[1.0,{"b":null,"a":true}]},"annotations":{}}`,
	} {
		if b := read(t, other); a.SHA256 == b.SHA256 || len(Differ(a, b)) != 1 {
			t.Error(other)
		}
	}
	for _, bad := range []string{`{}`, `{"name":1}`, `{"name":""}`, `{"name":"a b"}`, `{"name":"a\u0000"}`, `{"Name":"a"}`, `[]`, `1`, `{"name":"` + strings.Repeat("x", 129) + `"}`} {
		if _, err := Read(record.Value(bad)); !errors.Is(err, errTool) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestServerName(t *testing.T) {
	for name, want := range map[string]string{"Notes": "notes", "a-b_1": "a-b_1", "a__b": "", "": "", "_a": "", "a.b": "", "a/b": "", "\u212a": "", strings.Repeat("x", 41): ""} {
		if lower, ok := ServerName(name); ok != (want != "") || ok && lower != want {
			t.Errorf("%q: %q, %t", name, lower, ok)
		}
	}
}

func TestCompare(t *testing.T) {
	server := func(list ...string) *Server {
		s := &Server{}
		for _, text := range list {
			if err := s.Add(read(t, text)); err != nil {
				t.Fatal(err)
			}
		}
		return s
	}
	old := server(`{"name":"a"}`, `{"name":"b"}`, `{"name":"c"}`)
	now := server(`{"name":"d"}`, `{"name":"b","description":"x"}`, `{"name":"a"}`)
	var got []string
	for _, c := range Compare(old, now) {
		switch {
		case c.Old == nil:
			got = append(got, "+"+c.Now.Name)
		case c.Now == nil:
			got = append(got, "-"+c.Old.Name)
		default:
			got = append(got, c.Old.Name)
		}
	}
	if strings.Join(got, " ") != "b -c +d" || len(Compare(nil, now)) != 3 || len(Compare(now, now)) != 0 {
		t.Error(got)
	}
	if now.Changed(read(t, `{"name":"B"}`)) == "" || now.Changed(read(t, `{"name":"a"}`)) != "" {
		t.Error("changed")
	}
}

// FuzzLines: what both have and what only one has are the two texts again.
func FuzzLines(f *testing.F) {
	f.Add("a\nb\nc", "a\nx\nc\nd")
	f.Add("", "")
	f.Add("x", "")
	f.Fuzz(func(t *testing.T, a, b string) {
		old, now := strings.Split(a, "\n"), strings.Split(b, "\n")
		if len(old)*len(now) > 10000 {
			return
		}
		var was, is []string
		for _, l := range Lines(old, now) {
			if l[0] != '+' {
				was = append(was, l[2:])
			}
			if l[0] != '-' {
				is = append(is, l[2:])
			}
		}
		if !slices.Equal(was, old) || !slices.Equal(is, now) {
			t.Errorf("%q, %q: %q", old, now, Lines(old, now))
		}
	})
}
