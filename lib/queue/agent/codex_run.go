package agent

import (
	"sync"

	"pulse/lib/shared/lazy"
	"pulse/lib/shared/record"
)

// codexRun is what the app server of Codex tells of a run.
type codexRun struct {
	session string
	mu      sync.Mutex
	used    []use
	answer  string
	failed  record.Value // the error of the last turn
	status  string       // of the last turn
	ended   chan struct{}
}

// notUsed are the items of a thread that are no use of a tool.
var notUsed = map[string]bool{
	"userMessage": true, "hookPrompt": true, "agentMessage": true, "functionCallOutput": true, "plan": true, "reasoning": true,
	"enteredReviewMode": true, "exitedReviewMode": true, "contextCompaction": true,
}

// notice reads a notification.
func (r *codexRun) notice(method string, params record.Value) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch method {
	case "":
		r.used = append(r.used, unread)
	case "item/started", "item/completed":
		r.item(params.Member("item"))
	case "turn/completed":
		turn := params.Member("turn")
		r.status, r.failed = textOf(turn.Member("status")), turn.Member("error")
		if r.ended != nil {
			close(r.ended)
			r.ended = nil
		}
	}
}

func (r *codexRun) item(v record.Value) {
	kind := textOf(v.Member("type"))
	if kind == "agentMessage" {
		r.answer = textOf(v.Member("text"))
	}
	u := use{textOf(v.Member("id")), kind}
	if !notUsed[kind] && !r.knows(u) {
		r.used = append(r.used, u)
	}
}

// knows reports whether a use was told before, when it began.
func (r *codexRun) knows(u use) bool {
	n := len(r.used)
	for _, known := range r.used[max(0, n-100):] {
		if known == u {
			return true
		}
	}
	return false
}

// turn gives the app server a text, and waits until its turn has ended.
func (c *rpc) turn(r *codexRun, thread, text string) error {
	ended := make(chan struct{})
	r.mu.Lock()
	r.ended, r.answer, r.status = ended, "", ""
	r.mu.Unlock()
	var input, o record.Object
	input.Str("type", "text")
	input.Str("text", text)
	input.Raw("text_elements", []byte("[]"))
	o.Str("threadId", thread)
	o.Raw("input", append(append([]byte("["), input.Bytes()...), ']'))
	if _, err := c.call("turn/start", string(o.Bytes())); err != nil {
		return err
	}
	select {
	case <-ended:
		return nil
	case <-c.process.done:
		return errGone
	}
}

// codexLater are kinds of errors that may be gone in a while.
var codexLater = map[string]bool{"serverOverloaded": true, "internalServerError": true, "rateLimitExceeded": true, "flexUnavailable": true, "policyCapacityUnavailable": true}

// codexCut is what Codex says, in any language, if it got no answer or only half of one.
var codexCut = lazy.Regexp(`^(stream disconnected before completion|Connection failed|request timed out|timeout waiting for)`)

// codexEnd returns the answer, or says what became of the question.
func (t *turn) codexEnd(r *codexRun) (string, error) {
	if r.status == "completed" {
		return r.answer, nil
	}
	said := textOf(r.failed.Member("message"))
	if said == "" {
		said = "the turn is " + r.status
	}
	info := r.failed.Member("codexErrorInfo")
	if codexAway(info) || info == `"other"` && codexCut().MatchString(said) {
		return "", t.temporary(said)
	}
	return "", t.failed(said)
}

// codexAway reports whether an error is one of the provider or of the way to it. An error with
// a status is an object; without one, there was no answer, or only half of one.
func codexAway(info record.Value) (away bool) {
	if info == "" || info[0] != '{' {
		return codexLater[textOf(info)]
	}
	_ = info.Each(func(_ string, v record.Value) error {
		status := v.Member("httpStatusCode")
		var n int64
		away = status == "null" || status != "" && status.Into(&n) == nil && later(n)
		return nil
	})
	return away
}
