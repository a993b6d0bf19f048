package dkimcheck

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"pulse/lib/classify/dkimcheck/dnstest"
	"pulse/lib/shared/cmdline/cmdlinetest"
)

// TestDNS: which replies of a real resolver count as answers, and that it asks for the
// fully qualified name alone.
func TestDNS(t *testing.T) {
	s := dnstest.Start(t, dnstest.Zone{
		"key.example.com":      {TXT: []string{"v=DKIM1; " + strings.Repeat("x", 300)}},
		"large.example.com":    {TXT: []string{strings.Repeat("x", 2000)}},
		"two.example.com":      {TXT: []string{"a", "b"}},
		"empty.example.com":    {},
		"servfail.example.com": {Code: dnsmessage.RCodeServerFailure},
		"refused.example.com":  {Code: dnsmessage.RCodeRefused},
	})
	c := Checker{Resolver: DNS{s.Addr}, Lookup: time.Minute, Total: time.Minute}
	l := c.begin(context.Background())
	defer l.cancel()
	for name, want := range map[string]struct {
		records   []string
		temporary bool
		asked     string
	}{
		"key.example.com":      {records: []string{"v=DKIM1; " + strings.Repeat("x", 300)}, asked: "udp"},
		"large.example.com":    {records: []string{strings.Repeat("x", 2000)}, asked: "udp tcp"},
		"two.example.com":      {records: []string{"a", "b"}, asked: "udp"},
		"empty.example.com":    {asked: "udp"},
		"absent.example.com":   {asked: "udp"},
		"servfail.example.com": {temporary: true, asked: "udp"},
		"refused.example.com":  {temporary: true, asked: "udp"},
	} {
		records, err := l.txt(name)
		if !slices.Equal(records, want.records) || errors.Is(err, ErrTemporary) != want.temporary || err != nil && !want.temporary {
			t.Errorf("%s: %q, %v", name, records, err)
		}
		if again, _ := l.txt(name); !slices.Equal(again, records) {
			t.Errorf("%s: %q the second time", name, again)
		}
		var asked []string
		for _, q := range s.Asked() {
			asked = append(asked, strings.TrimSuffix(q, " "+name))
		}
		if got := strings.Join(slices.Compact(asked), " "); got != want.asked {
			t.Errorf("%s: asked %q, want %q", name, got, want.asked)
		}
	}
}

// cut shortens a reply to a number of bytes.
func cut(n int) func(string, []byte, []byte) [][]byte {
	return func(_ string, _, reply []byte) [][]byte { return [][]byte{reply[:n]} }
}

// renamed returns the packed message with another name in its question.
func renamed(t *testing.T, reply []byte) []byte {
	t.Helper()
	var m dnsmessage.Message
	if err := m.Unpack(reply); err != nil {
		t.Error(err)
		return nil
	}
	m.Questions[0].Name = dnsmessage.MustNewName("other.example.com.")
	b, err := m.Pack()
	if err != nil {
		t.Error(err)
	}
	return b
}

// TestHostileDNS: what is not the answer to the question is passed over, and nothing that
// a name server does makes a lookup last longer than it may, or return more than it may.
// A lie that is told before the answer changes nothing.
func TestHostileDNS(t *testing.T) {
	const name, genuine = "key.example.com", "v=DKIM1; p=genuine"
	wrongID := func(b []byte) []byte { return append([]byte{b[0] ^ 1}, b[1:]...) }
	truncate := func(b []byte) []byte { c := slices.Clone(b); c[2] |= 2; return c }
	forged := dnstest.Start(t, dnstest.TXT(map[string][]string{name: {"v=DKIM1; p=forged"}}))
	for what, c := range map[string]struct {
		spoil dnstest.Spoiler
		good  bool
	}{
		"plain":              {nil, true},
		"silence":            {func(string, []byte, []byte) [][]byte { return nil }, false},
		"wrong id":           {func(_ string, _, b []byte) [][]byte { return [][]byte{wrongID(b)} }, false},
		"wrong id, then":     {func(_ string, _, b []byte) [][]byte { return [][]byte{wrongID(forgery(t, forged, b)), b} }, true},
		"other question":     {func(_ string, _, b []byte) [][]byte { return [][]byte{renamed(t, b)} }, false},
		"question, then":     {func(_ string, _, b []byte) [][]byte { return [][]byte{renamed(t, forgery(t, forged, b)), b} }, true},
		"its own question":   {func(_ string, q, _ []byte) [][]byte { return [][]byte{q} }, false},
		"garbage, then":      {func(_ string, _, b []byte) [][]byte { return [][]byte{{1, 2, 3}, {}, b} }, true},
		"cut in the header":  {cut(7), false},
		"cut in the answer":  {func(_ string, _, b []byte) [][]byte { return [][]byte{b[:len(b)-3]} }, false},
		"truncated, TCP":     {func(n string, _, b []byte) [][]byte { return only(n == "tcp", b, truncate(b)) }, true},
		"truncated, no TCP":  {func(n string, _, b []byte) [][]byte { return only(n == "tcp", nil, truncate(b)) }, false},
		"TCP with wrong id":  {func(n string, _, b []byte) [][]byte { return only(n == "tcp", wrongID(b), truncate(b)) }, false},
		"TCP announces more": {func(n string, _, b []byte) [][]byte { return only(n == "tcp", []byte{}, truncate(b)) }, false},
		"datagram too large": {func(n string, _, b []byte) [][]byte { return [][]byte{append(slices.Clone(b), make([]byte, 60000)...)} }, true},
		"sixty thousand": {func(n string, _, b []byte) [][]byte {
			return only(n == "tcp", append(slices.Clone(b), make([]byte, 60000)...), truncate(b))
		}, true},
	} {
		s := dnstest.Start(t, dnstest.TXT(map[string][]string{name: {genuine}}))
		s.Spoil(c.spoil)
		checker := Checker{Resolver: DNS{s.Addr}, Lookup: 300 * time.Millisecond}
		if c.good {
			checker.Lookup, checker.Total = time.Minute, time.Minute // a good answer comes at once, but the machine may be busy
		}
		l := checker.begin(context.Background())
		records, err := l.txt(name)
		if good := slices.Equal(records, []string{genuine}); good != c.good || (err == nil) != c.good || err != nil && !errors.Is(err, ErrTemporary) {
			t.Errorf("%s: %q, %v", what, records, err)
		}
		l.cancel()
	}
}

// TestLostDatagram: a question that gets no answer is asked again within the time of one
// lookup.
func TestLostDatagram(t *testing.T) {
	const name = "key.example.com"
	s := dnstest.Start(t, dnstest.TXT(map[string][]string{name: {"v=DKIM1; p=x"}}))
	var lost atomic.Bool
	s.Spoil(func(_ string, _, reply []byte) [][]byte {
		if !lost.Swap(true) {
			return nil
		}
		return [][]byte{reply}
	})
	var records []string
	var err error
	for limit := time.Second; limit < time.Minute; limit *= 2 { // on a machine that is busy an answer takes long, too
		lost.Store(false)
		c := Checker{Resolver: DNS{s.Addr}, Lookup: limit, Total: time.Minute}
		l := c.begin(context.Background())
		records, err = l.txt(name)
		l.cancel()
		if err == nil && len(records) == 1 {
			return
		}
	}
	t.Errorf("%q, %v, asked %q", records, err, s.Asked())
}

// forgery returns the forged answer to the question that a reply answers, with its id.
func forgery(t *testing.T, forged *dnstest.Server, reply []byte) []byte {
	t.Helper()
	conn, err := net.Dial("udp", forged.Addr)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer conn.Close()
	q := dnsmessage.Message{Header: dnsmessage.Header{ID: uint16(reply[0])<<8 | uint16(reply[1])}}
	q.Questions = []dnsmessage.Question{{Name: dnsmessage.MustNewName("key.example.com."), Type: dnsmessage.TypeTXT, Class: dnsmessage.ClassINET}}
	b, err := q.Pack()
	if err == nil {
		_, err = conn.Write(b)
	}
	answer := make([]byte, 1500)
	n, readErr := conn.Read(answer)
	if err = errors.Join(err, readErr); err != nil {
		t.Error(err)
	}
	return answer[:n]
}

// only returns one of two replies, none if it is nil.
func only(first bool, a, b []byte) [][]byte {
	if !first {
		a = b
	}
	if a == nil {
		return nil
	}
	return [][]byte{a}
}

// TestManyRecords: an answer of too many or too long records is an error, not a verdict of
// what fits.
func TestManyRecords(t *testing.T) {
	s := dnstest.Start(t, dnstest.TXT(map[string][]string{
		"many.example.com": slices.Repeat([]string{"v=DKIM1; p=x"}, maxRecords+1),
		"long.example.com": {strings.Repeat("x", maxRecord+1)},
	}))
	c := Checker{Resolver: DNS{s.Addr}, Lookup: time.Minute, Total: time.Minute}
	l := c.begin(context.Background())
	defer l.cancel()
	for _, name := range []string{"many.example.com", "long.example.com"} {
		if records, err := l.txt(name); !errors.Is(err, errOversized) {
			t.Errorf("%s: %d records, %v", name, len(records), err)
		}
	}
}

// TestRealNameServer: dnsmasq(8) serves a key that does not fit into a datagram, and
// refuses what is not its own.
func TestRealNameServer(t *testing.T) {
	program, err := exec.LookPath("dnsmasq")
	if err != nil {
		program = "/usr/sbin/dnsmasq"
	}
	if _, err := os.Stat(program); err != nil {
		t.Skip("there is no dnsmasq, which scripts/test installs: a real name server was not asked")
	}
	addr := cmdlinetest.FreePort(t)
	large := "v=DKIM1; p=" + strings.Repeat("x", 1500)
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(program, "--conf-file=/dev/null", "--pid-file=", "--no-daemon", "--no-resolv", "--no-hosts", "--bind-interfaces",
		"--listen-address=127.0.0.1", "--user=", "--group=", "--port="+port, "--local=/example.com/",
		"--txt-record=large.example.com,"+large, "--txt-record=small.example.com,v=DKIM1; p=")
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() { gone <- cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill(); <-gone }()
	c := Checker{Resolver: DNS{addr}, Lookup: time.Minute, Total: time.Minute}
	for {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
			break
		}
		select {
		case err := <-gone:
			gone <- err
			t.Fatalf("dnsmasq: %v: %s", err, said.String())
		default:
		}
	}
	l := c.begin(context.Background())
	defer l.cancel()
	for name, want := range map[string][]string{"large.example.com": {large}, "small.example.com": {"v=DKIM1; p="}, "absent.example.com": nil} {
		if got, err := l.txt(name); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got, err := l.txt("example.org"); !errors.Is(err, ErrTemporary) {
		t.Errorf("a name that it does not serve: %q, %v", got, err)
	}
}
