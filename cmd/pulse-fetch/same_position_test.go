package main

import (
	"errors"
	"testing"

	"pulse/lib/fetch/source"
)

// TestUnavailableAtOnePosition: two messages of one position are two tasks, and each is the same
// one in the next run.
func TestUnavailableAtOnePosition(t *testing.T) {
	w := writer{warn: func(string, ...any) {}}
	id := func(name string) string {
		m := w.parse(&source.Message{Source: "gmail:me@example.com/INBOX", Name: name, UIDValidity: 2, UID: 9, Unavailable: errors.New("x")})
		return m.ID
	}
	one, again, other := id("18c1"), id("18c1"), id("18c2")
	if one != again || one == other || one == id("") {
		t.Errorf("%s, %s, %s", one, again, other)
	}
}
