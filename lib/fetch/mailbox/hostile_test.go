package mailbox

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pulse/lib/fetch/source"
	"pulse/lib/shared/fault"
)

// script is what a fake server answers to each verb. TAG stands for the command's tag. To
// any other verb it gives the answer of an honest server.
type script map[string]func(w io.Writer, tag string)

func say(text string) func(io.Writer, string) {
	return func(w io.Writer, tag string) { io.WriteString(w, strings.ReplaceAll(text, "TAG", tag)) }
}

// endless repeats text until the connection ends.
func endless(begin, text string) func(io.Writer, string) {
	return func(w io.Writer, tag string) {
		_, err := io.WriteString(w, begin)
		for chunk := strings.Repeat(text, 1+4096/len(text)); err == nil; {
			_, err = io.WriteString(w, chunk)
		}
	}
}

// esearch answers with a search result of the newer kind (RFC 4731).
func esearch(set string) func(io.Writer, string) {
	return func(w io.Writer, tag string) {
		fmt.Fprintf(w, "* ESEARCH (TAG %q) UID ALL %s\r\n%s OK\r\n", tag, set, tag)
	}
}

// fetched returns an honest FETCH response.
func fetched(uid int) string {
	return fmt.Sprintf("* %d FETCH (UID %d INTERNALDATE \"21-Nov-2026 11:00:00 +0000\" RFC822.SIZE 12 BODY[HEADER]<0> {8}\r\nA: b\r\n\r\n BODY[TEXT]<0> {4}\r\nbody)\r\n", uid, uid)
}

var honest = script{
	"GREETING":   say("* OK [CAPABILITY IMAP4rev1] hello\r\n"),
	"CAPABILITY": say("* CAPABILITY IMAP4rev1 IDLE\r\nTAG OK\r\n"),
	"LOGIN":      say("TAG OK [CAPABILITY IMAP4rev1 IDLE] in\r\n"),
	"EXAMINE":    say("* 3 EXISTS\r\n* OK [UIDVALIDITY 7] x\r\nTAG OK [READ-ONLY] done\r\n"),
	"SEARCH":     say("* SEARCH 1 2 3\r\nTAG OK\r\n"),
	"FETCH":      say(fetched(1) + fetched(2) + fetched(3) + "TAG OK\r\n"),
	"IDLE":       say("+ idling\r\n"),
	"DONE":       say("TAG OK\r\n"),
	"LOGOUT":     say("* BYE bye\r\nTAG OK\r\n"),
}

// serve plays a script on each connection. It returns the server's address.
func serve(t *testing.T, s script) string {
	t.Helper()
	return listen(t, func(conn net.Conn) {
		s.answer(conn, "GREETING", "*")
		s.read(conn, conn)
	})
}

// read answers what is read from r. If the script has a LINE, that gets every line, and
// gives all answers.
func (s script) read(r io.Reader, w io.Writer) {
	idle := "" // tag of the last IDLE
	for lines := bufio.NewScanner(r); lines.Scan(); {
		if line := s["LINE"]; line != nil {
			line(w, lines.Text())
			continue
		}
		words := strings.Fields(lines.Text())
		if lines.Text() == "DONE" {
			words = []string{idle, "DONE"}
		}
		if len(words) < 2 {
			continue
		}
		verb := words[1]
		switch verb {
		case "UID":
			verb = words[2]
		case "IDLE":
			idle = words[0]
		}
		s.answer(w, verb, words[0])
	}
}

func (s script) answer(w io.Writer, verb, tag string) {
	if f, ok := s[verb]; ok {
		f(w, tag)
	} else if f, ok := honest[verb]; ok {
		f(w, tag)
	}
}

// counted counts the bytes that are read from a connection. A server can send more: the
// kernel takes what nobody has read yet, and how much depends on the machine.
type counted struct {
	net.Conn
	n *atomic.Int64
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.n.Add(int64(n))
	return n, err
}

// reads counts the bytes that a run reads, over all its connections.
func reads(s *Mailbox) *atomic.Int64 {
	n := new(atomic.Int64)
	s.testOnlyConn = func(conn net.Conn) net.Conn { return counted{conn, n} }
	return n
}

var silence = say("")

// inTurn answers each time like its next argument, and in the end always like the last.
func inTurn(answers ...func(io.Writer, string)) func(io.Writer, string) {
	return func(w io.Writer, tag string) {
		answers[0](w, tag)
		answers = answers[min(1, len(answers)-1):]
	}
}

// examined returns an honest server's answer to EXAMINE, with any UIDVALIDITY.
func examined(validity string) string {
	return "* 3 EXISTS\r\n* OK [UIDVALIDITY " + validity + "] x\r\nTAG OK [READ-ONLY] done\r\n"
}

func TestHonestScript(t *testing.T) {
	addr := serve(t, nil)
	if got := must(t, mailbox(t, addr, "")); !slices.Equal(got, []string{"body", "body", "body"}) {
		t.Errorf("%q", got)
	}
}

// TestHostileMailbox: a run with a misbehaving server ends soon, with an error of the right class
// that says what was wrong. What was yielded before is whole.
func TestHostileMailbox(t *testing.T) {
	deep := strings.Repeat("(", 100_000)
	one := fetched(1)
	with := func(verb, text string) script { return script{verb: say(text)} }
	for _, tt := range []misbehaviour{
		{"deep nesting unasked", with("EXAMINE", "* 1 FETCH (BODYSTRUCTURE "+deep), 0, fault.Temporary, "nested"},
		{"deep nesting in the answer", with("FETCH", one+"* 2 FETCH (UID 2 BODYSTRUCTURE "+deep), 1, fault.Temporary, "nested"},
		{"endless quoted string", script{"FETCH": endless("* 1 FETCH (UID 1 ENVELOPE (\"", "x")}, 0, fault.Temporary, "more than"},
		{"endless quoted string with line ends", script{"FETCH": endless("* 1 FETCH (UID 1 ENVELOPE (\"", "x\r\n")}, 0, fault.Temporary, "quoted"},
		{"endless atom", script{"EXAMINE": endless("* ", "x")}, 0, fault.Temporary, "type"},
		{"endless text", script{"GREETING": endless("* OK ", "x")}, 0, fault.Temporary, "more than"},
		{"endless search", script{"SEARCH": endless("* SEARCH", " 1")}, 0, fault.Temporary, "more than"},
		{"endless responses", script{"SEARCH": endless("", "* 1 EXISTS\r\n")}, 0, fault.Temporary, "not asked"},
		{"endless flags", script{"FETCH": endless("* 1 FETCH (FLAGS (", "a ")}, 0, fault.Temporary, "more than"},
		{"endless fetches without a body", script{"FETCH": endless("", "* 1 FETCH (UID 1 FLAGS ())\r\n")}, 0, fault.Temporary, "parts missing"},
		{"endless unasked messages", script{"FETCH": endless("", fetched(9))}, 0, fault.Temporary, "not asked for"},
		{"code without end", with("EXAMINE", "* OK [X \r\n* 1 FETCH (BODYSTRUCTURE "+deep), 0, fault.Temporary, "code"},
		{"status with a number", with("EXAMINE", "* 5 OK {9000}\r\n"), 0, fault.Temporary, "number"},
		{"bare LF", with("GREETING", "* OK hi\n"), 0, fault.Temporary, "CR"},
		{"not IMAP", with("GREETING", "HTTP/1.1 400 Bad Request\r\n"), 0, fault.Temporary, "beginning"},

		{"read-write", with("EXAMINE", "* OK [UIDVALIDITY 7] x\r\nTAG OK [READ-WRITE] done\r\n"), 0, fault.Failed, "read-write"},
		{"no word of read-only", with("EXAMINE", "* OK [UIDVALIDITY 7] x\r\nTAG OK done\r\n"), 0, fault.Failed, "read-write"},
		{"read-write later", with("FETCH", one+"* OK [READ-WRITE] x\r\n"), 1, fault.Failed, "read-write"},
		{"no UIDVALIDITY", with("EXAMINE", "TAG OK [READ-ONLY] done\r\n"), 0, fault.Temporary, "UIDVALIDITY"},
		{"mailbox refused", with("EXAMINE", "TAG NO [NONEXISTENT] no\r\n"), 0, fault.Failed, "does not open"},
		{"mailbox busy", with("EXAMINE", "TAG NO [INUSE] wait\r\n"), 0, fault.Temporary, "wait"},

		{"UID after the literal", with("FETCH", "* 1 FETCH (BODY[HEADER]<0> {3}\r\na:b BODY[TEXT]<0> {0}\r\n UID 1)\r\nTAG OK\r\n"), 0, fault.Temporary, "not asked for"},
		{"the same UID twice", with("FETCH", one+one+"TAG OK\r\n"), 1, fault.Temporary, "twice"},
		{"a foreign UID", with("FETCH", one+fetched(9)+"TAG OK\r\n"), 1, fault.Temporary, "not asked for"},
		{"out of order", script{"FETCH": inTurn(say(fetched(2)+one+"TAG OK\r\n"), hangUp(""))}, 1, fault.Temporary, "UID 1 after UID 2"},
		{"two UIDs", with("FETCH", "* 1 FETCH (UID 1 UID 2 "+strings.SplitN(one, "UID 1 ", 2)[1]), 0, fault.Temporary, "two UIDs"},
		{"no date", with("FETCH", strings.Replace(one, "INTERNALDATE \"21-Nov-2026 11:00:00 +0000\" ", "", 1)), 0, fault.Temporary, "parts missing"},
		{"no text", with("FETCH", strings.Replace(one, " BODY[TEXT]<0> {4}\r\nbody", "", 1)), 0, fault.Temporary, "parts missing"},
		{"a part twice", with("FETCH", strings.Replace(one, "BODY[TEXT]", "BODY[HEADER]", 1)), 0, fault.Temporary, "twice"},
		{"another part", with("FETCH", strings.Replace(one, "BODY[TEXT]", "BODY[1.TEXT]", 1)), 0, fault.Temporary, "not asked for"},
		{"cut literal", script{"FETCH": func(w io.Writer, tag string) {
			io.WriteString(w, one+strings.Split(fetched(2), "A: b")[0]+"A:")
			w.(net.Conn).Close()
		}}, 1, fault.Temporary, "ends after 2"},
		{"literal longer than asked for", with("FETCH", strings.Replace(one, "BODY[TEXT]<0> {4}\r\nbody", "BODY[TEXT]<0> {70000}\r\n"+strings.Repeat("x", 70000), 1)), 0, fault.Temporary, "at most 65536"},
		{"huge literal announced", with("FETCH", one+strings.Split(fetched(2), "BODY[TEXT]")[0]+"BODY[TEXT]<0> {9999999999}\r\n"), 1, fault.Temporary, "literal"},
		{"huge literal unasked", with("EXAMINE", "* 1 FETCH (BODY[] {26214400}\r\n"), 0, fault.Temporary, "not asked"},
		{"all UIDs there are", script{"SEARCH": esearch("1:4294967295")}, 0, fault.Temporary, "finds UIDs"},
		{"UID 0", with("SEARCH", "* SEARCH 0 1\r\nTAG OK\r\n"), 0, fault.Temporary, "finds UIDs"},
		{"a message vanished", with("FETCH", one+fetched(3)+"TAG OK\r\n"), 2, fault.Temporary, "1 messages vanished"},
		{"all vanished", with("FETCH", "TAG OK\r\n"), 0, fault.Temporary, "3 messages vanished"},
		{"fetch refused", with("FETCH", one+"TAG NO sorry\r\n"), 1, fault.Temporary, "sorry"},
		{"answer to no command", with("FETCH", "T999 OK\r\n"), 0, fault.Temporary, "no command"},
		{"NIL for a message", with("FETCH", strings.NewReplacer("{8}\r\nA: b\r\n\r\n", "NIL", "{4}\r\nbody", "NIL").Replace(one)+fetched(2)+fetched(3)+"TAG OK\r\n"), 3, 0, ""},
		{"strings for literals", with("FETCH", strings.Replace(one, "{4}\r\nbody", "\"body\"", 1)+fetched(2)+fetched(3)+"TAG OK\r\n"), 3, 0, ""},
		{"flags of others", with("FETCH", "* 3 FETCH (FLAGS (\\Seen))\r\n* 4 EXISTS\r\n"+one+"* 9 FETCH (UID 9 FLAGS ())\r\n"+fetched(2)+fetched(3)+"TAG OK\r\n"), 3, 0, ""},

		{"PREAUTH", with("GREETING", "* PREAUTH [CAPABILITY IMAP4rev1] hi\r\n"), 0, fault.Temporary, "does not ask"},
		{"BYE at once", with("GREETING", "* BYE too many\r\n"), 0, fault.Temporary, "too many"},
		{"BYE later", script{"SEARCH": func(w io.Writer, tag string) {
			io.WriteString(w, "* BYE restarting\r\n")
			w.(net.Conn).Close()
		}}, 0, fault.Temporary, "restarting"},
		{"LOGIN disabled", script{"GREETING": say("* OK [CAPABILITY IMAP4rev1 LOGINDISABLED] hi\r\n")}, 0, fault.Failed, "no LOGIN"},
		{"login refused, with an echo", with("LOGIN", "TAG NO [AUTHENTICATIONFAILED] bad password secret-of-the-test\r\n"), 0, fault.Failed, "bad password …"},
		{"login refused for now", with("LOGIN", "TAG NO [UNAVAILABLE] later\r\n"), 0, fault.Temporary, "later"},
		{"SASL without end", script{"GREETING": say("* OK [CAPABILITY IMAP4rev1 AUTH=PLAIN] hi\r\n"), "AUTHENTICATE": endless("", "+ eA==\r\n")}, 0, fault.Temporary, ""},

		{"silence", script{"GREETING": silence}, 0, fault.Temporary, "waiting"},
		{"silence at login", script{"LOGIN": silence}, 0, fault.Temporary, "waiting"},
		{"silence in a response", with("EXAMINE", "* 3 EX"), 0, fault.Temporary, "waiting"},
		{"silence in a literal", with("FETCH", one+strings.Split(fetched(2), "A: b")[0]), 1, fault.Temporary, "waiting"},
		{"silence at logout", script{"LOGOUT": silence}, 3, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) { t.Parallel(); tt.play(t) })
	}
}

// misbehaviour is a script, and how a run with it must end.
type misbehaviour struct {
	name   string
	script script
	got    int // messages
	kind   fault.Kind
	says   string
}

// mostRead is more than a run reads of a server that floods it, in bytes: on each of ten
// connections a response that is too long and what was read beyond it, or on one all the
// chatter, of which a short response is 100 bytes more than it has. Only the results of a
// search may be longer.
const mostRead = 4 << 20

func (m misbehaviour) most() int64 {
	if strings.Contains(m.name, "search") {
		return 2 * defaultLimits.search
	}
	return mostRead
}

func (m misbehaviour) play(t *testing.T) { m.playTo(t, authAny) }

// playTo is play for a client that logs in in this way.
func (m misbehaviour) playTo(t *testing.T, auth Auth) {
	s := mailbox(t, serve(t, m.script), "")
	s.Auth = auth
	read := reads(s)
	l, silent := defaultLimits, strings.HasPrefix(m.name, "silence")
	s.testOnlyLimits = &l
	var got []string
	var err error
	for idle := 500 * time.Millisecond; idle < patience; idle *= 2 { // as long as a busy machine takes for what comes before
		if silent {
			l.idle, l.command = idle, 2*idle
		}
		if got, err = all(t, s); !silent || len(got) == m.got {
			break
		}
	}
	if read.Load() > m.most() {
		t.Errorf("read %d bytes", read.Load())
	}
	if len(got) != m.got {
		t.Errorf("%d messages, want %d", len(got), m.got)
	}
	if m.kind == 0 {
		if err != nil {
			t.Error(err)
		}
		return
	}
	if err == nil || fault.KindOf(err) != m.kind || !strings.Contains(err.Error(), m.says) {
		t.Errorf("%v (%v), want %v with %q", err, fault.KindOf(err), m.kind, m.says)
	}
	if err != nil && (strings.Contains(err.Error(), s.Password) || len(err.Error()) > 600) {
		t.Errorf("the error shows too much: %v", err)
	}
}

// TestDrip: a server that sends a byte now and then is never silent, and yet the run ends.
func TestDrip(t *testing.T) {
	tick := make(chan struct{})
	addr := serve(t, script{"FETCH": func(w io.Writer, tag string) {
		for range tick {
			if _, err := io.WriteString(w, " "); err != nil {
				return
			}
		}
	}})
	s := mailbox(t, addr, "")
	l := defaultLimits
	l.idle, l.command = time.Second, 200*time.Millisecond
	s.testOnlyLimits = &l
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	done := make(chan error, 1)
	go func() { _, err := all(t, s); done <- err }()
	defer close(tick)
	for {
		select {
		case err := <-done:
			if fault.KindOf(err) != fault.Temporary {
				t.Errorf("%v", err)
			}
			return
		case <-ticker.C:
			select {
			case tick <- struct{}{}:
			default:
			}
		}
	}
}

// TestTimeout: the time of the whole run is bounded, however lively the server is.
func TestTimeout(t *testing.T) {
	addr := serve(t, script{"SEARCH": silence})
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	err := each(t, ctx, mailbox(t, addr, ""), func(*source.Message) error { return nil })
	if err != context.DeadlineExceeded {
		t.Errorf("%v", err)
	}
}

// TestReplaced: UIDVALIDITY is compared again at the end, because the UIDs of what was
// yielded may mean other messages.
func TestReplaced(t *testing.T) {
	n := 6
	addr := serve(t, script{"EXAMINE": func(w io.Writer, tag string) {
		n++
		say(examined(fmt.Sprint(n)))(w, tag)
	}})
	got, err := all(t, mailbox(t, addr, ""))
	if len(got) != 3 || fault.KindOf(err) != fault.Temporary || !strings.Contains(err.Error(), "replaced") {
		t.Errorf("%d messages, %v", len(got), err)
	}
}

// TestSlowReader: a slow reader of the pipe does not count as a slow server.
func TestSlowReader(t *testing.T) {
	addr := serve(t, nil)
	var n int
	var err error
	for idle := 300 * time.Millisecond; idle < 10*time.Second; idle *= 2 { // on a machine that is busy the server is slow, too
		s := mailbox(t, addr, "")
		l := defaultLimits
		l.idle, l.command = idle, 2*idle
		s.testOnlyLimits = &l
		n = 0
		err = each(t, context.Background(), s, func(*source.Message) error {
			n++
			<-time.After(idle * 4 / 3)
			return nil
		})
		if err == nil && n == 3 {
			return
		}
	}
	t.Errorf("%d messages, %v", n, err)
}
