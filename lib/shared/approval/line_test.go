package approval

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

// lines are statements of every kind.
func lines() map[string][]byte {
	a, g, s := signed(), signedGrant(), opened()
	s.ID = id
	text := a
	text.Text = true
	unbound := Grant{ID: id, Given: now, Expires: now.Add(time.Hour)}
	return map[string][]byte{
		"yes": a.Statement(), "text": text.Statement(), "no": a.Refusal(), "grant": g.Statement(), "any": unbound.Statement(), "session": s.Statement(),
	}
}

// TestParseLine: a line says what it was made of, and is one kind of answer.
func TestParseLine(t *testing.T) {
	for kind, line := range lines() {
		l, err := ParseLine(line)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		got, of := []byte(nil), ""
		switch {
		case l.Approval != nil && l.No:
			got, of = l.Approval.Refusal(), "no"
		case l.Approval != nil && l.Approval.Text:
			got, of = l.Approval.Statement(), "text"
		case l.Approval != nil:
			got, of = l.Approval.Statement(), "yes"
		case l.Grant != nil && l.Grant.Target == "":
			got, of = l.Grant.Statement(), "any"
		case l.Grant != nil:
			got, of = l.Grant.Statement(), "grant"
		case l.Session != nil && l.Session.Left == l.Session.Max:
			got, of = l.Session.Statement(), "session"
		}
		if of != kind || !bytes.Equal(got, line) || !strings.HasPrefix(string(line), LineBegin) {
			t.Errorf("%s is %s:\n%s\n%s", kind, of, line, got)
		}
	}
}

// TestLinesOfOthers: what says the same in other bytes is not a statement, because nobody
// can have been asked to sign it.
func TestLinesOfOthers(t *testing.T) {
	for name, change := range map[string]func(string) string{
		"no newline":         func(s string) string { return strings.TrimSuffix(s, "\n") },
		"two":                func(s string) string { return s + "\n" },
		"CRLF":               func(s string) string { return strings.TrimSuffix(s, "\n") + "\r\n" },
		"a blank before":     func(s string) string { return " " + s },
		"a blank in it":      func(s string) string { return strings.Replace(s, ",", ", ", 1) },
		"another version":    func(s string) string { return strings.Replace(s, ":1,", ":2,", 1) },
		"another number":     func(s string) string { return strings.Replace(s, ":1,", ":1.0,", 1) },
		"another zone":       func(s string) string { return strings.Replace(s, "07:00:00Z", "07:00:00+00:00", 1) },
		"a fraction":         func(s string) string { return strings.Replace(s, "07:00:00Z", "07:00:00.1Z", 1) },
		"one member more":    func(s string) string { return strings.Replace(s, ":1,", `:1,"more":1,`, 1) },
		"one at the end":     func(s string) string { return strings.Replace(s, "}\n", `,"x":{}}`+"\n", 1) },
		"one twice":          func(s string) string { return strings.Replace(s, "}\n", `,"expires":"2026-11-21T08:00:00Z"}`+"\n", 1) },
		"two kinds":          func(s string) string { return strings.Replace(s, ":1,", `:1,"pulse-grant":1,`, 1) },
		"escaped":            func(s string) string { return strings.Replace(s, "pulse", `p\u0075lse`, 1) },
		"another first":      func(s string) string { return strings.Replace(s, "pulse-", "PULSE-", 1) },
		"cut":                func(s string) string { return s[:len(s)/2] },
		"a list":             func(s string) string { return "[" + strings.TrimSuffix(s, "\n") + "]\n" },
		"a target of a list": func(s string) string { return strings.Replace(s, `"target":"`, `"target":["`, 1) },
	} {
		for kind, line := range lines() {
			bad := change(string(line))
			if l, err := ParseLine([]byte(bad)); bad != string(line) && (!errors.Is(err, errLine) || l != (Line{})) {
				t.Errorf("%s, %s: %+v, %v", kind, name, l, err)
			}
		}
	}
}

// FuzzParseLine: what is a line is written again as the same bytes.
func FuzzParseLine(f *testing.F) {
	for _, line := range lines() {
		f.Add(line)
	}
	f.Add([]byte("{\"pulse-approve\":1,\"target\":null}\n"))
	f.Add([]byte("{\"pulse-grant\":1,\"target\":[],\"task\":null}\n"))
	f.Fuzz(func(t *testing.T, line []byte) {
		l, err := ParseLine(line)
		if err != nil {
			if l != (Line{}) {
				t.Error("a line beside an error")
			}
			return
		}
		var again []byte
		switch {
		case l.Approval != nil && l.No:
			again = l.Approval.Refusal()
		case l.Approval != nil:
			again = l.Approval.Statement()
		case l.Grant != nil:
			again = l.Grant.Statement()
		case l.Session != nil:
			again = l.Session.Statement()
		}
		if !bytes.Equal(again, line) {
			t.Errorf("%q became %q", line, again)
		}
	})
}
