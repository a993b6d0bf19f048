// Package dnstest is a name server for tests, on loopback: over UDP and TCP, with a zone of
// TXT records, and as hostile as a test wants.
//
// Invariant: a name that is not in the zone does not exist, and a reply that does not fit
// into what the question allows (EDNS) is cut short, so that it has to be asked for again
// over TCP. Caveat: it knows no other type of record.
package dnstest

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// Answer is what the zone has for a name.
type Answer struct {
	Code dnsmessage.RCode
	TXT  []string // each is one record
}

// Zone holds answers by name, in lower case and without a dot at the end.
type Zone map[string]Answer

// TXT returns a zone that has these records.
func TXT(records map[string][]string) Zone {
	z := Zone{}
	for name, list := range records {
		z[name] = Answer{TXT: list}
	}
	return z
}

// Server is a name server.
type Server struct {
	Addr string // host:port

	zone  Zone
	mu    sync.Mutex
	asked []string
	spoil Spoiler
}

// Spoiler returns what is sent in place of a reply, each over UDP as a datagram and over
// TCP as a message. The question was asked over network, udp or tcp.
type Spoiler func(network string, query, reply []byte) [][]byte

// Spoil has every reply spoilt from now on; nil ends that.
func (s *Server) Spoil(how Spoiler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spoil = how
}

// Start starts a server, which ends with the test.
func Start(t testing.TB, zone Zone) *Server {
	t.Helper()
	s := &Server{zone: zone}
	var udp net.PacketConn
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	for n := 0; err == nil && udp == nil; n++ {
		if udp, err = net.ListenPacket("udp", tcp.Addr().String()); err != nil && n < 100 { // another process may have it
			tcp.Close()
			tcp, err = net.Listen("tcp", "127.0.0.1:0")
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Addr = tcp.Addr().String()
	t.Cleanup(func() { udp.Close(); tcp.Close() })
	go s.datagrams(udp)
	go s.streams(tcp)
	return s
}

// Asked returns the questions of so far, as "udp name" or "tcp name", and forgets them.
func (s *Server) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.asked
	s.asked = nil
	return list
}

func (s *Server) datagrams(conn net.PacketConn) {
	buf := make([]byte, 4096)
	for {
		n, peer, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		for _, b := range s.replies("udp", buf[:n]) {
			_, _ = conn.WriteTo(b, peer) // a peer that is gone
		}
	}
}

func (s *Server) streams(ln net.Listener) {
	for {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		go s.stream(conn)
	}
}

func (s *Server) stream(conn net.Conn) {
	defer conn.Close()
	var size [2]byte
	for {
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		for _, b := range s.replies("tcp", query) {
			_, _ = conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...)) // a peer that is gone
		}
	}
}

func (s *Server) replies(network string, query []byte) [][]byte {
	var q dnsmessage.Message
	if q.Unpack(query) != nil || len(q.Questions) != 1 {
		return nil
	}
	reply := s.reply(network, &q)
	b, err := reply.Pack()
	if err != nil {
		return nil
	}
	s.mu.Lock()
	spoil := s.spoil
	s.mu.Unlock()
	if spoil != nil {
		return spoil(network, query, b)
	}
	return [][]byte{b}
}

// reply answers one question.
func (s *Server) reply(network string, q *dnsmessage.Message) dnsmessage.Message {
	name := strings.ToLower(strings.TrimSuffix(q.Questions[0].Name.String(), "."))
	s.mu.Lock()
	s.asked = append(s.asked, network+" "+name)
	a, ok := s.zone[name]
	s.mu.Unlock()
	if !ok {
		a.Code = dnsmessage.RCodeNameError
	}
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: q.ID, Response: true, Authoritative: true, RecursionAvailable: true, RCode: a.Code},
		Questions: q.Questions,
	}
	for _, text := range a.TXT {
		m.Answers = append(m.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: q.Questions[0].Name, Type: dnsmessage.TypeTXT, Class: dnsmessage.ClassINET},
			Body:   &dnsmessage.TXTResource{TXT: parts(text)},
		})
	}
	if b, err := m.Pack(); network == "udp" && err == nil && len(b) > room(q) {
		m.Answers, m.Truncated = nil, true
	}
	return m
}

// parts splits a record into strings of at most 255 bytes (RFC 1035 §3.3.14).
func parts(text string) []string {
	var list []string
	for len(text) > 255 {
		list, text = append(list, text[:255]), text[255:]
	}
	return append(list, text)
}

// room returns how large a datagram the question allows (RFC 6891 §6.2.3).
func room(q *dnsmessage.Message) int {
	for _, r := range q.Additionals {
		if r.Header.Type == dnsmessage.TypeOPT {
			return max(int(r.Header.Class), 512)
		}
	}
	return 512
}
