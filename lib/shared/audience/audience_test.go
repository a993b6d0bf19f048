package audience_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pulse/lib/shared/address"
	"pulse/lib/shared/audience"
	"pulse/lib/shared/record"
)

func TestAudience(t *testing.T) {
	both := audience.Of("Ann@x.example", "bob@x.example", "ann@X.example", "Ann <eve@x.example>", "telegram:42", "eve%x@x.example", "")
	if got := both.String(); got != "ann@x.example, bob@x.example" {
		t.Errorf("of: %s", got)
	}
	for _, c := range []struct {
		a, b audience.Audience
		want string
	}{
		{both, audience.Of("BOB@x.example", "eve@x.example"), "bob@x.example"},
		{both, audience.Anyone, "ann@x.example, bob@x.example"},
		{both, audience.Audience{}, "nobody"},
		{both, audience.Of("eve@x.example"), "nobody"},
		{audience.Anyone, audience.Anyone, "anyone"},
		{audience.Anyone, audience.Audience{}, "nobody"},
	} {
		for _, got := range []audience.Audience{c.a.Intersect(c.b), c.b.Intersect(c.a)} {
			if got.String() != c.want {
				t.Errorf("%v and %v: %v, want %s", c.a, c.b, got, c.want)
			}
		}
	}
	targets := []string{"BOB@x.example", "eve@x.example", "bob@x.example ", "telegram:42", "@x.example"}
	if out := both.Beyond(targets); !slices.Equal(out, targets[1:]) {
		t.Errorf("beyond: %q", out)
	}
	if out := audience.Anyone.Beyond(targets); out != nil {
		t.Errorf("beyond anyone: %q", out)
	}
}

// TestMany: of more addresses than an audience holds the rest is left out, and a record that has
// more is bad.
func TestMany(t *testing.T) {
	var list []string
	for i := range audience.Max + 1 {
		list = append(list, fmt.Sprintf("a%03d@x.example", i))
	}
	if out := audience.Of(list...).Beyond(list); len(out) != 1 {
		t.Errorf("beyond: %q", out)
	}
	if _, err := audience.Decode(record.Value(`["` + strings.Join(list, `","`) + `"]`)); err == nil {
		t.Error("a record may have more than Max")
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{`"anyone"`, `"Anyone"`, `[]`, `["ann@x.example","BOB@x.example","ann@x.example"]`, `["@x.example"]`, `[1]`, `{}`, `null`, `["a%b@x.example"]`, `"nobody"`} {
		f.Add(s, "ann@x.example")
	}
	f.Fuzz(func(t *testing.T, s, target string) {
		rec, err := record.Parse([]byte(`{"a":` + s + `}`))
		if err != nil || !rec.Has("a") {
			return
		}
		v, _ := rec.Get("a")
		a, err := audience.Decode(v)
		if err != nil {
			if a.String() != "nobody" {
				t.Errorf("%s: %v, and it has %v", s, err, a)
			}
			return
		}
		again, err := audience.Decode(record.Value(a.Append(nil)))
		if err != nil || again.String() != a.String() {
			t.Errorf("%s: %v, and again %v, %v", s, a, again, err)
		}
		if a.String() == "anyone" {
			return
		}
		if len(a.Beyond([]string{target})) == 0 && !strings.Contains(address.Fold(s), address.Fold(target)) && !strings.Contains(s, `\`) {
			t.Errorf("%s has %q", s, target)
		}
		if b := audience.Of(target); a.Intersect(b).Beyond([]string{target}) == nil && a.Beyond([]string{target}) != nil {
			t.Errorf("%s grew by %q", s, target)
		}
	})
}
