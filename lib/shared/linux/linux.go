// Package linux is imported by what can't be built elsewhere, so that go build says why in one line.
package linux
