package judge

import (
	"context"
	"errors"
	"strings"

	"pulse/lib/authorize/hook"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
)

// A question is a JSON object with one of these members, and so is the answer:
//
//	hook, event    a client's name, and what it told its hook → say: what the hook prints
//	worker, version, ask
//	               the client that the worker is about to start → tools: what it may offer
//	               and kept: the session that it goes on with, if there is one
//	keep           the client's session, to go on with another time → done: true
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
var members = []string{"hook", "event", "worker", "version", "ask", "await", "used", "propose", "keep", "server", "call", "args", "dir", "tools"}

var errQuestion = errors.New("judge: it is no question")

// question is a question that was read: what stands in its members, which are empty if they are not there.
type question struct {
	hook, worker, version, ask, server, call, dir         string
	event, await, used, propose, keep, arguments, listing record.Value
}

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

func read(line []byte) (q question, err error) {
	rec, err := record.Parse(line, members...)
	if err == nil {
		err = rec.Value().Each(record.To(
			"hook", &q.hook, "event", &q.event, "worker", &q.worker, "version", &q.version, "ask", &q.ask, "await", &q.await,
			"used", &q.used, "propose", &q.propose, "keep", &q.keep, "server", &q.server, "call", &q.call, "args", &q.arguments,
			"dir", &q.dir, "tools", &q.listing,
		))
	}
	return q, err
}

func (j *Judge) answer(ctx context.Context, q question, o *record.Object) error {
	switch {
	case q.hook != "":
		o.Raw("say", j.Event(hook.Client(q.hook), []byte(q.event)))
		return nil
	case q.worker != "":
		return j.begun(q, o)
	case q.await != "":
		return j.awaited(ctx, o)
	case q.used != "":
		return j.used(q.used, o)
	case q.keep != "":
		j.mu.Lock()
		defer j.mu.Unlock()
		j.keep = record.Value(strings.Clone(string(q.keep)))
		o.Bool("done", true)
		return nil
	case q.propose != "":
		return j.proposed(q.propose, o)
	case q.server != "":
		return j.served(q, o)
	}
	return errQuestion
}

// Ping is the prompt with which a worker has its client start a session, for a client that
// says hello no earlier. No model gets it.
const Ping = "pulse: say hello"

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
	c := hook.Client(q.worker)
	if err := j.Begin(c, q.version, q.ask); err != nil {
		return err
	}
	o.Strs("tools", j.Tools(c))
	if j.Kept != "" {
		o.Raw("kept", []byte(j.Kept))
	}
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
	if q.listing != "" {
		names, err := j.Show(q.server, q.listing)
		o.Strs("tools", names)
		return err
	}
	if q.call == "" || q.dir == "" || q.arguments == "" || q.arguments[0] != '{' {
		return errQuestion
	}
	u := hook.Call(q.server, q.call, q.dir, q.arguments)
	outcome, why := j.Use(&u)
	o.Str("outcome", string(outcome))
	o.Str("reason", why)
	return nil
}
