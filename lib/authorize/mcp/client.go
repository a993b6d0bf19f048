package mcp

import (
	"context"
	"slices"

	"pulse/lib/authorize/pins"
	"pulse/lib/shared/record"
)

// versions of the protocol whose messages stand in the tables here, the newest first.
var versions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// requests has what a client may ask, with the params.
var requests = map[string]kinds{
	"initialize":       {"protocolVersion": `"`, "capabilities": "{", "clientInfo": "{"},
	"ping":             {},
	"tools/list":       {"cursor": `"`},
	"tools/call":       {"name": `"`, "arguments": "{"},
	"logging/setLevel": {"level": `"`},
}

// fromClient takes a line of the client.
func (p *Proxy) fromClient(line []byte) {
	m, err := parse(line)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.over:
		return
	case err != nil:
		m.id = ident{} // which may be another one for the client
	case !m.asks():
		return // it answers nothing that was asked
	case m.request():
		err = p.requested(&m)
	default:
		err = p.notified(&m)
	}
	if err != nil {
		p.client.put(refused(m.id, err))
	}
}

// use notes the id of a request, which may be used once.
func (p *Proxy) use(m *message) error {
	id := m.id
	switch {
	case p.used[id.key]:
		m.id = ident{}
		return refuse(codeRequest, "its id was used before")
	case len(p.used) >= maxIDs:
		return refuse(codeRequest, "there were too many requests in this session")
	}
	p.used[id.key] = true
	return nil
}

func (p *Proxy) requested(m *message) error {
	if err := p.use(m); err != nil {
		return err
	}
	table, ok := requests[m.method]
	switch {
	case !ok:
		return refuse(codeMethod, "this method is not passed on")
	case m.method == "initialize" && p.begun != fresh:
		return refuse(codeRequest, "it was initialized before")
	case m.method != "initialize" && m.method != "ping" && p.begun != ready:
		return refuse(codeRequest, "it is not initialized")
	}
	kept, whole, err := table.keep(m.given())
	if err != nil {
		return err
	}
	line := m.line
	if !whole {
		line = request(m, kept.Bytes())
	}
	switch m.method {
	case "initialize":
		p.begun = greeted
		line = request(m, greeting(m.given()))
	case "tools/call":
		return p.call(m, line)
	}
	p.pass(m, line)
	return nil
}

// greeting is what the server hears of the client: no capability, because none of its
// requests would reach it, and a version that is known here.
func greeting(params record.Value) []byte {
	var kept record.Object
	_ = params.Each(func(name string, v record.Value) error {
		if name == "clientInfo" {
			kept.Raw(name, []byte(v))
		}
		return nil
	})
	kept.Str("protocolVersion", versionOf(params))
	kept.Raw("capabilities", []byte("{}"))
	return kept.Bytes()
}

// versionOf returns the version that a client asks for, or the newest if that one is not known.
func versionOf(params record.Value) string {
	var asked string
	if _ = params.Each(record.To("protocolVersion", &asked)); slices.Contains(versions, asked) {
		return asked
	}
	return versions[0]
}

// pass hands a request on to the server.
func (p *Proxy) pass(m *message, line []byte) {
	p.owed[m.id.key] = m.method
	p.server.put(line)
}

// call has the use of a tool judged, and then either passes it on or says why not.
func (p *Proxy) call(m *message, line []byte) error {
	tool, args := calledOf(m)
	if !pins.ToolName(tool) {
		return refuse(codeParams, "it names no tool")
	}
	return p.judge(m.id, func(ctx context.Context) func() {
		allowed, why := p.Judge.Call(ctx, tool, args)
		if ctx.Err() != nil {
			allowed, why = false, "pulse: there was no judgement in time"
		}
		return func() {
			if allowed {
				p.pass(m, line)
			} else {
				p.client.put(denied(m.id, why))
			}
		}
	})
}

// calledOf returns which tool a request is to use, and how.
func calledOf(m *message) (tool string, args record.Value) {
	args = "{}"
	_ = m.given().Each(record.To("name", &tool, "arguments", &args)) // no name: no tool
	return tool, args
}

// notified passes on the notifications that the server may need.
func (p *Proxy) notified(m *message) error {
	switch m.method {
	case "notifications/initialized":
		kept, whole, err := kinds{}.keep(m.given())
		switch {
		case err != nil || p.begun != ready:
			return err
		case whole:
			p.server.put(m.line)
		default:
			p.server.put(written(func(o *record.Object) {
				o.Str("method", m.method)
				o.Raw("params", kept.Bytes())
			}))
		}
	case "notifications/cancelled":
		return p.cancelled(m)
	}
	return nil
}

// cancelled ends the judgement of a request, or tells the server not to answer it any more.
func (p *Proxy) cancelled(m *message) error {
	_, whole, err := kinds{"requestId": `"-0123456789`, "reason": `"`}.keep(m.given())
	if err != nil {
		return err
	}
	var id ident
	if err := m.given().Each(func(name string, v record.Value) (err error) {
		if name == "requestId" {
			id, err = identOf(v)
		}
		return err
	}); err != nil {
		return err
	}
	if i := slices.IndexFunc(p.waiting, func(j *judgement) bool { return j.id.key == id.key }); i >= 0 {
		p.waiting[i].cancel()
		p.waiting = slices.Delete(p.waiting, i, i+1)
		delete(p.owed, id.key)
		return nil
	}
	if _, ok := p.owed[id.key]; ok {
		delete(p.owed, id.key)
		p.server.put(p.cancellation(m, id, whole))
	}
	return nil
}

func (p *Proxy) cancellation(m *message, id ident, whole bool) []byte {
	if whole {
		return m.line
	}
	return written(func(o *record.Object) {
		o.Str("method", m.method)
		var params record.Object
		params.Raw("requestId", []byte(id.raw))
		o.Raw("params", params.Bytes())
	})
}
