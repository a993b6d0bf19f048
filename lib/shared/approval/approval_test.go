package approval

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pulse/lib/shared/address"
	"pulse/lib/shared/record"
)

var now = time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)

func grant(id, target, task string) Grant {
	return Grant{ID: id, Target: target, Task: task, Given: now, Expires: now.Add(time.Hour)}
}

func TestMatchTakesTheMostSpecific(t *testing.T) {
	all := []Grant{grant("both", "bob@x.example", "t"), grant("target", "bob@x.example", ""), grant("task", "", "t"), grant("any", "", "")}
	// The order of the list makes no difference.
	for i := range 24 {
		left := slices.Clone(all)
		for j, k := 0, i; j < 4; j++ {
			left[j], left[j+k%(4-j)] = left[j+k%(4-j)], left[j]
			k /= 4 - j
		}
		for _, want := range []string{"both", "target", "task", "any"} {
			g, ok := Match(left, "BOB@x.example", address.Equal, now, "t")
			if !ok || g.ID != want {
				t.Fatalf("%v: %s, want %s", left, g.ID, want)
			}
			left = slices.DeleteFunc(left, func(g Grant) bool { return g.ID == want })
		}
		if g, ok := Match(left, "bob@x.example", address.Equal, now, "t"); ok {
			t.Errorf("%+v, and there was no grant", g)
		}
	}
}

func TestMatch(t *testing.T) {
	expired, older := grant("expired", "bob@x.example", ""), grant("older", "", "")
	expired.Expires = now
	older.Given = now.Add(-time.Minute)
	for _, c := range []struct {
		grants       []Grant
		target, task string
		want         string
	}{
		{[]Grant{grant("g", "", "t")}, "bob@x.example", "", ""},
		{[]Grant{grant("g", "", "t")}, "bob@x.example", "u", ""},
		{[]Grant{grant("g", "bob@x.example", "t")}, "bob@x.example", "", ""},
		{[]Grant{grant("g", "bob@x.example", "")}, "eve@x.example", "t", ""},
		{[]Grant{grant("g", "bob@x.example", "")}, "bob@x.example\u212a", "", ""},
		{[]Grant{grant("g", "k@x.example", "")}, "\u212a@x.example", "", ""},
		{[]Grant{grant("g", "@x.example", "")}, "bob@x.example", "", ""}, // a grant is for one target
		{[]Grant{expired}, "bob@x.example", "", ""},
		{[]Grant{expired, grant("any", "", "")}, "bob@x.example", "", "any"},
		{[]Grant{grant("newer", "", ""), older}, "bob@x.example", "", "older"},
		{[]Grant{grant("g", "", "")}, "", "", "g"},
		{nil, "bob@x.example", "t", ""},
	} {
		g, ok := Match(c.grants, c.target, address.Equal, now, c.task)
		if g.ID != c.want || ok != (c.want != "") {
			t.Errorf("%+v for %q, %q: %q, want %q", c.grants, c.target, c.task, g.ID, c.want)
		}
	}
}

func TestGood(t *testing.T) {
	a := Approval{Digest: "d", Level: User, Holder: "uid 1", Expires: now.Add(time.Second)}
	for _, c := range []struct {
		digest  string
		require Level
		now     time.Time
		want    bool
	}{
		{"d", Terminal, now, true}, {"d", User, now, true}, {"d", Signature, now, false},
		{"e", Terminal, now, false}, {"", Terminal, now, false},
		{"d", Terminal, now.Add(time.Second), false}, {"d", Terminal, now.Add(time.Hour), false},
	} {
		if err := a.Good(c.digest, c.require, c.now); (err == nil) != c.want {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for _, level := range []Level{"", "root", "Terminal"} {
		a.Level = level
		if a.Good("d", Terminal, now) == nil {
			t.Errorf("level %q is good", level)
		}
	}
	a.Level = Signature
	if a.Good("d", "retina", now) == nil {
		t.Error("good for a requirement that does not exist")
	}
}

func TestRoundTrip(t *testing.T) {
	for _, g := range []Grant{grant("a", "bob@x.example\n", "t"), grant("b", "", "")} {
		if got, err := DecodeGrant(record.Value(g.Append(nil))); err != nil || got != g {
			t.Errorf("%+v, %v", got, err)
		}
	}
	for _, bad := range []string{`{}`, `{"any":false}`, `{"any":true,"target":"x"}`, `{"any":"true"}`, `[]`} {
		if g, err := DecodeGrant(record.Value(bad)); err == nil {
			t.Errorf("%s: %+v", bad, g)
		}
	}
	a := Approval{Task: "t", Digest: "d", Target: []string{"x", "y"}, By: "me", Level: Terminal, Nonce: Nonce(), Given: now, Expires: now}
	got, err := Decode(record.Value(a.Append(nil)))
	if err != nil || fmt.Sprint(got) != fmt.Sprint(a) {
		t.Errorf("%+v, %v", got, err)
	}
}
