package mailbox

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2/imapclient"

	"pulse/lib/fetch/mailbox/dovecottest"
	"pulse/lib/fetch/mailbox/imaptest"
	"pulse/lib/fetch/secure"
	"pulse/lib/fetch/source"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/fault"
)

// waiter returns a run that has seen the messages up to UID 3 and waits for another one.
func waiter(t *testing.T, addr, ca string, wait time.Duration) *Mailbox {
	s := mailbox(t, addr, ca)
	s.From = source.Start{Resume: true, Known: true, Position: audit.Position{UIDValidity: 7, UID: 3}}
	s.Wait = wait
	l := defaultLimits
	l.pause = 20 * time.Millisecond
	s.testOnlyLimits = &l
	return s
}

const (
	nothing = "* SEARCH\r\nTAG OK\r\n"
	another = "* SEARCH 3 4\r\nTAG OK\r\n" // 3 is what "4:*" finds in some servers
)

// TestWait: mail that comes after the first search is fetched at once, wherever the server
// says that it came, and in the end even if the server does not say so.
func TestWait(t *testing.T) {
	for _, tt := range []struct {
		name   string
		script script
		wait   time.Duration
		renew  time.Duration
		got    int
	}{
		{"while waiting", script{"IDLE": say("+ idling\r\n* 4 EXISTS\r\n* 1 RECENT\r\n")}, patience, 0, 1},
		{"before the server agrees", script{"IDLE": say("* 4 EXISTS\r\n+ idling\r\n")}, patience, 0, 1},
		{"during the search", script{"SEARCH": inTurn(say("* 4 EXISTS\r\n"+nothing), say(another))}, patience, 0, 1},
		{"after the result of the search", script{"SEARCH": inTurn(say("* SEARCH\r\n* 4 EXISTS\r\nTAG OK\r\n"), say(another))}, patience, 0, 1},
		{"never announced", script{}, patience, 10 * time.Millisecond, 1},
		{"never announced, and the time is over", script{}, 10 * time.Millisecond, 0, 1},
		{"announced with DONE", script{"DONE": say("* 4 EXISTS\r\nTAG OK\r\n")}, 10 * time.Millisecond, 0, 1},
		{"several", script{"IDLE": say("+ \r\n* 5 EXISTS\r\n"), "SEARCH": inTurn(say(nothing), say("* SEARCH 4 5\r\nTAG OK\r\n")), "FETCH": say(fetched(4) + fetched(5) + "TAG OK\r\n")}, patience, 0, 2},
		{"a flag, and then mail", script{"IDLE": inTurn(say("+ \r\n* 2 FETCH (FLAGS (\\Seen))\r\n* OK still here\r\n* 3 EXISTS\r\n"), say("+ \r\n* 2 EXPUNGE\r\n* 3 EXISTS\r\n")), "SEARCH": inTurn(say(nothing), say(nothing), say(another))}, patience, 0, 1},
		{"into an empty mailbox", script{"EXAMINE": say(strings.Replace(examined("7"), "3 EXISTS", "0 EXISTS", 1)), "SEARCH": say(another), "IDLE": say("+ \r\n* 1 EXISTS\r\n")}, patience, 0, 1},
		{"never announced, in an empty mailbox", script{"EXAMINE": say(strings.Replace(examined("7"), "3 EXISTS", "0 EXISTS", 1)), "SEARCH": say(another)}, 10 * time.Millisecond, 0, 1},
		{"never announced, until IDLE is renewed, in an empty mailbox", script{"EXAMINE": say(strings.Replace(examined("7"), "3 EXISTS", "0 EXISTS", 1)), "SEARCH": inTurn(say(nothing), say(another))}, patience, 10 * time.Millisecond, 1},
		{"nothing comes", script{"SEARCH": say(nothing)}, 50 * time.Millisecond, 10 * time.Millisecond, 0},
		{"nothing comes, in an empty mailbox", script{"EXAMINE": say(strings.Replace(examined("7"), "3 EXISTS", "0 EXISTS", 1)), "SEARCH": say(nothing)}, 10 * time.Millisecond, 0, 0},
		{"there is something new already", script{"SEARCH": say(another), "IDLE": hangUp("")}, patience, 0, 1},
		{"IDLE is offered only when asked", script{"LOGIN": say("TAG OK [CAPABILITY IMAP4rev1] in\r\n"), "IDLE": say("+ \r\n* 4 EXISTS\r\n")}, patience, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for verb, answer := range map[string]func(io.Writer, string){
				"SEARCH": inTurn(say(nothing), say(another)), "FETCH": say(fetched(4) + "TAG OK\r\n"),
			} {
				if tt.script[verb] == nil {
					tt.script[verb] = answer
				}
			}
			addr := serve(t, tt.script)
			s := waiter(t, addr, "", tt.wait)
			if tt.renew > 0 {
				s.testOnlyLimits.renew = tt.renew
			}
			if got := must(t, s); len(got) != tt.got {
				t.Errorf("%q", got)
			}
		})
	}
}

// TestWaitDeaf: without IDLE a run that found nothing ends after its wait, without a connection
// meanwhile, and one that found something ends at once.
func TestWaitDeaf(t *testing.T) {
	deaf := func(searched func(io.Writer, string), left func()) script {
		return script{
			"LOGIN": say("TAG OK [CAPABILITY IMAP4rev1] in\r\n"), "CAPABILITY": say("* CAPABILITY IMAP4rev1\r\nTAG OK\r\n"),
			"IDLE": hangUp(""), "SEARCH": searched, "FETCH": say(fetched(4) + "TAG OK\r\n"),
			"LOGOUT": func(w io.Writer, tag string) { left(); say("* BYE\r\nTAG OK\r\n")(w, tag) },
		}
	}
	if got := must(t, waiter(t, serve(t, deaf(say(another), func() {})), "", 2*patience)); len(got) != 1 {
		t.Errorf("%q", got)
	}
	wait, begin := 30*time.Millisecond, time.Now()
	if got := must(t, waiter(t, serve(t, deaf(say(nothing), func() {})), "", wait)); len(got) != 0 || time.Since(begin) < wait {
		t.Errorf("%q after %v", got, time.Since(begin))
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := waiter(t, serve(t, deaf(say(nothing), cancel)), "", 2*patience)
	if err := s.Each(ctx, func(*source.Message) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// TestWaitPosition: what a search finds and the run does not want, because it is older than
// the first run goes back, is not fetched again after each announcement.
func TestWaitPosition(t *testing.T) {
	var fetches, searches atomic.Int32
	old := strings.Replace(fetched(2), "21-Nov-2026", "19-Nov-2026", 1)
	addr := serve(t, script{
		"SEARCH": func(w io.Writer, tag string) {
			answer := "* SEARCH 2\r\nTAG OK\r\n" // 3:* finds it, too
			if searches.Add(1) == 3 {
				answer = "* SEARCH 4\r\nTAG OK\r\n"
			}
			say(answer)(w, tag)
		},
		"FETCH": func(w io.Writer, tag string) {
			answer := old
			if fetches.Add(1) > 1 {
				answer = fetched(4)
			}
			say(answer+"TAG OK\r\n")(w, tag)
		},
		"IDLE": say("+ \r\n* 4 EXISTS\r\n"),
	})
	s := waiter(t, addr, "", patience)
	s.From = source.Start{Resume: true, Now: now}
	if got, err := outcome(t, s); got != "4" || err != nil || fetches.Load() != 2 {
		t.Errorf("%s in %d fetches: %v", got, fetches.Load(), err)
	}
}

// TestWaitHostile: whatever a server does while a run waits, the run ends soon, says what
// was wrong and holds no more than before.
func TestWaitHostile(t *testing.T) {
	idle := func(text string) script { return script{"IDLE": say("+ \r\n" + text)} }
	flood := func(text string) script { return script{"IDLE": endless("+ \r\n", text)} }
	done := func(f func(io.Writer, string)) script {
		return script{"IDLE": say("+ \r\n* 4 EXISTS\r\n"), "DONE": f}
	}
	for _, tt := range []misbehaviour{
		{"IDLE refused", script{"IDLE": say("TAG NO not today\r\n")}, 0, fault.Temporary, "not today"},
		{"IDLE not understood", script{"IDLE": say("TAG BAD what\r\n")}, 0, fault.Temporary, "what"},
		{"IDLE done at once", script{"IDLE": say("TAG OK done\r\n")}, 0, fault.Temporary, "without DONE"},
		{"IDLE ends by itself", idle("TAG OK done\r\n"), 0, fault.Temporary, "without DONE"},
		{"IDLE fails later", idle("TAG NO enough\r\n"), 0, fault.Temporary, "without DONE"},
		{"never agrees", script{"IDLE": silence}, 0, fault.Temporary, "waiting"},
		{"never agrees and chats", script{"IDLE": endless("", "* OK soon\r\n")}, 0, fault.Temporary, "not asked"},
		{"agrees twice", idle("+ \r\n"), 0, fault.Temporary, "question"},

		{"floods of EXISTS", flood("* 4 EXISTS\r\n"), 0, fault.Temporary, "not asked"},
		{"floods of EXPUNGE", flood("* 1 EXPUNGE\r\n"), 0, fault.Temporary, "not asked"},
		{"floods of flags", flood("* 1 FETCH (FLAGS (\\Seen))\r\n"), 0, fault.Temporary, "not asked"},
		{"floods of alerts", flood("* OK [ALERT] \x1b[2Jyou\r\n"), 0, fault.Temporary, "not asked"},
		{"floods of continuations", flood("+ go on\r\n"), 0, fault.Temporary, "question"},
		{"floods of search results", flood("* SEARCH 1 2 3\r\n"), 0, fault.Temporary, ""},
		{"an endless line", flood("* OK " + strings.Repeat("x", 100)), 0, fault.Temporary, "more than"},
		{"an endless list", flood("* LIST (" + strings.Repeat("x ", 100)), 0, fault.Temporary, ""},
		{"bytes of nothing", flood("\x00"), 0, fault.Temporary, "beginning"},
		{"deep nesting", idle("* 1 FETCH (BODYSTRUCTURE " + strings.Repeat("(", 1000)), 0, fault.Temporary, "nested"},
		{"a message", idle(fetched(4)), 0, fault.Temporary, "not asked for"},
		{"a large literal", idle("* 4 FETCH (BODY[TEXT] {26214400}\r\n"), 0, fault.Temporary, "not asked"},
		{"a literal in another place", idle("* LIST () {70000}\r\n"), 0, fault.Temporary, "not asked"},
		{"a number too large", idle("* 99999999999 EXISTS\r\n"), 0, fault.Temporary, ""},
		{"read-write", idle("* OK [READ-WRITE] surprise\r\n"), 0, fault.Failed, "read-write"},
		{"another mailbox", idle("* OK [UIDVALIDITY 8] surprise\r\n"), 0, fault.Temporary, "replaced"},
		{"an answer to no command", idle("T99 OK\r\n"), 0, fault.Temporary, "no command"},
		{"BYE", script{"IDLE": hangUp("+ \r\n* BYE secret-of-the-test restarts\r\n")}, 0, fault.Temporary, "ends the session: … restarts"},
		{"BYE and silence", idle("* BYE for ever\r\n"), 0, fault.Temporary, "ends the session: for ever"},
		{"hangs up", script{"IDLE": hangUp("+ \r\n")}, 0, fault.Temporary, "ends the connection"},
		{"hangs up in a line", script{"IDLE": hangUp("+ \r\n* 4 EXI")}, 0, fault.Temporary, "ends the connection"},

		{"silence after DONE", done(silence), 0, fault.Temporary, "waiting"},
		{"floods after DONE", done(endless("", "* 4 EXISTS\r\n")), 0, fault.Temporary, "not asked"},
		{"DONE refused", done(say("TAG BAD what is DONE\r\n")), 0, fault.Temporary, "what is DONE"},
		{"agrees to DONE", done(say("+ \r\nTAG OK\r\n")), 0, fault.Temporary, "question"},
		{"hangs up after DONE", done(hangUp("")), 0, fault.Temporary, "ends the connection"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.script["SEARCH"] = say(nothing)
			s := waiter(t, serve(t, tt.script), "", patience)
			if tt.says == "waiting" {
				s.testOnlyLimits.idle, s.testOnlyLimits.command = time.Second, 2*time.Second
			}
			read := reads(s)
			got, err := all(t, s)
			if len(got) != 0 || fault.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%d messages, %v (%v), want %v with %q", len(got), err, fault.KindOf(err), tt.kind, tt.says)
			}
			if strings.Contains(err.Error(), s.Password) || len(err.Error()) > 600 {
				t.Errorf("the error shows too much: %v", err)
			}
			if read.Load() > mostRead {
				t.Errorf("read %d bytes", read.Load())
			}
		})
	}
}

// TestWaitLies: a server that says again and again that there is a message, and has none,
// gets a few searches and not one after the other.
func TestWaitLies(t *testing.T) {
	// After 20 ms, 40 ms and so on. A search that takes longer than that begins anew with 20 ms.
	const least, doubled = 80 * time.Millisecond, 300 * time.Millisecond
	var took time.Duration
	for range 20 {
		var searches atomic.Int32
		ctx, cancel := context.WithCancel(t.Context())
		addr := serve(t, script{
			"SEARCH": func(w io.Writer, tag string) {
				if searches.Add(1) == 6 {
					cancel()
				}
				say("* 4 EXISTS\r\n"+nothing)(w, tag)
			},
			"IDLE": say("* 5 EXISTS\r\n+ \r\n* 6 EXISTS\r\n"), "DONE": say("* 7 EXISTS\r\nTAG OK\r\n"),
		})
		begin := time.Now()
		err := each(t, ctx, waiter(t, addr, "", patience), func(m *source.Message) error { t.Errorf("UID %d", m.UID); return nil })
		if took = time.Since(begin); err != context.Canceled || searches.Load() < 6 || took < least {
			t.Fatalf("%v, %d searches in %v", err, searches.Load(), took)
		}
		if took >= doubled {
			return
		}
	}
	t.Errorf("the pause does not grow: 6 searches in %v", took)
}

// TestWaitTLS: the end of TLS, with or without its alert, ends the wait.
func TestWaitTLS(t *testing.T) {
	cert, pem := imaptest.Certificate(t)
	for name, end := range map[string]func(*tls.Conn){
		"alert":    func(c *tls.Conn) { c.CloseWrite() },
		"no alert": func(c *tls.Conn) { c.NetConn().Close() },
	} {
		idling := make(chan struct{})
		addr := listen(t, func(conn net.Conn) {
			secure := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{cert}})
			s := script{"SEARCH": say(nothing), "IDLE": func(w io.Writer, tag string) {
				say("+ \r\n")(w, tag)
				<-idling
				end(secure)
			}}
			s.answer(secure, "GREETING", "*")
			s.read(secure, secure)
		})
		s := waiter(t, addr, "", patience)
		s.Address.TLS, s.Plain, s.RootCAs = true, false, &secure.Roots{}
		s.RootCAs.AppendPEM(pem)
		s.testOnlyIdling = func() { close(idling) }
		if got, err := all(t, s); len(got) != 0 || fault.KindOf(err) != fault.Temporary || !strings.Contains(err.Error(), "ends the connection") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestWaitCancelled: the end of ctx ends the wait.
func TestWaitCancelled(t *testing.T) {
	addr := serve(t, script{"SEARCH": say(nothing)})
	s := waiter(t, addr, "", time.Hour)
	ctx, cancel := context.WithCancel(context.Background())
	s.testOnlyIdling = cancel
	if err := each(t, ctx, s, func(*source.Message) error { return nil }); err != context.Canceled {
		t.Error(err)
	}
}

// TestWaitCommands: IDLE and DONE leave only where a run waits, DONE only once the server has
// agreed, and nothing else in between.
func TestWaitCommands(t *testing.T) {
	const idle, agreed, done = "T1 IDLE\r\n", "", "DONE\r\n"
	for _, tt := range []struct {
		waits bool
		lines []string // agreed stands for the server's answer
		ok    bool
	}{
		{true, []string{idle, agreed, done}, true},
		{true, []string{"T0 CAPABILITY\r\n", idle, agreed, done}, true},
		{false, []string{idle}, false},
		{false, []string{done}, false},
		{true, []string{done}, false},
		{true, []string{idle, done}, false},
		{true, []string{idle, agreed, done, done}, false},
		{true, []string{idle, "T2 NOOP\r\n"}, false},
		{true, []string{idle, agreed, "T2 NOOP\r\n"}, false},
		{true, []string{idle, agreed, "T2 UID SEARCH 1\r\n"}, false},
		{true, []string{idle, agreed, done, "T2 NOOP\r\n"}, false}, // the answer to IDLE comes first
		{true, []string{idle, agreed, "T2 IDLE\r\n"}, false},
		{true, []string{idle, agreed, "done\r\n"}, false},
		{true, []string{idle, agreed, "DONE x\r\n"}, false},
		{true, []string{idle, agreed, "T1 DONE\r\n"}, false},
		{true, []string{"T1 IDLE x\r\n"}, false},
		{true, []string{"T1 SELECT INBOX\r\n"}, false},
		{true, []string{"T1 UID STORE 1 +FLAGS (\\Seen)\r\n"}, false},
	} {
		g := newGuard(&scripted{r: strings.NewReader("")}, defaultLimits)
		g.out.waits = tt.waits
		var err error
		for _, line := range tt.lines {
			if err != nil {
				t.Fatalf("%q: %v", tt.lines, err)
			}
			if line == agreed {
				err = g.asked()
				continue
			}
			_, err = g.Write([]byte(line))
		}
		if (err == nil) != tt.ok || err != nil && !errors.Is(err, errCommand) {
			t.Errorf("%v %q: %v", tt.waits, tt.lines, err)
		}
	}
}

// TestDovecotWait: a real server announces a mail that is delivered while a run waits. It
// comes out at once and stays new.
func TestDovecotWait(t *testing.T) {
	srv := dovecottest.Start(t)
	srv.Deliver(t, "1700000001.M1.test", []byte("Subject: old\n\nold\n"))
	s := mailbox(t, srv.Addr, srv.CA)
	var last audit.Position
	if err := each(t, context.Background(), s, func(m *source.Message) error {
		last = audit.Position{UIDValidity: m.UIDValidity, UID: m.UID}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, search := range []string{"", "SUBJECT new"} {
		s.From, s.Wait = source.Start{Resume: true, Known: true, Position: last}, 2*patience
		s.testOnlyIdling = func() {
			srv.Deliver(t, "1700000002.M"+search+".test", []byte("Subject: new\n\nnew"+search+"\n"))
			s.testOnlyIdling = nil
		}
		var err error
		if s.Search, err = ParseSearch(search); err != nil {
			t.Fatal(err)
		}
		if got := must(t, s); !slices.Equal(got, []string{"new" + search}) {
			t.Errorf("%q", got)
		}
		last.UID++
	}
	for _, name := range srv.Names(t) {
		if !strings.HasPrefix(name, "new/") {
			t.Errorf("%s was renamed", name)
		}
	}
	s.Wait, s.From.Position = 50*time.Millisecond, last
	if got := must(t, s); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

// FuzzIdle: the library survives whatever the guard lets pass while it waits.
func FuzzIdle(f *testing.F) {
	for _, s := range []string{
		"* 4 EXISTS\r\n", "* 1 EXPUNGE\r\n* 0 EXPUNGE\r\n", "+ again\r\n", "T1 OK done\r\n", "* BYE\r\n", "* OK [CLOSED] x\r\n* 1 EXISTS\r\n",
		"* 1 FETCH (FLAGS (\\Seen) UID 1)\r\n", "* 4 FETCH (BODY[TEXT] {4}\r\nbody)\r\n", "* OK [UIDVALIDITY 9]\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		l := limits{idle: time.Second, command: time.Second, pace: 1 << 10, line: 1 << 10, search: 1 << 11, depth: 8, literal: 1 << 12, chatter: 1 << 13, renew: time.Second}
		conn := &gated{scripted{}, "IDLE", make(chan struct{})}
		conn.r = io.MultiReader(strings.NewReader("* OK [CAPABILITY IMAP4rev1 IDLE] hi\r\n"), opened(conn.open),
			strings.NewReader("+ idling\r\n"+string(b)))
		run := fetcher{Mailbox: &Mailbox{Wait: time.Second, testOnlyLimits: &l}, guard: newGuard(conn, l), unwatch: func() bool { return true }}
		run.news, run.until = make(chan struct{}, 1), time.Now().Add(time.Second)
		run.guard.out.waits = true
		run.client = imapclient.New(run.guard, &imapclient.Options{
			UnilateralDataHandler: &imapclient.UnilateralDataHandler{Mailbox: run.changed, Fetch: run.guard.unasked},
		})
		if run.idle() == nil {
			t.Error("the connection ended and idle does not say so")
		}
		if err := run.client.Close(); err != nil && strings.Contains(err.Error(), "panic") {
			t.Fatal(err)
		}
	})
}

// gated is a connection that says more only after a command was sent.
type gated struct {
	scripted
	command string
	open    chan struct{}
}

func (g *gated) Write(b []byte) (int, error) {
	if strings.Contains(string(b), g.command) {
		close(g.open)
	}
	return g.scripted.Write(b)
}

// opened is at its end once the channel is closed.
type opened chan struct{}

func (o opened) Read([]byte) (int, error) {
	<-o
	return 0, io.EOF
}
