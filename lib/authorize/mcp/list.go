package mcp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"pulse/lib/authorize/pins"
	"pulse/lib/shared/record"
)

// The bounds of what a server may list.
const (
	maxListing = time.Minute
	maxTools   = 1000
)

// lister is the judge that shows everything, and keeps it.
type lister struct{ server *pins.Server }

func (l *lister) Call(context.Context, string, record.Value) (bool, string) { return false, "" }

func (l *lister) Show(_ context.Context, definitions record.Value) (names []string, err error) {
	err = definitions.Elements(func(_ int, v record.Value) error {
		t, err := pins.Read(v)
		if err != nil {
			return err
		}
		names = append(names, t.Name)
		return l.server.Add(t)
	})
	if len(l.server.Tools) > maxTools {
		return nil, fmt.Errorf("it has more than %d tools", maxTools)
	}
	return names, err
}

// List starts a server, and asks it for the definitions of its tools, through a Proxy, so that
// they are those that a model would be shown. What it writes on stderr is lost.
func List(ctx context.Context, server string, command []string, grace time.Duration) (*pins.Server, error) {
	ctx, cancel := context.WithTimeout(ctx, maxListing)
	defer cancel()
	l := &lister{&pins.Server{Name: server}}
	p := Proxy{Judge: l, Grace: grace, Wait: maxListing}
	err := p.with(ctx, command, func(to io.Writer, from *bufio.Reader) error {
		_, err := askTools(to, from)
		return err
	})
	if errors.Is(err, errAsked) {
		err = fmt.Errorf("mcp: the server does not list its tools: %w", err)
	}
	return l.server, err
}

// errAsked means that a server runs, and does not answer as it should.
var errAsked = errors.New("it is asked in vain")

// with starts a server, and has it asked by ask, which is its client.
func (p *Proxy) with(ctx context.Context, command []string, ask func(to io.Writer, from *bufio.Reader) error) error {
	stdin, to, err := os.Pipe()
	if err != nil {
		return err
	}
	from, stdout, err := os.Pipe()
	if err != nil {
		return errors.Join(err, stdin.Close(), to.Close())
	}
	defer from.Close()
	asked := make(chan error, 1)
	go func() {
		err := ask(to, bufio.NewReader(from))
		asked <- errors.Join(err, to.Close())
	}()
	_, err = p.Run(ctx, command, stdin, stdout)
	stdin.Close()
	stdout.Close()
	if said := <-asked; err == nil && said != nil {
		err = fmt.Errorf("%w: %w", errAsked, said)
	}
	return err
}

// askTools is a client that asks a server for its tools. It returns the id of its last request.
func askTools(to io.Writer, from *bufio.Reader) (last int, err error) {
	hello := `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"pulse-authorize","version":"1"}}`
	if _, err := result(askOne(to, from, 1, "initialize", hello)); err != nil {
		return 0, err
	}
	if _, err := io.WriteString(to, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		return 0, err
	}
	params := "{}"
	for id := 2; id < 2+maxTools; id++ {
		result, err := result(askOne(to, from, id, "tools/list", params))
		if err != nil {
			return 0, err
		}
		var next record.Value
		if err := result.Each(func(name string, v record.Value) error {
			if name == "nextCursor" && v != "null" {
				next = v
			}
			return nil
		}); err != nil || next == "" {
			return id, err
		}
		params = `{"cursor":` + string(next) + `}`
	}
	return 0, errors.New("its list has no end")
}

// askOne makes a request, and returns the answer.
func askOne(to io.Writer, from *bufio.Reader, id int, method, params string) (m message, err error) {
	if _, err := fmt.Fprintf(to, `{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}`+"\n", id, method, params); err != nil {
		return m, err
	}
	for {
		line, err := from.ReadBytes('\n')
		if err != nil {
			return m, err
		}
		if m, err = parse(line); err != nil || m.id.key == fmt.Sprint(id) && !m.asks() {
			return m, err
		}
	}
}

// result returns the result of an answer.
func result(m message, err error) (record.Value, error) {
	if err == nil && m.fault != "" {
		err = fmt.Errorf("%.300s", m.fault)
	}
	return m.result, err
}
