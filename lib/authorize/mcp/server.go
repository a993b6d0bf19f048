package mcp

import (
	"slices"

	"pulse/lib/shared/record"
)

var (
	// told are the notifications of a server that its client may hear.
	told = []string{"notifications/message", "notifications/progress", "notifications/tools/list_changed"}
	// called are the members of what a tool returns. With more it could ask the client for something.
	called = []string{"content", "structuredContent", "isError", "_meta"}
	// capabilities are those of a server of which its client may know.
	capabilities = kinds{"tools": "{", "logging": "{"}
)

// fromServer takes a line of the server.
func (p *Proxy) fromServer(line []byte) {
	m, err := parse(line)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.note("a line of the server was dropped: %v", err)
		return
	}
	switch method, owed := p.owed[m.id.key]; {
	case m.asks() && !m.request():
		if slices.Contains(told, m.method) {
			p.client.put(m.line)
		}
	case m.asks():
		p.asked(&m)
	case owed:
		delete(p.owed, m.id.key)
		p.answered(&m, method)
	}
}

// asked answers a request of the server, so that it does not wait for the client.
func (p *Proxy) asked(m *message) {
	switch {
	case p.server.full():
		p.note("a request of the server was dropped: it does not read")
	case m.method == "ping":
		p.server.put(answered(m.id, []byte("{}")))
	default:
		p.server.put(failed(m.id, codeMethod, "pulse: the server may not ask this of the client"))
	}
}

// answered hands on what a request has come to.
func (p *Proxy) answered(m *message, method string) {
	if m.fault != "" {
		p.client.put(m.line)
		return
	}
	line, err := m.line, error(nil)
	switch {
	case m.result[0] != '{':
		err = errResult
	case method == "initialize":
		if line, err = announced(m); err == nil {
			p.begun = ready
		}
	case method == "tools/call":
		err = m.result.Each(func(name string, _ record.Value) error {
			if !slices.Contains(called, name) {
				return errResult
			}
			return nil
		})
	case method == "tools/list":
		var list listed
		if list, err = readList(m.result); err == nil {
			err = p.show(m, list)
		}
		line = nil
	}
	switch {
	case err != nil:
		p.client.put(refused(m.id, err))
	case line != nil:
		p.client.put(line)
	}
}

var errResult = refuse(codeInternal, "the server's result can not be read")

// announced returns the server's answer to initialize, without what is not passed on.
func announced(m *message) ([]byte, error) {
	var kept record.Object
	version, can, whole := "", false, true
	err := m.result.Each(func(name string, v record.Value) error {
		switch name {
		case "protocolVersion":
			kept.Raw(name, []byte(v))
			return v.Into(&version)
		case "capabilities":
			offers, all, err := capabilities.some(v)
			kept.Raw(name, offers.Bytes())
			can, whole = true, whole && all
			return err
		case "serverInfo", "instructions":
			kept.Raw(name, []byte(v))
		default:
			whole = false
		}
		return nil
	})
	switch {
	case err != nil || !can || !slices.Contains(versions, version):
		return nil, refuse(codeInternal, "the server speaks a version that is not known")
	case whole:
		return m.line, nil
	}
	return answered(m.id, kept.Bytes()), nil
}
