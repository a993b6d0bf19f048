package trace

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLog(t *testing.T) {
	var nobody *Log
	nobody.Skip("a", NotAsked) // takes nothing
	nobody.Amend("a", "x", "y")

	var l Log
	l.Add("a", Step{Saw: strings.Repeat("é", maxSaw), Key: "owners"}, "")
	l.Add("b", Step{Saw: "x", Check: "y", Result: "z"}, "bad")
	l.Skip("c", NotReached)
	if s := l.Steps[0]; s.Result != OK || s.Key != "owners" || len(s.Saw) > maxSaw+3 || !utf8.ValidString(s.Saw) {
		t.Errorf("%+v", s)
	}
	if l.Steps[1] != (Step{Check: "b", Saw: "x", Result: "bad"}) || l.Steps[2] != (Step{Check: "c", Result: NotReached}) {
		t.Errorf("%+v", l.Steps[1:])
	}
	if l.Amend("b", ", v", "worse"); l.Steps[1] != (Step{Check: "b", Saw: "x, v", Result: "worse"}) {
		t.Errorf("%+v", l.Steps[1])
	}
}
