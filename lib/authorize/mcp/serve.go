package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"pulse/lib/shared/record"
)

// maxAsked bounds a line of a Server's client, in bytes.
const maxAsked = 1 << 20

// Tool is a tool of pulse's own.
type Tool struct {
	Name        string
	Description string
	Input       string // the schema of its arguments, JSON
	// Call returns a JSON text, or an error that says what to do next. args is an object. An error
	// that is not one of Told ends the session.
	Call func(ctx context.Context, args record.Value) (text []byte, err error)
}

// Told is an error that the client is told.
type Told string

func (t Told) Error() string { return string(t) }

// Server is an MCP server with tools and nothing else. It answers one request after the other, and
// reads no more while an answer is not taken.
type Server struct {
	Name, Version string
	Instructions  string // what the client is told about all of it
	Tools         []Tool

	begun bool // the client has asked to initialize
}

// Serve answers a client until its input ends. A line that can't be read is answered, except that
// one which is too long ends the session.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(r, maxAsked)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errLong):
			why := fmt.Sprintf("a line is longer than %d bytes", maxAsked)
			_, failed := out.Write(append(refused(ident{}, refuse(codeRequest, why)), '\n'))
			return errors.Join(err, failed)
		case err != nil:
			return err
		case len(bytes.TrimSpace(line)) == 0:
			continue
		}
		answer, err := s.answer(ctx, line)
		if err != nil {
			return err
		}
		if answer == nil {
			continue
		}
		if _, err := out.Write(append(answer, '\n')); err != nil {
			return err
		}
	}
}

// answer returns the answer to a line, nil if there is none.
func (s *Server) answer(ctx context.Context, line []byte) ([]byte, error) {
	m, err := parse(line)
	switch {
	case err != nil:
		return refused(ident{}, err), nil // its id may be another one for the client
	case !m.asks() || !m.request():
		return nil, nil // it answers nothing that was asked, or tells what needs no answer
	}
	table, ok := requests[m.method]
	switch {
	case !ok || m.method == "logging/setLevel":
		err = refuse(codeMethod, "this server has tools, and nothing else")
	case m.method != "initialize" && m.method != "ping" && !s.begun:
		err = refuse(codeRequest, "it is not initialized")
	default:
		_, _, err = table.keep(m.given())
	}
	if err != nil {
		return refused(m.id, err), nil
	}
	switch m.method {
	case "initialize":
		s.begun = true
		return answered(m.id, s.greets(m.given())), nil
	case "tools/list":
		return answered(m.id, s.list()), nil
	case "tools/call":
		return s.call(ctx, &m)
	}
	return answered(m.id, []byte("{}")), nil
}

// greets returns the result of initialize.
func (s *Server) greets(params record.Value) []byte {
	var o record.Object
	o.Str("protocolVersion", versionOf(params))
	o.Raw("capabilities", []byte(`{"tools":{}}`))
	o.Nested("serverInfo", func(dst []byte) []byte {
		info := record.ObjectAfter(dst)
		info.Str("name", s.Name)
		info.Str("version", s.Version)
		return info.Bytes()
	})
	o.StrIf("instructions", s.Instructions)
	return o.Bytes()
}

func (s *Server) list() []byte {
	var o record.Object
	o.Raw("tools", record.List(nil, s.Tools, func(t *Tool, dst []byte) []byte {
		o := record.ObjectAfter(dst)
		o.Str("name", t.Name)
		o.Str("description", t.Description)
		o.Raw("inputSchema", []byte(t.Input))
		return o.Bytes()
	}))
	return o.Bytes()
}

// call uses a tool.
func (s *Server) call(ctx context.Context, m *message) ([]byte, error) {
	tool, args := calledOf(m)
	i := slices.IndexFunc(s.Tools, func(t Tool) bool { return t.Name == tool })
	if i < 0 {
		return denied(m.id, "pulse: there is no such tool here: tools/list names those that there are"), nil
	}
	text, err := s.Tools[i].Call(ctx, args)
	var told Told
	switch {
	case errors.As(err, &told):
		return denied(m.id, "pulse: "+string(told)), nil
	case err != nil:
		return nil, err
	}
	return answered(m.id, said(string(text), false)), nil
}
