package peer

import (
	"strings"
	"testing"

	"pulse/lib/shared/record"
)

func TestIDs(t *testing.T) {
	for _, c := range []struct {
		json string
		want ID // empty: it is none
	}{
		{`123`, "123"},
		{`"123"`, `"123"`},
		{`-100123`, "-100123"},
		{`"-100123"`, `"-100123"`},
		{`"U024BE7LH"`, "U024BE7LH"},
		{`"u024be7lh"`, "u024be7lh"},
		{`"80351110224678912"`, `"80351110224678912"`},
		{`"99999999999999999999"`, `"99999999999999999999"`},
		{`"007"`, `"007"`},
		{`"1e3"`, "1e3"},
		{`"\u0055024"`, "U024"},
		{`9223372036854775807`, "9223372036854775807"},
		{`9223372036854775808`, ""},
		{`1e3`, ""},
		{`1.0`, ""},
		{`true`, ""},
		{`null`, ""},
		{`["U1"]`, ""},
		{`""`, ""},
		{`"U 1"`, ""},
		{`"U1:U2"`, ""},
		{`"\"1\""`, ""},
		{`"U1\n"`, ""},
		{`"` + "\u0405" + `lack"`, ""}, // a Cyrillic letter
		{`"` + "\uff35" + `1"`, ""},    // a fullwidth one
		{`"U1` + "\u200b" + `"`, ""},   // a zero-width space
		{`"` + strings.Repeat("U", 64) + `"`, ID(strings.Repeat("U", 64))},
		{`"` + strings.Repeat("U", 65) + `"`, ""},
	} {
		id, err := Decode(record.Value(c.json))
		if id != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %s, %v, want %s", c.json, id, err, c.want)
		}
		if back, err := Parse(string(id)); id != "" && (back != id || err != nil) {
			t.Errorf("%s: written %s, which is %s, %v", c.json, id, back, err)
		}
		if back, err := Decode(record.Value(id.JSON())); back != id || err != nil {
			t.Errorf("%s: in JSON %s, which is %s, %v", c.json, id.JSON(), back, err)
		}
	}
	if id, err := Decode("0"); id != "" || err != nil || id.JSON() != "0" {
		t.Errorf("0 is %s, %v", id, err)
	}
	for _, s := range []string{"", "0", "-0", `"`, `"1`, `1"`, `""`, "9223372036854775808", "a b"} {
		if id, err := Parse(s); err == nil {
			t.Errorf("%q is an id, %s", s, id)
		}
	}
	if id, err := Parse("-007"); err != nil || id != "-7" {
		t.Errorf("-007 is %s, %v", id, err)
	}
}
