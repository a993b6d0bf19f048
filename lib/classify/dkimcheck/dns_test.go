package dkimcheck

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// nameServer answers on loopback as the table says; a name that is not in it does
// not exist.
type nameServer struct {
	conn    net.PacketConn
	answers map[string]answerRR

	mu    sync.Mutex
	asked []string
}

type answerRR struct {
	code dnsmessage.RCode
	txt  [][]string
}

func newNameServer(t *testing.T, answers map[string]answerRR) *nameServer {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	s := &nameServer{conn: conn, answers: answers}
	go s.serve()
	return s
}

func (s *nameServer) serve() {
	buf := make([]byte, 1500)
	for {
		n, peer, err := s.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		var query dnsmessage.Message
		if query.Unpack(buf[:n]) != nil || len(query.Questions) != 1 {
			continue
		}
		if b, err := s.answer(&query); err == nil {
			s.conn.WriteTo(b, peer)
		}
	}
}

func (s *nameServer) answer(query *dnsmessage.Message) ([]byte, error) {
	q := query.Questions[0]
	s.mu.Lock()
	s.asked = append(s.asked, q.Name.String())
	s.mu.Unlock()
	a, ok := s.answers[q.Name.String()]
	if !ok {
		a.code = dnsmessage.RCodeNameError
	}
	reply := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: query.ID, Response: true, Authoritative: true, RecursionAvailable: true, RCode: a.code},
		Questions: query.Questions,
	}
	for _, parts := range a.txt {
		reply.Answers = append(reply.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: dnsmessage.TypeTXT, Class: dnsmessage.ClassINET},
			Body:   &dnsmessage.TXTResource{TXT: parts},
		})
	}
	return reply.Pack()
}

// TestDNS: which replies of a real resolver count as answers, and that it asks for the
// fully qualified name alone.
func TestDNS(t *testing.T) {
	s := newNameServer(t, map[string]answerRR{
		"key.example.com.":      {txt: [][]string{{"v=DKIM1; ", "p=x"}}},
		"two.example.com.":      {txt: [][]string{{"a"}, {"b"}}},
		"empty.example.com.":    {},
		"servfail.example.com.": {code: dnsmessage.RCodeServerFailure},
		"refused.example.com.":  {code: dnsmessage.RCodeRefused},
	})
	c := Checker{Resolver: DNS{func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", s.conn.LocalAddr().String())
	}}}
	l := c.begin(context.Background())
	defer l.cancel()
	for name, want := range map[string]struct {
		records   []string
		temporary bool
	}{
		"key.example.com":      {records: []string{"v=DKIM1; p=x"}},
		"two.example.com":      {records: []string{"a", "b"}},
		"empty.example.com":    {},
		"absent.example.com":   {},
		"servfail.example.com": {temporary: true},
		"refused.example.com":  {temporary: true},
	} {
		s.mu.Lock()
		s.asked = nil
		s.mu.Unlock()
		records, err := l.txt(name)
		if !slices.Equal(records, want.records) || errors.Is(err, ErrTemporary) != want.temporary || err != nil && !want.temporary {
			t.Errorf("%s: %q, %v", name, records, err)
		}
		if again, _ := l.txt(name); !slices.Equal(again, records) {
			t.Errorf("%s: %q the second time", name, again)
		}
		s.mu.Lock()
		if slices.ContainsFunc(s.asked, func(q string) bool { return q != name+"." }) || len(s.asked) == 0 {
			t.Errorf("%s: asked for %q", name, s.asked)
		}
		s.mu.Unlock()
	}
}
