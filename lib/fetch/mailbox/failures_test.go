package mailbox

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pulse/lib/fetch/source"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/fault"
)

// picky is a server that fails on some of its messages. It answers each search and fetch
// as asked.
type picky struct {
	uids     []int
	bad      map[int]func(w io.Writer, tag string) // answers in place of the message, and ends the answer
	validity func() int
	conns    atomic.Int64
	fetches  atomic.Int64
}

func (p *picky) serve(t *testing.T) string {
	s := script{
		"EXAMINE": func(w io.Writer, tag string) {
			validity := 7
			if p.validity != nil {
				validity = p.validity()
			}
			say(fmt.Sprintf("* %d EXISTS\r\n* OK [UIDVALIDITY %d] x\r\nTAG OK [READ-ONLY] done\r\n", len(p.uids), validity))(w, tag)
		},
	}
	return listen(t, func(conn net.Conn) {
		p.conns.Add(1)
		s.answer(conn, "GREETING", "*")
		s.read(&tap{conn, func(line string) bool { return p.line(conn, line) }}, conn)
	})
}

// tap removes the lines that answer has answered. Each read has one line.
type tap struct {
	net.Conn
	answer func(line string) bool
}

func (r *tap) Read(b []byte) (int, error) {
	for {
		n, err := r.Conn.Read(b) // the library sends a command at once
		if err != nil || !r.answer(string(b[:n])) {
			return n, err
		}
	}
}

// line answers UID SEARCH and UID FETCH.
func (p *picky) line(w io.Writer, line string) bool {
	words := strings.Fields(line)
	if len(words) < 4 || words[1] != "UID" {
		return false
	}
	tag := words[0]
	if words[2] == "SEARCH" {
		above := 0
		if words[3] == "UID" {
			above, _ = strconv.Atoi(strings.TrimSuffix(words[4], ":*"))
		}
		b := "* SEARCH"
		for _, uid := range p.uids {
			if uid >= above {
				b += fmt.Sprint(" ", uid)
			}
		}
		io.WriteString(w, b+"\r\n"+tag+" OK\r\n")
		return true
	}
	p.fetches.Add(1)
	for _, uid := range p.uids {
		if !within(words[3], uid) {
			continue
		}
		if fail := p.bad[uid]; fail != nil {
			fail(w, tag)
			return true
		}
		io.WriteString(w, fetched(uid))
	}
	io.WriteString(w, tag+" OK\r\n")
	return true
}

// within reports whether a set such as 1:3,7 has the UID.
func within(set string, uid int) bool {
	for part := range strings.SplitSeq(set, ",") {
		first, last, ok := strings.Cut(part, ":")
		a, _ := strconv.Atoi(first)
		b := a
		if ok {
			b, _ = strconv.Atoi(last)
		}
		if a <= uid && uid <= b {
			return true
		}
	}
	return false
}

// outcome returns the UIDs that come. Those of unavailable messages have a !.
func outcome(t *testing.T, s *Mailbox) (string, error) {
	t.Helper()
	var list []string
	err := each(t, context.Background(), s, func(m *source.Message) error {
		text := fmt.Sprint(m.UID)
		if m.Unavailable != nil {
			text += "!"
			if len(m.Header)+len(m.Body) > 0 || m.Source != s.Address.String() || m.UIDValidity == 0 || !m.Received.IsZero() {
				t.Errorf("%+v", m)
			}
		}
		list = append(list, text)
		return nil
	})
	return strings.Join(list, " "), err
}

// TestFailures: one message never stops a mailbox. If the server fails on it twice when it
// is asked for it alone, and then serves another, the message is yielded in its place as
// unavailable, and the run continues. A server that fails on all messages is ill, and none
// is skipped.
func TestFailures(t *testing.T) {
	no, dies := say("TAG NO [SERVERBUG] \x1b[2Jinternal error secret-of-the-test\r\n"), hangUp("")
	all := func(fail func(io.Writer, string), uids ...int) map[int]func(io.Writer, string) {
		m := map[int]func(io.Writer, string){}
		for _, uid := range uids {
			m[uid] = fail
		}
		return m
	}
	upTo := func(n int) (list []int) {
		for i := range n {
			list = append(list, i+1)
		}
		return list
	}
	moved := 0
	for _, tt := range []struct {
		name   string
		server *picky
		from   source.Start
		want   string
		says   string // what the error says; empty if there is none
		conns  int    // at most
	}{
		{"refused", &picky{uids: upTo(4), bad: all(no, 2)}, source.Start{}, "1 2! 3 4", "", 1},
		{"not understood", &picky{uids: upTo(4), bad: all(say("TAG BAD what\r\n"), 2)}, source.Start{}, "1 2! 3 4", "", 1},
		{"dies", &picky{uids: upTo(4), bad: all(dies, 2)}, source.Start{}, "1 2! 3 4", "", 4},
		{"says BYE", &picky{uids: upTo(4), bad: all(hangUp("* BYE bug\r\n"), 2)}, source.Start{}, "1 2! 3 4", "", 4},
		{"dies in the message", &picky{uids: upTo(4), bad: all(hangUp(fetched(2)[:100]), 2)}, source.Start{}, "1 2! 3 4", "", 4},
		{"falls silent", &picky{uids: upTo(4), bad: all(silence, 2)}, source.Start{}, "1 2! 3 4", "", 4},
		{"a date of nowhere", &picky{uids: upTo(4), bad: all(say(strings.Replace(fetched(2), "21-Nov", "99-Foo", 1)), 2)}, source.Start{}, "1 2! 3 4", "", 4},
		{"parts missing", &picky{uids: upTo(4), bad: all(say("* 2 FETCH (UID 2 RFC822.SIZE 12)\r\nTAG OK\r\n"), 2)}, source.Start{}, "1 2! 3 4", "", 4},
		{"larger than asked for", &picky{uids: upTo(4), bad: all(say(strings.Split(fetched(2), "{4}")[0]+"{99000000}\r\n"), 2)}, source.Start{}, "1 2! 3 4", "", 4},
		{"the first", &picky{uids: upTo(3), bad: all(dies, 1)}, source.Start{}, "1! 2 3", "", 4},
		{"the last", &picky{uids: upTo(3), bad: all(dies, 3)}, source.Start{}, "1 2 3!", "", 4},
		{"the only one", &picky{uids: []int{9}, bad: all(dies, 9)}, source.Start{}, "9!", "", 4},
		{"the only new one", &picky{uids: upTo(5), bad: all(dies, 5)}, source.Start{Resume: true, Known: true, Position: audit.Position{UIDValidity: 7, UID: 4}}, "5!", "", 4},
		{"the only new ones, beside an old one", &picky{uids: upTo(5), bad: all(no, 2, 4, 5)}, source.Start{Resume: true, Known: true, Position: audit.Position{UIDValidity: 7, UID: 3}}, "4! 5!", "", 1},
		{"neighbours", &picky{uids: upTo(5), bad: all(dies, 2, 3)}, source.Start{}, "1 2! 3! 4 5", "", 7},
		{"some are refused, others kill", &picky{uids: upTo(6), bad: map[int]func(io.Writer, string){1: no, 3: dies, 4: no, 6: no}}, source.Start{}, "1! 2 3! 4! 5 6!", "", 4},
		{"limit", &picky{uids: upTo(5), bad: all(no, 1, 3)}, source.Start{Resume: true, Limit: 3, Known: true, Position: audit.Position{UIDValidity: 7}}, "1! 2 3!", "", 1},
		{"many in a row", &picky{uids: upTo(14), bad: all(no, upTo(13)[1:]...)}, source.Start{Limit: 14}, "1 2! 3! 4! 5! 6! 7! 8! 9! 10! 11! 12! 13! 14", "", 1},

		{"fails once", &picky{uids: upTo(4), bad: all(inTurn(dies, say(fetched(2)+"TAG OK\r\n")), 2)}, source.Start{}, "1 2 3 4", "", 2},
		{"fails twice, once alone", &picky{uids: upTo(4), bad: all(inTurn(dies, dies, say(fetched(2)+"TAG OK\r\n")), 2)}, source.Start{}, "1 2 3 4", "", 3},
		{"removed meanwhile", &picky{uids: upTo(3), bad: all(say("TAG NO [EXPUNGEISSUED] gone\r\n"), 2)}, source.Start{}, "1 3", "1 messages vanished", 1},

		{"refuses all", &picky{uids: upTo(50), bad: all(no, upTo(50)...)}, source.Start{Limit: 50}, "", "internal error", 1},
		{"dies on all", &picky{uids: upTo(50), bad: all(dies, upTo(50)...)}, source.Start{Limit: 50}, "", "ends the connection", 1 + maxReconnects + 1},
		{"falls ill", &picky{uids: upTo(4), bad: map[int]func(io.Writer, string){1: inTurn(hangUp(fetched(1)), dies), 2: dies, 3: dies, 4: dies}}, source.Start{}, "1", "ends the connection", 1 + maxReconnects + 1},
		{"another mailbox under the same name", &picky{uids: upTo(4), bad: all(dies, 2), validity: func() int { moved++; return 6 + moved }}, source.Start{}, "1", "replaced", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mailbox(t, tt.server.serve(t), "")
			s.From, s.From.Now = tt.from, now
			l := defaultLimits
			s.testOnlyLimits = &l
			var got string
			var err error
			for idle := time.Second; idle < patience; idle *= 2 { // as long as a busy machine takes for the others
				if tt.name == "falls silent" {
					l.idle, l.command = idle, 3*idle
				}
				tt.server.conns.Store(0)
				if got, err = outcome(t, s); tt.name != "falls silent" || got == tt.want {
					break
				}
			}
			if got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
			if tt.says == "" && err != nil || tt.says != "" && (err == nil || fault.KindOf(err) != fault.Temporary || !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("%v, want %q", err, tt.says)
			}
			if err != nil && (strings.Contains(err.Error(), "secret-of-the-test") || strings.Count(err.Error(), s.Address.String()) != 1) {
				t.Errorf("%v", err)
			}
			if n := int(tt.server.conns.Load()); n > tt.conns {
				t.Errorf("%d connections, want %d", n, tt.conns)
			}
		})
	}
}

// TestFailuresOfManyRuns: if there are more deadly messages than one run may connect for,
// each run gets further.
func TestFailuresOfManyRuns(t *testing.T) {
	server := picky{bad: map[int]func(io.Writer, string){}}
	for uid := 1; uid <= 40; uid++ {
		if server.uids = append(server.uids, uid); uid%3 != 0 {
			server.bad[uid] = hangUp("")
		}
	}
	s := mailbox(t, server.serve(t), "")
	s.From = source.Start{Resume: true, Known: true, Position: audit.Position{UIDValidity: 7}}
	seen := map[uint32]bool{}
	for runs := 0; ; runs++ {
		server.conns.Store(0)
		before := len(seen)
		err := each(t, context.Background(), s, func(m *source.Message) error {
			if seen[m.UID] || (m.Unavailable != nil) != (m.UID%3 != 0) {
				t.Errorf("UID %d: seen %v, %v", m.UID, seen[m.UID], m.Unavailable)
			}
			seen[m.UID], s.From.Position.UID = true, m.UID
			return nil
		})
		if n := server.conns.Load(); n > 1+maxReconnects+1 {
			t.Errorf("%d connections", n)
		}
		if err == nil {
			break
		}
		if fault.KindOf(err) != fault.Temporary || len(seen) == before {
			t.Fatalf("run %d: %d messages: %v", runs, len(seen)-before, err)
		}
	}
	if len(seen) != 40 {
		t.Errorf("%d messages", len(seen))
	}
}

// TestFailuresConnections: a server that refuses some messages, dies on others and serves
// one as a proof costs no more connections for that proof.
func TestFailuresConnections(t *testing.T) {
	server := picky{uids: []int{1}, bad: map[int]func(io.Writer, string){}}
	for uid := 2; uid <= 400; uid++ {
		server.uids = append(server.uids, uid)
		if server.bad[uid] = say("TAG NO no\r\n"); uid%11 == 0 {
			server.bad[uid] = hangUp("")
		}
	}
	s := mailbox(t, server.serve(t), "")
	s.From = source.Start{Limit: 400}
	got, err := outcome(t, s)
	if n := server.conns.Load(); n > 1+maxReconnects+1 || err == nil || !strings.HasPrefix(got, "1 2! 3! 4! 5!") {
		t.Errorf("%d connections, %s, %v", n, got, err)
	}
}

// TestFailuresSilence: messages on which the server falls silent leave the run time to get
// past them.
func TestFailuresSilence(t *testing.T) {
	server := picky{uids: []int{1, 2, 3, 4, 5}, bad: map[int]func(io.Writer, string){2: silence, 3: silence, 4: silence}}
	s := mailbox(t, server.serve(t), "")
	l := defaultLimits
	s.testOnlyLimits = &l
	var got string
	var err error
	var took time.Duration
	for l.idle = 2 * time.Second; l.idle < time.Minute; l.idle *= 2 { // on a machine that is busy the server is slow, too
		begin := time.Now()
		got, err = outcome(t, s)
		if took = time.Since(begin); got == "1 2! 3! 4! 5" && err == nil && took <= 30*l.idle {
			return
		}
	}
	t.Errorf("%s in %v: %v", got, took, err)
}

// TestFailuresTimeout: the end of ctx ends a run that fails, too.
func TestFailuresTimeout(t *testing.T) {
	server := picky{uids: []int{1, 2, 3}, bad: map[int]func(io.Writer, string){2: silence}}
	var got []uint32
	var err error
	for limit := 200 * time.Millisecond; len(got) == 0 && limit < patience; limit *= 2 { // as long as a busy machine takes for the first
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		err = each(t, ctx, mailbox(t, server.serve(t), ""), func(m *source.Message) error { got = append(got, m.UID); return nil })
		cancel()
	}
	if err != context.DeadlineExceeded || !slices.Equal(got, []uint32{1}) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestFailuresRandomWitness: the first messages are deadly, more of them than one run may
// connect for. If the witness were the same message each time, and deadly, too, no run
// would get any further.
func TestFailuresRandomWitness(t *testing.T) {
	server := picky{bad: map[int]func(io.Writer, string){}}
	for uid := 1; uid <= 15; uid++ {
		if server.uids = append(server.uids, uid); uid <= 8 {
			server.bad[uid] = hangUp("")
		}
	}
	s := mailbox(t, server.serve(t), "")
	s.From = source.Start{Resume: true, Known: true, Position: audit.Position{UIDValidity: 7}}
	for runs := 0; ; runs++ {
		err := each(t, context.Background(), s, func(m *source.Message) error {
			s.From.Position.UID = m.UID
			return nil
		})
		if err == nil {
			break
		}
		if runs == 300 { // half of them get on
			t.Fatalf("after %d runs at UID %d: %v", runs, s.From.Position.UID, err)
		}
	}
	if s.From.Position.UID != 15 {
		t.Error(s.From.Position.UID)
	}
}
