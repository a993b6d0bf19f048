package explain

import (
	"slices"
	"strings"
	"testing"
)

// TestLess: of what is allowed one line says what would let less through, and Brief says
// nothing. The lines of one new table name it as new once.
func TestLess(t *testing.T) {
	p := parse(t, "owners = [\"me@example.com\"]\n")
	rec := parsed(t, []byte(`{"request":{"action":"write_local"},"identity":{"sender":"me@example.com","trust":"owner_verified_email","via":"agent","parent":"p","stale":false,"automatic":false,"verified":true}}`))
	s, err := Read(rec, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	x := Of(s)
	lines := x.Lines()
	less := func(l string) bool { return strings.HasPrefix(l, "to ") }
	last := lines[len(lines)-1]
	if x.Decision.Outcome != "allow" || slices.IndexFunc(lines, less) != len(lines)-1 || len(x.OfPolicy) != 1 {
		t.Errorf("%q", lines)
	}
	if strings.Count(last, "in a new [matrix.") != 1 || strings.Count(last, "in the same [matrix.") != len(x.OfPolicy[0].Edits)-1 || len(x.OfPolicy[0].Edits) < 2 {
		t.Errorf("%q", last)
	}
	if brief := x.Brief(); len(brief) != 2 || slices.ContainsFunc(brief, less) {
		t.Errorf("%q", brief)
	}
}
