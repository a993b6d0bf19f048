package mailbox

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
)

// testResponses returns a checker that has a UID FETCH in flight and small bounds, and knows
// every tag.
func testResponses(tags *[]string) *responses {
	l := limits{line: 200, search: 400, depth: 5, literal: 1000, chatter: 2000}
	return &responses{
		limits: &l,
		done:   func(tag, status, code string) error { *tags = append(*tags, tag+" "+status+" "+code); return nil },
		asked:  func() error { return nil },
		busy:   func(verb string) bool { return verb == "UID FETCH" },
		parted: func(string) error { return nil },
		takes:  func() *answer { return nil },
	}
}

func TestResponses(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, tt := range []struct {
		name, in string
		ok       bool
	}{
		{"greeting", "* OK [CAPABILITY IMAP4rev1 AUTH=PLAIN] ready\r\n", true},
		{"greeting without text", "* OK\r\n", true},
		{"text with rubbish", "* OK ((( \" {5}\r\n* NO {\r\n", true},
		{"flags", "* FLAGS (\\Answered \\Seen $Junk)\r\n* OK [PERMANENTFLAGS ()] none\r\n", true},
		{"numbers", "* 3 EXISTS\r\n* 0 RECENT\r\n", true},
		{"list", "* LIST (\\HasNoChildren) \"/\" \"a \\\" b\"\r\n", true},
		{"fetch", "* 1 FETCH (UID 1 RFC822.SIZE 3 BODY[HEADER]<0> {3}\r\n((( BODY[TEXT]<0> {0}\r\n)\r\n", true},
		{"lower case", "* 1 fetch (body[header]<0> {900}\r\n" + strings.Repeat("(", 900) + ")\r\n", true},
		{"literal at the bound", "* 1 FETCH (BODY[TEXT] {1000}\r\n" + strings.Repeat("(", 1000) + ")\r\n", true},
		{"long search", "* SEARCH" + strings.Repeat(" 123456", 50) + "\r\n", true},
		{"continuation", "+ \r\n+\r\n+ aGVsbG8=\r\n", true},
		{"tagged", "T1 OK [READ-ONLY] done\r\nT2 NO [X] no\r\nT3 BAD\r\n", true},
		{"small literal elsewhere", "* LIST () \"/\" {3}\r\nabc\r\n", true},

		{"bare LF", "* OK\n", false},
		{"bare LF in data", "* 1 EXISTS\n", false},
		{"CR without LF", "* OK a\rb\r\n", false},
		{"deep", "* 1 FETCH (BODYSTRUCTURE " + strings.Repeat("(", 5), false},
		{"unbalanced", "* 1 FETCH (FLAGS ()\r\n", false},
		{"stray parenthesis", "* 1 FETCH )\r\n", false},
		{"open quote", "* LIST () \"/\r\n", false},
		{"escaped line end", "* LIST () \"/\\\r\n\" x\r\n", false},
		{"endless quote", "* LIST () \"" + long, false},
		{"endless atom", "* " + long, false},
		{"endless text", "* OK " + long, false},
		{"endless line in a fetch", "* 1 FETCH (FLAGS (" + long, false},
		{"huge literal", "* 1 FETCH (BODY[TEXT] {1001}\r\n", false},
		{"literal of ten digits", "* 1 FETCH (BODY[TEXT] {99999999999}\r\n", false},
		{"literal without size", "* 1 FETCH (BODY[TEXT] {}\r\n", false},
		{"literal plus", "* 1 FETCH (BODY[TEXT] {3+}\r\nabc)\r\n", false},
		{"brace in an atom", "* 1 FETCH (a{b)\r\n", false},
		{"large literal inside a list", "* 1 FETCH (ENVELOPE ({900}\r\n", false},
		{"large literal elsewhere", "* LIST () \"/\" {900}\r\n", false},
		{"small literals add up", "* LIST (" + strings.Repeat("{90}\r\n"+strings.Repeat("x", 90)+" ", 3), false},
		{"response code without end", "* OK [X \r\n", false},
		{"status with a number", "* 5 OK {900}\r\n", false},
		{"tagged data", "T1 SEARCH 1\r\n", false},
		{"no type", "*\r\n", false},
		{"two blanks", "*  OK\r\n", false},
		{"type glued to a list", "* FLAGS(\\Seen)\r\n", false},
		{"empty line", "\r\n", false},
		{"read-write", "* OK [READ-WRITE] surprise\r\n", false},
		{"UIDVALIDITY at no EXAMINE", "* OK hi\r\n* OK [uidvalidity 8] surprise\r\n", false},
		{"chatter", strings.Repeat("* 1 EXISTS\r\n", 200), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, size := range []int{len(tt.in), 1} {
				var tags []string
				r := testResponses(&tags)
				var err error
				for i := 0; i < len(tt.in) && err == nil; i += size {
					_, err = r.check([]byte(tt.in[i:min(i+size, len(tt.in))]))
				}
				if (err == nil) != tt.ok {
					t.Errorf("in pieces of %d: %v", size, err)
				}
				if err != nil && !errors.Is(err, errProtocol) && !errors.Is(err, errReadWrite) && !errors.Is(err, errReplaced) {
					t.Errorf("class of %v", err)
				}
			}
		})
	}
}

func TestStatusIsReported(t *testing.T) {
	var tags []string
	r := testResponses(&tags)
	if _, err := r.check([]byte("* OK hi\r\nT1 ok [read-only x] done\r\n* OK [CLOSED] x\r\nT2 NO no\r\n")); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(tags, ","), " OK , T1 OK READ-ONLY X"; got != " OK ,T1 OK READ-ONLY X,T2 NO " {
		t.Errorf("%q, want %q", got, want)
	}
}

// scripted is a connection that reads from a string and drops what is written.
type scripted struct {
	net.Conn
	r      io.Reader
	closed atomic.Bool
}

func (s *scripted) Read(p []byte) (int, error) {
	if s.closed.Load() {
		return 0, net.ErrClosed
	}
	return s.r.Read(p)
}

func (s *scripted) Write(p []byte) (int, error) {
	if s.closed.Load() {
		return 0, net.ErrClosed
	}
	return len(p), nil
}

func (s *scripted) Close() error                     { s.closed.Store(true); return nil }
func (s *scripted) SetReadDeadline(time.Time) error  { return nil }
func (s *scripted) SetWriteDeadline(time.Time) error { return nil }

// FuzzGuard: the library survives whatever the guard lets pass. It does not panic or hang,
// and each literal that it returns is within the bound. A FETCH is in flight, for the guard
// and for the library.
func FuzzGuard(f *testing.F) {
	for _, s := range []string{
		"* 1 FETCH (UID 1 INTERNALDATE \"17-Jul-1996 02:44:25 -0700\" RFC822.SIZE 3 BODY[HEADER]<0> {3}\r\nabc BODY[TEXT]<0> \"x\")\r\nT1 OK done\r\n",
		"* 5 OK {90}\r\n* 1 FETCH (BODYSTRUCTURE ((((((((((\r\n",
		"* OK [X \r\n* 1 FETCH (BODY[] {9}\r\n",
		"* LIST () \"/\" {3}\r\nabc\r\n* STATUS a (MESSAGES 1)\r\n",
		"* ESEARCH (TAG \"T1\") UID ALL 1:4294967295\r\n* SEARCH 0 1\r\n",
		"* THREAD ((1)(2))\r\n* NAMESPACE ((\"\" \"/\")) NIL NIL\r\n",
		"* METADATA \"\" (/a \"b\")\r\n* QUOTA \"\" (STORAGE 1 2)\r\n* ID (\"a\" NIL)\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		l := limits{idle: time.Second, command: time.Second, pace: 1 << 10, line: 1 << 10, search: 1 << 11, depth: 8, literal: 1 << 12, chatter: 1 << 13}
		g := newGuard(&scripted{r: io.MultiReader(strings.NewReader("* OK [CAPABILITY IMAP4rev1] hi\r\n"), strings.NewReader(string(b)))}, l)
		g.sent("T1", "UID FETCH")
		c := imapclient.New(g, &imapclient.Options{UnilateralDataHandler: &imapclient.UnilateralDataHandler{
			Fetch: func(m *imapclient.FetchMessageData) { drain(t, m, l.literal) },
		}})
		cmd := c.Fetch(imap.UIDSetNum(1, 2, 3), &imap.FetchOptions{UID: true, RFC822Size: true})
		for m := cmd.Next(); m != nil; m = cmd.Next() {
			if !drain(t, m, l.literal) {
				break
			}
		}
		if err := c.Close(); err != nil && strings.Contains(err.Error(), "panic") {
			t.Fatal(err)
		}
	})
}

// drain reads a message and reports whether it was whole.
func drain(t *testing.T, m *imapclient.FetchMessageData, bound int64) bool {
	for item := m.Next(); item != nil; item = m.Next() {
		if b, ok := item.(imapclient.FetchItemDataBodySection); ok && b.Literal != nil {
			n, err := io.Copy(io.Discard, b.Literal)
			if n > bound || b.Literal.Size() > bound {
				t.Errorf("a literal of %d bytes, %d came", b.Literal.Size(), n)
			}
			if err != nil {
				return false
			}
		}
	}
	return true
}

// FuzzAgreement compares the guard's view with the parser's. If the guard finds a literal,
// the parser must not read its content as a response. The content is a response that the
// library would report.
func FuzzAgreement(f *testing.F) {
	f.Add([]byte("* 1 FETCH (BODY[] "), []byte(")\r\n"))
	f.Add([]byte("* 5 OK "), []byte("\r\n"))
	f.Add([]byte("* OK [X "), []byte("]\r\n"))
	f.Add([]byte("* LIST (\\a \"x\") NIL "), []byte("\r\n"))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		if len(before)+len(after) > 1<<10 {
			return
		}
		const hidden = "\r\n* 77 EXISTS\r\n"
		var tags []string
		r := testResponses(&tags)
		r.line, r.literal, r.chatter = 1<<12, 1<<12, 1<<14
		if _, err := r.check([]byte(string(before) + "{15}\r\n")); err != nil || r.skip != int64(len(hidden)) {
			return // the guard finds no literal
		}
		exists := false
		stream := "* OK [CAPABILITY IMAP4rev1] hi\r\n" + string(before) + "{15}\r\n" + hidden + string(after)
		c := imapclient.New(&scripted{r: strings.NewReader(stream)}, &imapclient.Options{UnilateralDataHandler: &imapclient.UnilateralDataHandler{
			Mailbox: func(d *imapclient.UnilateralDataMailbox) {
				exists = exists || d.NumMessages != nil && *d.NumMessages == 77
			},
		}})
		<-c.Closed()
		c.Close()
		if exists && !strings.Contains(string(before)+string(after), "77") {
			t.Fatalf("the parser reads what the guard takes for a literal after %q", before)
		}
	})
}
