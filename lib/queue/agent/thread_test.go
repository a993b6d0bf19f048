package agent

import (
	"fmt"
	"strings"
	"testing"

	"pulse/lib/shared/record"
)

// TestThreaded: an answer goes where the conversation is, by the ids of the message alone: what
// a model says of them is dropped.
func TestThreaded(t *testing.T) {
	c := conversation{"me@example.com", "<1@mail.example>", []string{"<0@mail.example>", "<1@mail.example>"}}
	for in, want := range map[string]string{
		`{"action":"external_send","target":"ME@example.com","args":{"text":"1","in_reply_to":"<x@y>\nBcc: eve@evil.example","references":["<x@y>"]}}`: `{"action":"external_send","target":"ME@example.com","args":{"text":"1","in_reply_to":"<1@mail.example>","references":["<0@mail.example>","<1@mail.example>"]}}`,
		`{"action":"external_send","target":["bob@partner.example"],"tool":"mail.send","args":{"text":"2","in_reply_to":"<x@y>"}}`:                     `{"action":"external_send","target":["bob@partner.example"],"tool":"mail.send","args":{"text":"2"}}`,
		`{"action":"external_send","target":["bob@partner.example","me@example.com"],"tool":"chat.send","args":{"in_reply_to":"<x@y>"}}`:               `{"action":"external_send","target":["bob@partner.example","me@example.com"],"tool":"chat.send","args":{"in_reply_to":"<x@y>"}}`,
		`{"action":"write_local","target":["me@example.com"],"tool":"mail.draft","args":{}}`:                                                           `{"action":"write_local","target":["me@example.com"],"tool":"mail.draft","args":{"in_reply_to":"<1@mail.example>","references":["<0@mail.example>","<1@mail.example>"]}}`,
		`{"action":"external_send","target":{"me@example.com":7},"tool":7,"args":["me@example.com"]}`:                                                  `{"action":"external_send","target":{"me@example.com":7},"tool":7,"args":["me@example.com"]}`,
		`{"action":"external_send","target":[7,null,"me@example.com"],"args":{"text":"5"}}`:                                                            `{"action":"external_send","target":[7,null,"me@example.com"],"args":{"text":"5"}}`,
		`{"action":"external_send","target":[],"args":{"in\"x":"5"}}`:                                                                                  `{"action":"external_send","target":[],"args":{"in\"x":"5"}}`,
		`{"action":"external_send"}`: `{"action":"external_send"}`,
	} {
		if got := string(c.threaded(nil, record.Value(in))); got != want {
			t.Errorf("%s\nis %s\nwant %s", in, got, want)
		}
	}
	for _, none := range []conversation{{}, {sender: "you@example.com"}} {
		if got := string(none.threaded(nil, `{"action":"external_send","target":null,"args":{}}`)); strings.Contains(got, "references") {
			t.Error(got)
		}
	}
}

func TestConversationOf(t *testing.T) {
	long := "<a@" + strings.Repeat("x", 500) + ">"
	for in, want := range map[string]string{
		`{"id":"<1@m>","thread":{"references":[],"in_reply_to":["<0@m>"]}}`:                                             "<1@m> [<0@m> <1@m>]",
		`{"id":"<1@m>","thread":{"references":[],"in_reply_to":["<a@b>","<c@d>"]}}`:                                     "<1@m> [<1@m>]",
		`{"id":"<1@m>","thread":{"references":["<r@m>",7,"<a b@c>","x","<@>","` + long + `"],"in_reply_to":["<0@m>"]}}`: "<1@m> [<r@m> <1@m>]",
		`{"id":"<a@b>\nBcc: eve@evil.example","thread":{"references":["<0@m>"]}}`:                                       " [<0@m>]",
		`{"id":"<a@b> <c@d>"}`: " []", `{"id":"sha256:00"}`: " []", `{"id":"<ä@b>"}`: " []", `{"id":"<a@b"}`: " []", `{"id":7}`: " []", `7`: " []",
	} {
		rec, err := record.Parse([]byte(`{"identity":{"sender":"ME@example.com"},"message":` + in + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if c := conversationOf(rec); c.sender != "me@example.com" || fmt.Sprintf("%s %s", c.id, c.references) != want {
			t.Errorf("%s: %s %s, want %s", in, c.id, c.references, want)
		}
	}
	var many []string
	for i := range 70 {
		many = append(many, fmt.Sprintf(`"<r%d@x>"`, i))
	}
	rec, err := record.Parse([]byte(`{"message":{"id":"<1@m>","thread":{"references":[` + strings.Join(many, ",") + `]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if r := conversationOf(rec).references; len(r) != 50 || r[0] != "<r0@x>" || r[1] != "<r22@x>" || r[49] != "<1@m>" {
		t.Error(r)
	}
}
