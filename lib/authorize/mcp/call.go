package mcp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"pulse/lib/authorize/pins"
	"pulse/lib/shared/record"
)

// The errors after which nothing happened.
var (
	ErrNotCalled = errors.New("mcp: the server was not called")
	ErrChanged   = errors.New("mcp: the definition is not the one that was accepted") // also ErrNotCalled
	ErrArgs      = errors.New("mcp: no server is given such arguments")               // also ErrNotCalled
)

// maxResult bounds what a call returns, in bytes.
const maxResult = 512 << 10

// once is the judge of one call: it may be made once, after the server has listed the tool with
// the definition that was accepted.
type once struct {
	pinned *pins.Server
	tool   string

	mu     sync.Mutex
	listed bool
	why    string // what nobody has accepted about the tool
	called bool   // the server may have got the call
}

func (o *once) Show(_ context.Context, definitions record.Value) (names []string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	err = definitions.Elements(func(_ int, v record.Value) error {
		t, err := pins.Read(v)
		if err == nil && t.Name == o.tool {
			o.listed, o.why = true, o.pinned.Changed(t) // the last one counts
			names = append(names, t.Name)
		}
		return err
	})
	return names, err
}

func (o *once) Call(_ context.Context, tool string, _ record.Value) (bool, string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.refuses() != "" || tool != o.tool || o.called {
		return false, o.refuses()
	}
	o.called = true
	return true, ""
}

// refuses says why the call is not made.
func (o *once) refuses() string {
	if !o.listed {
		return fmt.Sprintf("the server %s does not list its tool %s", o.pinned.Name, o.tool)
	}
	return o.why
}

// Call starts a server, and calls one of its tools once, if the server lists it with the definition
// that was accepted. It returns the server's answer: an object with the member result or error.
// After ErrNotCalled nothing happened; after another error nobody knows.
func Call(ctx context.Context, pinned *pins.Server, tool string, args record.Value, grace, wait time.Duration) (answer []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	o := &once{pinned: pinned, tool: tool}
	p := Proxy{Judge: o, Grace: grace, Wait: maxListing, Dir: "/"} // no file of a workspace configures it
	err = p.with(ctx, pinned.Command, func(to io.Writer, from *bufio.Reader) error {
		last, err := askTools(to, from)
		if err != nil {
			return err
		}
		o.mu.Lock()
		why := o.refuses()
		o.mu.Unlock()
		if why != "" {
			return fmt.Errorf("%w: %s", ErrChanged, why)
		}
		var params record.Object
		params.Str("name", tool)
		params.Raw("arguments", []byte(args))
		m, err := askOne(to, from, last+1, "tools/call", string(params.Bytes()))
		if err == nil {
			answer = answerOf(&m)
		}
		return err
	})
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case answer != nil && o.called:
		return answer, nil
	case answer != nil: // not the server's
		return nil, fmt.Errorf("%w: %w: %s", ErrNotCalled, ErrArgs, answer)
	case !o.called:
		return nil, fmt.Errorf("%w: %w", ErrNotCalled, errors.Join(err, ctx.Err()))
	}
	return nil, errors.Join(errors.New("mcp: the server did not answer the call"), err)
}

// answerOf returns what a call came to, if that is not too long.
func answerOf(m *message) []byte {
	var o record.Object
	name, v := "result", m.result
	if m.fault != "" {
		name, v = "error", m.fault
	}
	if len(v) > maxResult {
		o.Bool("cut", true)
		o.Str("beginning", string(v[:maxResult/2]))
	} else {
		o.Raw(name, []byte(v))
	}
	return o.Bytes()
}
