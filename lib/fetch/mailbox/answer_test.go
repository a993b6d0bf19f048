package mailbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"pulse/lib/fetch/source"
)

// taken returns the messages that an answer makes of responses to a UID FETCH for 1, 2 and
// 3, in pieces of some size, and what is left for the library.
func taken(b []byte, size int) (messages []string, left string, err error) {
	a := &answer{fetcher: &fetcher{Mailbox: &Mailbox{Window: 1000}}, want: expected{missing: map[uint32]bool{1: true, 2: true, 3: true}}}
	a.use = func(m *source.Message) error {
		messages = append(messages, shown(m.UID, m.Header, m.Body))
		return nil
	}
	var tags []string
	r := testResponses(&tags)
	r.line, r.chatter = 1<<12, 1<<14
	r.takes = func() *answer { return a }
	for len(b) > 0 && err == nil {
		n := min(size, len(b))
		var pass []byte
		pass, err = r.check(b[:n])
		left += string(pass)
		b = b[n:]
	}
	return messages, left, err
}

func shown(uid uint32, header, body []byte) string { return fmt.Sprintf("%d %q %q", uid, header, body) }

// TestAnswer: messages are read wherever the bytes are cut, and everything else reaches the
// library as it came.
func TestAnswer(t *testing.T) {
	const date = `INTERNALDATE "21-Nov-2026 11:00:00 +0000"`
	for _, tt := range []struct{ name, in, want, left string }{
		{"messages", fetched(1) + "* 4 EXISTS\r\n" + fetched(2) + "T1 OK done\r\n", shown(1, []byte("A: b\r\n\r\n"), []byte("body")) + "," + shown(2, []byte("A: b\r\n\r\n"), []byte("body")), "* 4 EXISTS\r\nT1 OK done\r\n"},
		{"any order, any case", "* 1 fetch (rfc822.size 9 " + date + " UID 1 body[text]<0> \"a\\\"\\\\\" BODY[header] NIL)\r\n", `1 "" "a\"\\"`, ""},
		{"with what nobody asked for", "* 1 FETCH (FLAGS (\\Seen \"a)b\" ({2}\r\n)) x)) MODSEQ (5) UID 1 " + date + " RFC822.SIZE 9 BODY[HEADER] {2}\r\n() X-GM-MSGID 12 BODY[TEXT] {0}\r\n)\r\n", `1 "()" ""`, ""},
		{"flags alone", "* 1 FETCH (FLAGS ())\r\n* 9 FETCH (UID 9 FLAGS (\\Seen))\r\n", "", ""},
		{"no list", "* 1 FETCH\r\n", "error", ""},
		{"an atom", "* 1 FETCH x\r\n", "error", ""},
		{"an empty list", "* 1 FETCH ()\r\n", "error", ""},
		{"a name alone", "* 1 FETCH (UID)\r\n", "error", ""},
		{"a literal alone", "* 1 FETCH ({2}\r\nab)\r\n", "error", ""},
		{"a literal for something else", "* 1 FETCH (UID 1 X {2}\r\nab)\r\n", "error", ""},
		{"a literal without UID", "* 1 FETCH (BODY[TEXT] {2}\r\nab UID 1)\r\n", "error", ""},
		{"more after the list", "* 1 FETCH (UID 9) x\r\n", "error", ""},
		{"RFC822", "* 1 FETCH (UID 1 RFC822 {2}\r\nab)\r\n", "error", ""},
		{"a section that is a list", "* 1 FETCH (UID 1 BODY[TEXT] (a))\r\n", "error", ""},
		{"more after a string", "* 1 FETCH (UID 1 " + date + " RFC822.SIZE 9 BODY[HEADER] NIL BODY[TEXT] \"a\"b)\r\n", "error", ""},
	} {
		for _, size := range []int{len(tt.in), 1, 7} {
			messages, left, err := taken([]byte(tt.in), size)
			got := strings.Join(messages, ",")
			if err != nil {
				got = "error"
			}
			if got != tt.want || left != tt.left || err != nil && !errors.Is(err, errProtocol) {
				t.Errorf("%s in pieces of %d: %s, %q left, %v", tt.name, size, got, left, err)
			}
		}
	}
}

// FuzzAnswer: wherever the bytes are cut, an answer makes the same messages of them, within
// the bounds; and where the library reads a message, too, it is the same.
func FuzzAnswer(f *testing.F) {
	one := fetched(1)
	for _, s := range []string{
		one + fetched(2), strings.ToLower(one), strings.Replace(one, "{4}\r\nbody", `"bo\"dy"`, 1), strings.Replace(one, "{4}\r\nbody", `"bo\"dy":::`, 1),
		strings.Replace(one, "(UID", "(FLAGS (\\Seen) UID", 1),
		strings.Replace(one, "{8}\r\nA: b\r\n\r\n", "NIL", 1), "* 1 FETCH (UID 1 ENVELOPE (\"a\" NIL {3}\r\nabc) BODY[TEXT]<0> {2}\r\n)\r)\r\n", "* 1 FETCH\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<12 {
			return
		}
		messages, left, err := taken(b, 1<<12)
		again, leftAgain, errAgain := taken(b, 1)
		if strings.Join(messages, ",") != strings.Join(again, ",") || err == nil && left != leftAgain || (err == nil) != (errAgain == nil) {
			t.Fatalf("%q, %q left, %v; byte by byte %q, %q left, %v", messages, left, err, again, leftAgain, errAgain)
		}
		if err == nil && len(messages) > 0 {
			agree(t, b, messages)
		}
	})
}

// agree fails if the library reads another message of the same bytes.
func agree(t *testing.T, b []byte, messages []string) {
	conn := &gated{scripted{}, "FETCH", make(chan struct{})}
	conn.r = io.MultiReader(strings.NewReader("* OK [CAPABILITY IMAP4rev1] hi\r\n"), opened(conn.open), bytes.NewReader(b))
	c := imapclient.New(conn, nil)
	defer c.Close()
	cmd := c.Fetch(imap.UIDSetNum(1, 2, 3), &imap.FetchOptions{UID: true})
	for msg := cmd.Next(); msg != nil; msg = cmd.Next() {
		buf, err := msg.Collect()
		if err != nil || len(buf.BodySection) != 2 {
			continue
		}
		var header, text []byte
		for _, part := range buf.BodySection {
			if part.Section.Specifier == imap.PartSpecifierHeader {
				header = part.Bytes
			} else {
				text = part.Bytes
			}
		}
		got := shown(uint32(buf.UID), header, text)
		for _, m := range messages {
			if strings.HasPrefix(m, fmt.Sprint(buf.UID, " ")) && m != got {
				t.Errorf("%s, the library reads %s", m, got)
			}
		}
	}
}
