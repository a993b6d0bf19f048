package answers

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"pulse/lib/shared/approval"
)

const (
	line  = `{"pulse-approve":1,"task":"0123456789abcdef0123456789abcdef"}`
	other = `{"pulse-refuse":1}`
	armor = "-----BEGIN SSH SIGNATURE-----\nU1NIU0lH\nAAAA\n-----END SSH SIGNATURE-----\n"
)

func TestRead(t *testing.T) {
	whole := Answer{Line: []byte(line + "\n"), Armor: armor}
	at := func(a Answer, n int) Answer { a.At = n; return a }
	for name, c := range map[string]struct {
		text string
		want []Answer
		is   error
	}{
		"nothing":                {"", nil, nil},
		"other text":             {"yes\n" + armorEnd + "\n", nil, nil},
		"one":                    {line + "\n" + armor, []Answer{at(whole, 1)}, nil},
		"in a mail":              {"Subject: yes\n\n" + line + "\n\nsent from\n" + armor + "-- \nme\n", []Answer{at(whole, 3)}, nil},
		"CRLF":                   {strings.ReplaceAll("\n"+line+"\n"+armor, "\n", "\r\n"), []Answer{at(whole, 2)}, nil},
		"a byte order mark":      {"\ufeff" + line + "\n" + armor, []Answer{at(whole, 1)}, nil},
		"blanks at the ends":     {strings.ReplaceAll(line+"\n"+armor, "\n", " \t\n"), []Answer{at(whole, 1)}, nil},
		"no newline at the end":  {line + "\n" + strings.TrimSuffix(armor, "\n"), []Answer{at(whole, 1)}, nil},
		"two":                    {line + "\n" + armor + line + "\n" + armor, []Answer{at(whole, 1), at(whole, 6)}, nil},
		"quoted":                 {strings.ReplaceAll("> "+line+"\n"+armor, "\n", "\n> "), nil, nil},
		"indented":               {" " + line + "\n", nil, nil},
		"a signature alone":      {armor, []Answer{{At: 1, Armor: armor}}, errAlone},
		"two signatures":         {line + "\n" + armor + armor, []Answer{at(whole, 1), {At: 6, Armor: armor}}, errAlone},
		"no signature":           {line + "\nyes\n", []Answer{{At: 1, Line: whole.Line}}, errUnsigned},
		"unsigned, then another": {line + "\n" + other + "\n" + armor, []Answer{{At: 1, Line: whole.Line}, {At: 2, Line: []byte(other + "\n"), Armor: armor}}, errUnsigned},
		"cut off":                {line + "\n" + armor[:45], []Answer{{At: 1, Line: whole.Line, Cut: true}}, errCut},
		"cut off, then another":  {line + "\n" + armor[:45] + "\n" + line + "\n" + armor, []Answer{{At: 1, Line: whole.Line, Cut: true}, at(whole, 6)}, errCut},
		"begun twice":            {line + "\n" + armor[:39] + armor, []Answer{{At: 1, Line: whole.Line, Cut: true}, {At: 4, Armor: armor}}, errCut},
		"a hole":                 {line + "\n" + strings.Replace(armor, "AAAA", "A A", 1), []Answer{{At: 1, Line: whole.Line, Cut: true}}, errCut},
		"without an end":         {armorBegin + "\n" + strings.Repeat("AAAA\n", maxArmor), []Answer{{At: 1, Cut: true}}, errCut},
	} {
		got := slices.Collect(All([]byte(c.text)))
		if len(got) != len(c.want) {
			t.Errorf("%s: %+v", name, got)
			continue
		}
		var is error
		for i := range got {
			is = errors.Join(is, got[i].Whole())
			w := c.want[i]
			if got[i].At != w.At || !bytes.Equal(got[i].Line, w.Line) || got[i].Armor != w.Armor || got[i].Cut != w.Cut {
				t.Errorf("%s: %+v, want %+v", name, got[i], w)
			}
		}
		if !errors.Is(is, c.is) || (is == nil) != (c.is == nil) {
			t.Errorf("%s: %v, want %v", name, is, c.is)
		}
	}
}

// TestAll: however many there are, all are read.
func TestAll(t *testing.T) {
	const n = 20_000
	read := 0
	for a := range All([]byte(strings.Repeat(other+"\n", n))) {
		if read++; a.At != read {
			t.Fatalf("answer %d is at line %d", read, a.At)
		}
	}
	if read != n {
		t.Errorf("%d of %d", read, n)
	}
}

// FuzzAnswers: whatever the text, what is read of it stands in it, in its order; a signature
// is lines of base64 between the first and the last line, and all of it is bounded.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(line + "\n" + armor))
	f.Add([]byte(strings.ReplaceAll("x\n"+line+"\n"+armor+other, "\n", "\r\n")))
	f.Add([]byte(armorBegin + "\n" + armor + "> " + line))
	f.Add([]byte("\ufeff" + line + " \t\r\r\n" + armor[:40]))
	f.Fuzz(func(t *testing.T, text []byte) {
		list := slices.Collect(All(text))
		before, lines := 0, bytes.Split(bytes.TrimPrefix(text, []byte("\ufeff")), []byte("\n"))
		for _, a := range list {
			if a.At <= before || a.At > len(lines) || a.Line == nil && a.Armor == "" && !a.Cut {
				t.Fatalf("%+v after line %d", a, before)
			}
			before = a.At
			if a.Line != nil && (!bytes.HasPrefix(a.Line, []byte(approval.LineBegin)) || !bytes.HasPrefix(lines[a.At-1], bytes.TrimSuffix(a.Line, []byte("\n")))) {
				t.Errorf("line %d is not %q", a.At, a.Line)
			}
			if a.Armor == "" {
				continue
			}
			body, ok := strings.CutPrefix(a.Armor, armorBegin+"\n")
			body, end := strings.CutSuffix(body, armorEnd+"\n")
			if !ok || !end || a.Cut || strings.Trim(body, alphabet+"\n") != "" || len(a.Armor) > maxArmor+2*len(armorEnd) {
				t.Errorf("%q", a.Armor)
			}
		}
	})
}
