package mailbox

import (
	"errors"
	"strings"
	"testing"
)

func sentNothing(tag, verb string) error { return nil }

func TestCommands(t *testing.T) {
	for _, tt := range []struct {
		in string
		ok bool
	}{
		{"T1 CAPABILITY\r\nT2 NOOP\r\nT3 LOGOUT\r\n", true},
		{"T1 LOGIN \"me\" \"secret\"\r\n", true},
		{"T1 LOGIN {2}\r\nme {3}\r\n\"\\\x00\r\n", true},
		{"T1 LOGIN {14}\r\nT9 DELETE a\r\nx {0}\r\n\r\n", true}, // a name, not a command
		{"T1 AUTHENTICATE PLAIN\r\nAGEAYg==\r\n", true},
		{"T1 AUTHENTICATE PLAIN AGEAYg==\r\n", true},
		{"T1 AUTHENTICATE PLAIN\r\n*\r\nT2 NOOP\r\n", true},
		{"T1 EXAMINE \"INBOX\"\r\n", true},
		{"T1 UID SEARCH UID 5:*\r\n", true},
		{"T1 UID FETCH 1:3,5 (UID INTERNALDATE RFC822.SIZE BODY.PEEK[HEADER]<0.262146> BODY.PEEK[TEXT]<0.65536>)\r\n", true},
		{"T1 ID NIL\r\nT2 ENABLE X\r\nT3 STARTTLS\r\n", true},

		{"T1 SELECT INBOX\r\n", false},
		{"T1 FETCH 1 (UID)\r\n", false},
		{"T1 UID FETCH 1 (BODY[TEXT])\r\n", false},
		{"T1 UID FETCH 1 (BODY.PEEK[TEXT]<0.5> BODY[HEADER])\r\n", false},
		{"T1 UID FETCH 1 (RFC822)\r\n", false},
		{"T1 UID FETCH 1 (FLAGS)\r\n", false},
		{"T1 UID FETCH 1 BODY.PEEK[]\r\n", false},
		{"T1 UID FETCH 1 (UID) (CHANGEDSINCE 5)\r\n", false},
		{"T1 UID STORE 1 +FLAGS (\\Seen)\r\n", false},
		{"T1 UID EXPUNGE 1\r\n", false},
		{"T1 UID COPY 1 a\r\n", false},
		{"T1 STORE 1 +FLAGS (\\Seen)\r\n", false},
		{"T1 APPEND a {3}\r\nabc\r\n", false},
		{"T1 DELETE a\r\n", false},
		{"T1 CLOSE\r\n", false},
		{"T1 IDLE\r\n", false},
		{"T1 COMPRESS DEFLATE\r\n", false},
		{"T1 EXPUNGE\r\n", false},
		{"T1 NOOP x\r\n", false},
		{"T1 EXAMINE\r\n", false},
		{"\r\n", false},
		{"AGEAYg==\r\n", false},
		{"T1 AUTHENTICATE PLAIN\r\nT2 DELETE a\r\n", false},
		{"T1 NOOP\n", false},
		{"T1 LOGIN {99999}\r\n", false},
		{"T1 LOGIN a {1}\r\nbT2 DELETE a\r\nT2 DELETE a\r\n", false},
		{"T1 uid fetch 1 (uid)\r\n", false}, // the library writes capitals
		{strings.Repeat("x", maxCommand+1), false},
	} {
		for _, size := range []int{len(tt.in), 1} {
			var c commands
			var err error
			var out []byte
			for i := 0; i < len(tt.in) && err == nil; i += size {
				var ready []byte
				ready, err = c.check([]byte(tt.in[i:min(i+size, len(tt.in))]), sentNothing)
				out = append(out, ready...)
			}
			if (err == nil) != tt.ok || err != nil && !errors.Is(err, errCommand) {
				t.Errorf("%.60q in pieces of %d: %v", tt.in, size, err)
			}
			if err == nil && string(out) != tt.in {
				t.Errorf("%q leaves as %q", tt.in, out)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error shows an argument: %v", err)
			}
		}
	}
}

// TestCommandsLeaveWhole: no byte of a refused command leaves, and a command that is not
// whole yet does not hold back those before it.
func TestCommandsLeaveWhole(t *testing.T) {
	var c commands
	var tags []string
	ready, err := c.check([]byte("T1 NOOP\r\nT2 DEL"), func(tag, verb string) error { tags = append(tags, tag+verb); return nil })
	if err != nil || string(ready) != "T1 NOOP\r\n" || len(tags) != 1 {
		t.Fatalf("%q %q %v", ready, tags, err)
	}
	if ready, err = c.check([]byte("ETE a\r\n"), func(string, string) error { t.Error("told of it"); return nil }); err == nil || len(ready) > 0 {
		t.Fatalf("%q %v", ready, err)
	}
}
