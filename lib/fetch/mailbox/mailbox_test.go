package mailbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/fetch/mailbox/imaptest"
	"pulse/lib/fetch/secure"
	"pulse/lib/fetch/source"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/fault"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// mailbox returns a server's INBOX, as pulse-fetch would prepare it.
func mailbox(t *testing.T, addr, ca string) *Mailbox {
	t.Helper()
	host, port, _ := strings.Cut(addr, ":")
	s := &Mailbox{
		Address:  Address{User: imaptest.User, Host: host, Port: port, Mailbox: "INBOX", TLS: ca != ""},
		Plain:    ca == "",
		Password: imaptest.Password, Window: 64 << 10, From: source.Start{Now: now},
	}
	if ca != "" {
		b, err := os.ReadFile(ca)
		if err != nil {
			t.Fatal(err)
		}
		s.RootCAs = &secure.Roots{}
		s.RootCAs.AppendPEM(b)
	}
	return s
}

// all returns the bodies that come, and the error at the end.
func all(t *testing.T, s source.Source) (bodies []string, err error) {
	t.Helper()
	err = each(t, context.Background(), s, func(m *source.Message) error {
		bodies = append(bodies, strings.TrimSpace(string(m.Body)))
		return nil
	})
	if errors.Is(err, errStuck) {
		return nil, err // bodies is still being written to
	}
	return bodies, err
}

// patience is how long a run, and a fake server, may take: many times what any of them
// needs.
const patience = 10 * time.Minute

var errStuck = errors.New("the run does not end, not even with its context")

// each is s.Each with a bound on its time. A run that is stuck fails its test and prints
// where every goroutine is, and the other tests continue.
func each(t *testing.T, ctx context.Context, s source.Source, yield func(*source.Message) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.Each(ctx, yield) }()
	select {
	case err := <-done:
		return err
	case <-time.After(patience + 5*time.Second):
		stacks := make([]byte, 1<<20)
		t.Errorf("%v\n%s", errStuck, stacks[:runtime.Stack(stacks, true)])
		return errStuck
	}
}

func must(t *testing.T, s source.Source) []string {
	t.Helper()
	bodies, err := all(t, s)
	if err != nil {
		t.Fatal(err)
	}
	return bodies
}

// fill delivers messages 1 to n, an hour apart, the last an hour before now.
func fill(t *testing.T, srv *imaptest.Server, n int) {
	for i := 1; i <= n; i++ {
		srv.Append(t, "INBOX", fmt.Sprintf("From: a@example.com\nSubject: number %d\n\nbody %d\n", i, i), now.Add(-time.Duration(n-i+1)*time.Hour))
	}
}

func bodies(first, last int) (list []string) {
	for i := first; i <= last; i++ {
		list = append(list, fmt.Sprintf("body %d", i))
	}
	return list
}

func TestIMAP(t *testing.T) {
	srv := imaptest.Start(t, false)
	fill(t, srv, 60)
	s := mailbox(t, srv.Addr, srv.CA)
	var first *source.Message
	err := each(t, context.Background(), s, func(m *source.Message) error {
		if first == nil {
			c := *m
			c.Header, c.Body = slices.Clone(m.Header), slices.Clone(m.Body)
			first = &c
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "imaps://me@" + srv.Addr + "/INBOX"
	if first.Source != want || first.UID != 51 || first.UIDValidity == 0 || !first.Received.Equal(now.Add(-10*time.Hour)) ||
		string(first.Header) != "From: a@example.com\r\nSubject: number 51\r\n\r\n" || string(first.Body) != "body 51\r\n" ||
		first.Size != int64(len(first.Header)+len(first.Body)) || first.Partial {
		t.Errorf("%+v", first)
	}
	validity := first.UIDValidity
	known := func(uid, validity uint32, ago time.Duration) audit.Position {
		return audit.Position{UIDValidity: validity, UID: uid, Received: now.Add(-ago)}
	}
	for _, tt := range []struct {
		name   string
		from   source.Start
		search string
		want   []string
	}{
		{"the newest ten", source.Start{}, "", bodies(51, 60)},
		{"the newest two", source.Start{Limit: 2}, "", bodies(59, 60)},
		{"more than there are", source.Start{Limit: 1000}, "", bodies(1, 60)},
		{"searched", source.Start{}, "SUBJECT \"number 7\"", bodies(7, 7)},
		{"searched and limited", source.Start{Limit: 3}, "SUBJECT \"number 1\"", bodies(17, 19)},
		{"first run: 48 hours", source.Start{Resume: true}, "", bodies(13, 60)},
		{"first run, limited: the oldest", source.Start{Resume: true, Limit: 2}, "", bodies(13, 14)},
		{"resumed", source.Start{Resume: true, Known: true, Position: known(57, validity, 0)}, "", bodies(58, 60)},
		{"resumed, limited", source.Start{Resume: true, Limit: 1, Known: true, Position: known(57, validity, 0)}, "", bodies(58, 58)},
		{"resumed, searched", source.Start{Resume: true, Known: true, Position: known(10, validity, 0)}, "SUBJECT \"number 1\"", bodies(11, 19)},
		{"nothing new", source.Start{Resume: true, Known: true, Position: known(60, validity, 0)}, "", nil},
		{"beyond all", source.Start{Resume: true, Known: true, Position: known(5000, validity, 0)}, "", nil},
		{"the highest UID there can be", source.Start{Resume: true, Known: true, Position: known(1<<32-1, validity, 0)}, "", nil},
		{"another UIDVALIDITY", source.Start{Resume: true, Known: true, Position: known(57, validity+1, 5*time.Hour)}, "", bodies(56, 60)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mailbox(t, srv.Addr, srv.CA)
			s.From, s.From.Now = tt.from, now
			var err error
			if s.Search, err = ParseSearch(tt.search); err != nil {
				t.Fatal(err)
			}
			if got := must(t, s); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	if n := srv.Unseen(t, "INBOX"); n != 60 {
		t.Errorf("%d of 60 messages are unseen", n)
	}
}

func TestIMAPEmpty(t *testing.T) {
	srv := imaptest.Start(t, false)
	for _, from := range []source.Start{{}, {Resume: true}} {
		s := mailbox(t, srv.Addr, srv.CA)
		s.From, s.From.Now = from, now
		if got := must(t, s); got != nil {
			t.Errorf("%q", got)
		}
	}
}

// TestIMAPBatches: more messages than one FETCH asks for come in order.
func TestIMAPBatches(t *testing.T) {
	srv := imaptest.Start(t, false)
	fill(t, srv, 2*batch+1)
	s := mailbox(t, srv.Addr, srv.CA)
	s.From.Limit = 2*batch + 1
	if got := must(t, s); !slices.Equal(got, bodies(1, 2*batch+1)) {
		t.Errorf("%d messages", len(got))
	}
}

// TestIMAPWindow: a body is cut at the window and marked as partial, a header that is too
// large is cut, and no body is asked for when only headers are wanted.
func TestIMAPWindow(t *testing.T) {
	srv := imaptest.Start(t, false)
	srv.Append(t, "INBOX", "A: b\n\n"+strings.Repeat("x", 100), now)
	srv.Append(t, "INBOX", "A: "+strings.Repeat("y", 300<<10)+"\n\nbody", now)
	for _, tt := range []struct {
		window, body int64
		partial      bool
	}{{0, 0, true}, {99, 99, true}, {100, 100, false}, {101, 100, false}} {
		s := mailbox(t, srv.Addr, srv.CA)
		s.Window = tt.window
		var got []source.Message
		if err := each(t, context.Background(), s, func(m *source.Message) error { got = append(got, *m); return nil }); err != nil {
			t.Fatal(err)
		}
		if m := got[0]; int64(len(m.Body)) != tt.body || m.Partial != tt.partial || m.Size != 108 {
			t.Errorf("window %d: %d bytes, partial %v, size %d", tt.window, len(m.Body), m.Partial, m.Size)
		}
		if m := got[1]; len(m.Header) != headerWindow || m.Size < 300<<10 {
			t.Errorf("window %d: %d bytes of header, size %d", tt.window, len(m.Header), m.Size)
		}
	}
}

// TestIMAPRefusals: a refusal is final, and not a reason to try again. A failure is.
func TestIMAPRefusals(t *testing.T) {
	srv := imaptest.Start(t, false)
	plain := imaptest.Start(t, true)
	for _, tt := range []struct {
		name   string
		change func(*Mailbox)
		kind   fault.Kind
	}{
		{"wrong password", func(s *Mailbox) { s.Password = "hunter2-wrong" }, fault.Failed},
		{"wrong password, LOGIN", func(s *Mailbox) { s.Password, s.Auth = "hunter2-wrong", authLogin }, fault.Failed},
		{"no such mailbox", func(s *Mailbox) { s.Address.Mailbox = "Nothing/There" }, fault.Failed},
		{"untrusted certificate", func(s *Mailbox) { s.RootCAs = &secure.Roots{} }, fault.Failed},
		{"certificate for another name", func(s *Mailbox) { s.Address.Host = "localhost" }, fault.Failed},
		{"no server", func(s *Mailbox) { s.Address.Port = "1" }, fault.Temporary},
		{"no TLS at the server", func(s *Mailbox) { _, s.Address.Port, _ = strings.Cut(plain.Addr, ":") }, fault.Temporary},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mailbox(t, srv.Addr, srv.CA)
			tt.change(s)
			got, err := all(t, s)
			if err == nil || len(got) > 0 || fault.KindOf(err) != tt.kind {
				t.Fatalf("%d messages, kind %v: %v", len(got), fault.KindOf(err), err)
			}
			if !strings.HasPrefix(err.Error(), s.Address.String()) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestIMAPPlain(t *testing.T) {
	srv := imaptest.Start(t, true)
	fill(t, srv, 3)
	for _, auth := range []Auth{authAny, authPlain, authLogin} {
		s := mailbox(t, srv.Addr, "")
		s.Auth = auth
		if got := must(t, s); !slices.Equal(got, bodies(1, 3)) {
			t.Errorf("%s: %q", auth, got)
		}
	}
}

// TestIMAPStop: yield can stop a run at any message, and its error comes back.
func TestIMAPStop(t *testing.T) {
	srv := imaptest.Start(t, false)
	fill(t, srv, 50)
	enough := errors.New("enough")
	s := mailbox(t, srv.Addr, srv.CA)
	s.From.Limit = 50
	n := 0
	err := each(t, context.Background(), s, func(*source.Message) error {
		if n++; n == 3 {
			return enough
		}
		return nil
	})
	if err != enough || n != 3 {
		t.Errorf("%d messages, %v", n, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n = 0
	err = each(t, ctx, s, func(*source.Message) error {
		if n++; n == 3 {
			cancel()
		}
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) || n != 3 {
		t.Errorf("%d messages, %v", n, err)
	}
}
