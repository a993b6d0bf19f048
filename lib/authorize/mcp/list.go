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
	stdin, ask, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	answers, stdout, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, stdin.Close(), ask.Close())
	}
	defer answers.Close()
	listed := make(chan error, 1)
	go func() {
		err := askTools(ask, bufio.NewReader(answers))
		listed <- errors.Join(err, ask.Close())
	}()
	p := Proxy{Judge: l, Grace: grace, Wait: maxListing}
	_, err = p.Run(ctx, command, stdin, stdout)
	stdin.Close()
	stdout.Close()
	if said := <-listed; err == nil && said != nil {
		err = fmt.Errorf("mcp: the server does not list its tools: %w", said)
	}
	return l.server, err
}

// askTools is a client that asks a server for its tools.
func askTools(to io.Writer, from *bufio.Reader) error {
	hello := `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"pulse-authorize","version":"1"}}`
	if _, err := askOne(to, from, 1, "initialize", hello); err != nil {
		return err
	}
	if _, err := io.WriteString(to, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		return err
	}
	params := "{}"
	for id := 2; id < 2+maxTools; id++ {
		result, err := askOne(to, from, id, "tools/list", params)
		if err != nil {
			return err
		}
		var next record.Value
		if err := result.Each(func(name string, v record.Value) error {
			if name == "nextCursor" && v != "null" {
				next = v
			}
			return nil
		}); err != nil || next == "" {
			return err
		}
		params = `{"cursor":` + string(next) + `}`
	}
	return errors.New("its list has no end")
}

// askOne makes a request, and returns its result.
func askOne(to io.Writer, from *bufio.Reader, id int, method, params string) (result record.Value, err error) {
	if _, err := fmt.Fprintf(to, `{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}`+"\n", id, method, params); err != nil {
		return "", err
	}
	for {
		line, err := from.ReadBytes('\n')
		if err != nil {
			return "", err
		}
		m, err := parse(line)
		switch {
		case err != nil:
			return "", err
		case m.id.key != fmt.Sprint(id):
		case m.fault != "":
			return "", fmt.Errorf("%s: %.300s", method, m.fault)
		default:
			return m.result, nil
		}
	}
}
