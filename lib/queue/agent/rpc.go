package agent

import (
	"errors"
	"strconv"
	"sync"

	"pulse/lib/shared/record"
)

// rpc speaks JSON-RPC with a client, a message a line. One call is under way at a time.
type rpc struct {
	process *process
	seen    func(method string, params record.Value) // gets each notification; empty: it can't be read

	last    int
	mu      sync.Mutex
	waiting map[string]chan record.Value // by id
}

var errGone = errors.New("agent: the client has ended")

// call calls a method, and returns its result.
func (c *rpc) call(method, params string) (record.Value, error) {
	c.last++
	id := strconv.Itoa(c.last)
	answer := make(chan record.Value, 1)
	c.mu.Lock()
	c.waiting = map[string]chan record.Value{id: answer}
	c.mu.Unlock()
	if err := c.write(`{"id":` + id + `,"method":"` + method + `","params":` + params + `}`); err != nil {
		return "", err
	}
	select {
	case v := <-answer:
		if failed := v.Member("error"); failed != "" {
			return "", errors.New("codex: " + method + ": " + short(textOf(failed.Member("message"))))
		}
		return v.Member("result"), nil
	case <-c.process.done:
		return "", errGone
	}
}

func (c *rpc) notify(method string) error { return c.write(`{"method":"` + method + `"}`) }

func (c *rpc) write(message string) error {
	if _, err := c.process.in.Write([]byte(message + "\n")); err != nil {
		return errGone
	}
	return nil
}

// line reads a message. What the client asks of us is refused.
func (c *rpc) line(line []byte, whole bool) {
	v, err := record.ParseValue(line)
	if err != nil {
		if whole {
			c.seen("", "")
		}
		return
	}
	id, method := v.Member("id"), v.Member("method")
	switch {
	case method != "" && id != "":
		go func() {
			_ = c.write(`{"id":` + string(id) + `,"error":{"code":-32601,"message":"there is nobody to ask"}}`)
		}()
	case method != "":
		c.seen(textOf(method), v.Member("params"))
	default:
		c.mu.Lock()
		answer := c.waiting[string(id)]
		delete(c.waiting, string(id))
		c.mu.Unlock()
		if answer != nil {
			answer <- v
		}
	}
}
