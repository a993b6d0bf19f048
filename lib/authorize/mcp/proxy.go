// Package mcp stands between an agent's client and an MCP server, and has each use of a tool
// judged before the server hears of it.
//
// Invariant: the server gets a call only as it was judged, and both sides get only lines that
// every reader takes for the same message; what was not altered is handed on byte for byte.
// What is in no table here is refused: resources, prompts and tasks are not judged, so they
// are neither announced nor passed on. No request of the server reaches the client: it can't
// have the model sample, ask a person, or learn roots. Caveat: what a server says of its
// tools, and what these return, is its own text, and the model reads it.
//
// A Server has tools of pulse's own, for a client that is not pulse's.
package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"pulse/lib/shared/escape"
	"pulse/lib/shared/record"
)

// The bounds of a session.
const (
	maxLine    = 8 << 20 // bytes of a line
	maxHeld    = 1 << 20 // bytes that wait to be written before no more are read
	maxWaiting = 20      // judgements
	maxIDs     = 1 << 20 // requests of a session
	maxNotes   = 20      // lines on stderr
)

// Judge decides for a Proxy, which asks one thing at a time.
type Judge interface {
	// Call reports whether a tool may be used, and else what the model is told.
	Call(ctx context.Context, tool string, args record.Value) (allowed bool, why string)
	// Show returns which of the tools that the server has just listed the model may see, of
	// an array of their definitions.
	Show(ctx context.Context, definitions record.Value) (names []string, err error)
}

// Proxy is one session. The exported fields are set before Run.
type Proxy struct {
	Judge  Judge
	Stderr *os.File      // the server's, and for notes
	Grace  time.Duration // for the server to end
	Wait   time.Duration // for a judgement
	Dir    string        // where the server is started; empty: the working directory

	client, server *outlet
	ends           chan int // the status with which the session is to end; own: that of the server
	notes          atomic.Int32

	mu      sync.Mutex
	begun   state
	used    map[string]bool   // ids
	owed    map[string]string // the methods of requests that the server has to answer
	waiting []*judgement      // the first one is under way
	more    sync.Cond         // on mu: waiting or over has changed
	over    bool
}

type state int

const (
	fresh   state = iota
	greeted       // the client has asked to initialize
	ready         // the server has answered
)

// own stands for the status of the server.
const own = -1

func (p *Proxy) reset() {
	p.client, p.server, p.ends = newOutlet(), newOutlet(), make(chan int, 8)
	p.used, p.owed = map[string]bool{}, map[string]string{}
	p.more.L = &p.mu
}

// read hands each line of one side to a function, and says with which status the session
// ends after the last one.
func (p *Proxy) read(from io.Reader, atEnd int, room func() bool, handle func(line []byte)) {
	r := bufio.NewReaderSize(from, 64<<10)
	for room() {
		line, err := readLine(r, maxLine)
		if errors.Is(err, errLong) {
			p.note("a line is longer than %d bytes", maxLine)
			p.ends <- 1
			return
		}
		if err != nil {
			p.ends <- atEnd
			return
		}
		if len(bytes.TrimSpace(line)) > 0 {
			handle(line)
		}
	}
}

// taking waits until there is room for what a line of the client may lead to.
func (p *Proxy) taking() bool { return p.client.room() && p.server.room() }

// write writes what there is for one side, and ends the session if that does not read.
func (p *Proxy) write(to io.Writer, o *outlet, status int) {
	if err := o.drain(to); err != nil {
		p.ends <- status
	}
}

var errLong = errors.New("mcp: a line is too long")

// readLine returns the next line without its newline, if it has at most so many bytes.
func readLine(r *bufio.Reader, most int) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > most+1:
			return nil, errLong
		case err == nil:
			return line[:len(line)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// note says something on stderr, but not so often that it would have to wait for a reader.
func (p *Proxy) note(format string, args ...any) {
	if p.notes.Add(1) <= maxNotes {
		_, _ = fmt.Fprintf(p.Stderr, "pulse-authorize: hook mcp: %s\n", escape.Message(fmt.Sprintf(format, args...)))
	}
}

// judgement is something that the judge is asked, and what is done about its answer.
type judgement struct {
	id     ident
	ask    func(ctx context.Context) (done func())
	ctx    context.Context
	cancel context.CancelFunc
}

// judge puts something to the judge, unless too much waits.
func (p *Proxy) judge(id ident, ask func(ctx context.Context) (done func())) error {
	if len(p.waiting) >= maxWaiting {
		return refuse(codeInternal, "too many uses wait for a judgement")
	}
	j := &judgement{id: id, ask: ask}
	j.ctx, j.cancel = context.WithCancel(context.Background())
	p.waiting = append(p.waiting, j)
	p.more.Signal()
	return nil
}

// judging asks the judge, one thing at a time, until the session is over. Everything else
// goes on meanwhile.
func (p *Proxy) judging() {
	for {
		j := p.next()
		if j == nil {
			return
		}
		ctx, cancel := context.WithTimeout(j.ctx, p.Wait)
		done := j.ask(ctx)
		cancel()
		p.judged(j, done)
	}
}

func (p *Proxy) next() *judgement {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.waiting) == 0 && !p.over {
		p.more.Wait()
	}
	if p.over {
		return nil
	}
	return p.waiting[0]
}

// judged goes on with what was judged, unless it was cancelled meanwhile.
func (p *Proxy) judged(j *judgement, done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	j.cancel()
	if len(p.waiting) > 0 && p.waiting[0] == j && !p.over {
		p.waiting = p.waiting[1:]
		done()
	}
}

// end takes nothing more from the client, and ends what is being judged.
func (p *Proxy) end() {
	p.server.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	for _, j := range p.waiting {
		j.cancel()
	}
	p.more.Broadcast()
}
