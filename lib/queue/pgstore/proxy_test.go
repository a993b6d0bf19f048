package pgstore_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pulse/lib/queue/pgtest"
)

// proxy stands before a server and cuts connections within a conversation.
type proxy struct {
	dir, to string
	ln      net.Listener

	mu    sync.Mutex
	left  int // messages until the cut; below 0: there is none
	after bool
	said  []string // the types of the messages since arm
	shut  bool     // nobody is let in
	conns map[net.Conn]bool

	hung  chan struct{} // not nil: nothing passes until it closes
	waits int           // that many messages and connections wait for this
}

const socket = ".s.PGSQL.5432"

func proxyTo(tb testing.TB, d *pgtest.DB) *proxy { return proxyAt(tb, d.Dir) }

// proxyAt stands before the server with this directory.
func proxyAt(tb testing.TB, server string) *proxy {
	tb.Helper()
	dir, err := os.MkdirTemp("", "p")
	if err != nil {
		tb.Fatal(err)
	}
	p := &proxy{dir: dir, to: filepath.Join(server, socket), left: -1, conns: map[net.Conn]bool{}}
	if p.ln, err = net.Listen("unix", filepath.Join(dir, socket)); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		p.ln.Close()
		p.thaw()
		os.RemoveAll(dir)
	})
	go func() {
		for {
			c, err := p.ln.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p
}

// dsn returns the name of a queue by way of the proxy.
func (p *proxy) dsn(d *pgtest.DB, login string) string {
	return strings.Replace(d.DSN(login), strings.ReplaceAll(d.Dir, "/", "%2F"), strings.ReplaceAll(p.dir, "/", "%2F"), 1)
}

// arm makes the proxy cut the connection before its nth message from now on, or after it.
// Below 0 it cuts none. It returns the messages since the last time.
func (p *proxy) arm(n int, after bool) (said []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	said, p.said = p.said, nil
	p.left, p.after = n, after
	return said
}

// close lets nobody in any more, or lets them in again.
func (p *proxy) close(shut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = shut
}

// part cuts all connections, and lets nobody in any more.
func (p *proxy) part() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = true
	for c := range p.conns {
		c.Close()
	}
}

// hang lets nothing pass until thaw, and breaks no connection.
func (p *proxy) hang() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hung = make(chan struct{})
}

func (p *proxy) thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hung != nil {
		close(p.hung)
	}
	p.hung, p.waits = nil, 0
}

// wait waits while everything hangs.
func (p *proxy) wait() {
	p.mu.Lock()
	hung := p.hung
	if hung != nil {
		p.waits++
	}
	p.mu.Unlock()
	if hung != nil {
		<-hung
	}
}

// waiting reports whether something hangs.
func (p *proxy) waiting() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waits > 0
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	p.wait()
	p.mu.Lock()
	shut := p.shut
	p.conns[client] = true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.conns, client)
		p.mu.Unlock()
	}()
	if shut {
		return
	}
	server, err := net.Dial("unix", p.to)
	if err != nil {
		return
	}
	defer server.Close()
	if err := pass(client, server, 0); err != nil { // the startup message has no type
		return
	}
	var both sync.WaitGroup
	both.Go(func() { p.carry(client, server, ">") })
	both.Go(func() { p.carry(server, client, "<") })
	both.Wait()
}

// carry passes messages on until the connection is cut.
func (p *proxy) carry(from, to net.Conn, arrow string) {
	defer from.Close()
	defer to.Close()
	kind := make([]byte, 1)
	for {
		if _, err := io.ReadFull(from, kind); err != nil {
			return
		}
		p.wait()
		p.mu.Lock()
		p.said = append(p.said, arrow+string(kind))
		cut := p.left == 0
		p.left = max(p.left-1, -1)
		after := p.after
		p.mu.Unlock()
		if cut && !after || pass(from, to, kind[0]) != nil || cut {
			return
		}
	}
}

// pass passes a message on, whose type was read.
func pass(from, to net.Conn, kind byte) error {
	size := make([]byte, 4)
	if _, err := io.ReadFull(from, size); err != nil {
		return err
	}
	b := make([]byte, binary.BigEndian.Uint32(size)-4)
	if _, err := io.ReadFull(from, b); err != nil {
		return err
	}
	head := append([]byte{kind}, size...)
	if kind == 0 {
		head = size
	}
	_, err := to.Write(bytes.Join([][]byte{head, b}, nil))
	return err
}
