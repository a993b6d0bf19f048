package box

import (
	"slices"
	"testing"
)

// TestWritable: a directory that a worker may write to is found however the flag is typed. One too many
// is only looked at.
func TestWritable(t *testing.T) {
	for _, c := range []struct{ argv, want []string }{
		{[]string{"box", "--model", "s", "--rw", "a", "--rw", "b", "--", "cmd"}, []string{"a", "b"}},
		{[]string{"/usr/local/libexec/pulse/box", "--rw=a", "--ro", "x", "--rw", "b", "--", "cmd"}, []string{"a", "b"}},
		{[]string{"pulse-queue", "carry", "--policy", "p", "--rw", "a"}, []string{"a"}},
		{[]string{"cmd", "--rw"}, nil},
		{[]string{"cmd", "rw", "a"}, nil},
	} {
		if got := Writable(c.argv); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.argv, got, c.want)
		}
	}
}
