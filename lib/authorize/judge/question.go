package judge

import (
	"context"
	"errors"

	"pulse/lib/authorize/hook"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
)

// A question is a JSON object with one of these members, and so is the answer:
//
//	hook, event    a client's name, and what it told its hook → say: what the hook prints
//	worker, version, ask
//	               the client that the worker is about to start → tools: what it may offer
//	await          → hello: true, once the client's hook has said hello
//	used           the uses in the client's transcript, [[id, tool], …] → done: true
//	propose        a request that a program of the run makes → done: true
//	server, call, args, dir
//	               the use of an MCP server's tool → outcome, reason
//	server, tools  the definitions that an MCP server lists → tools: the names that are shown
//
// An answer with the member error is a refusal.

// MaxQuestion bounds a question, in bytes.
const MaxQuestion = 16 << 20

// members are those of a question, all of which are read.
var members = []string{"hook", "event", "worker", "version", "ask", "await", "used", "propose", "server", "call", "args", "dir", "tools"}

var errQuestion = errors.New("judge: it is no question")

// question is a question that was read.
type question map[string]record.Value

// Answer answers a question. It waits for a client's hello until ctx ends.
func (j *Judge) Answer(ctx context.Context, line []byte) []byte {
	var o record.Object
	q, err := read(line)
	if err == nil {
		err = j.answer(ctx, q, &o)
	}
	if err != nil {
		o = record.Object{}
		o.Str("error", err.Error())
	}
	return o.Bytes()
}

func read(line []byte) (question, error) {
	q := question{}
	rec, err := record.Parse(line, members...)
	if err != nil {
		return nil, err
	}
	return q, rec.Value().Each(func(name string, v record.Value) error {
		q[name] = v
		return nil
	})
}

func (q question) text(name string) (s string, err error) {
	if v, ok := q[name]; ok {
		err = v.Into(&s)
	}
	return s, err
}

func (j *Judge) answer(ctx context.Context, q question, o *record.Object) error {
	switch {
	case q["hook"] != "":
		return j.hooked(q, o)
	case q["worker"] != "":
		return j.begun(q, o)
	case q["await"] != "":
		return j.awaited(ctx, o)
	case q["used"] != "":
		return j.used(q["used"], o)
	case q["propose"] != "":
		return j.proposed(q["propose"], o)
	case q["server"] != "":
		return j.served(q, o)
	}
	return errQuestion
}

// Ping is the prompt with which a worker has its client start a session, for a client that
// says hello no earlier. No model gets it.
const Ping = "pulse: say hello"

func (j *Judge) hooked(q question, o *record.Object) error {
	name, err := q.text("hook")
	if err != nil {
		return err
	}
	c := hook.Client(name)
	o.Raw("say", j.Event(c, []byte(q["event"])))
	return nil
}

// Event returns what the hook of a client prints when it is told something.
func (j *Judge) Event(c hook.Client, event []byte) []byte {
	e, err := hook.Read(c, event)
	if err != nil || !c.Valid() {
		return c.Say(j.Unread())
	}
	switch e.Kind {
	case hook.Hello:
		return c.Greet(j.Hello(c))
	case hook.Prompt:
		if e.Prompt == Ping {
			return c.Refuse("pulse: hello")
		}
	case hook.Wish:
		outcome, why := j.Use(&e.Use)
		if outcome == hook.Allow && j.Alone {
			break
		}
		return c.Say(outcome, why)
	}
	return []byte("{}")
}

func (j *Judge) begun(q question, o *record.Object) error {
	name, err := q.text("worker")
	if err != nil {
		return err
	}
	version, err := q.text("version")
	if err != nil {
		return err
	}
	ask, err := q.text("ask")
	if err != nil {
		return err
	}
	if err := j.Begin(hook.Client(name), version, ask); err != nil {
		return err
	}
	o.Strs("tools", j.Tools(hook.Client(name)))
	return nil
}

var errHello = errors.New("judge: its hook did not say hello")

func (j *Judge) awaited(ctx context.Context, o *record.Object) error {
	hello := j.Greeted()
	select {
	case <-hello:
	case <-ctx.Done():
		select { // both may have come
		case <-hello:
		default:
			return errHello
		}
	}
	o.Bool("hello", true)
	return nil
}

func (j *Judge) used(v record.Value, o *record.Object) error {
	var list []Used
	if err := v.Pairs(func(id, tool string) { list = append(list, Used{id, tool}) }); err != nil {
		return err
	}
	j.Count(list)
	o.Bool("done", true)
	return nil
}

func (j *Judge) proposed(v record.Value, o *record.Object) error {
	r, err := request.Decode(v)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if full := j.park(&r); full != "" {
		return errors.New("judge: " + full)
	}
	o.Bool("done", true)
	return nil
}

// served answers about the tools of an MCP server.
func (j *Judge) served(q question, o *record.Object) error {
	server, err := q.text("server")
	if err != nil {
		return err
	}
	if list, ok := q["tools"]; ok {
		names, err := j.Show(server, list)
		o.Strs("tools", names)
		return err
	}
	tool, err := q.text("call")
	if err != nil {
		return err
	}
	dir, err := q.text("dir")
	if err != nil {
		return err
	}
	if tool == "" || dir == "" || q["args"] == "" || q["args"][0] != '{' {
		return errQuestion
	}
	u := hook.Call(server, tool, dir, q["args"])
	outcome, why := j.Use(&u)
	o.Str("outcome", string(outcome))
	o.Str("reason", why)
	return nil
}
