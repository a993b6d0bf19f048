package agent

import (
	"strings"
	"sync/atomic"

	"pulse/lib/shared/lazy"
	"pulse/lib/shared/record"
)

// claudeRun is what Claude Code prints of a run.
type claudeRun struct {
	used    []use
	refused map[string]bool // by id: Claude Code refused the call before it asked the hook
	talks   atomic.Bool     // it has said something
	ends    chan string     // gets the result of each turn; nil: nobody waits for it
	end     claudeEnd
	session string
}

// claudeEnd is the last line, which says how it ended.
type claudeEnd struct {
	there   bool
	failed  bool
	subtype string
	status  int64 // of the provider's answer; 0: there was none
	result  string
	words   bool // result is a string
}

func (r *claudeRun) line(line []byte, whole bool) {
	r.talks.Store(true)
	if line[0] != '{' {
		return
	}
	v, err := record.ParseValue(line)
	if err != nil && !whole { // it was cut off
		return
	}
	if err == nil {
		err = r.event(v.Member("type"), v)
	}
	if err != nil {
		r.used = append(r.used, unread)
	}
}

func (r *claudeRun) event(kind, v record.Value) error {
	if id := textOf(v.Member("session_id")); id != "" {
		r.session = id
	}
	switch kind {
	case `"assistant"`:
		return eachOf(v.Member("message").Member("content"), r.block)
	case `"user"`:
		told := v.Member("tool_use_result")
		return eachOf(v.Member("message").Member("content"), func(block record.Value) error { return r.answer(block, told) })
	case `"result"`:
		r.end = claudeEnd{there: true, failed: v.Member("is_error") != "false"}
		r.end.subtype = textOf(v.Member("subtype"))
		if s := v.Member("api_error_status"); s != "" && s != "null" {
			if err := s.Into(&r.end.status); err != nil {
				return err
			}
		}
		r.end.result, r.end.words = textIn(v.Member("result"))
		r.ended()
	}
	return nil
}

// ended tells how a turn has ended, unless nobody has heard of the one before.
func (r *claudeRun) ended() {
	select {
	case r.ends <- r.end.result:
	default:
	}
}

// block reads what the model says. Tools that run at the provider count, too.
func (r *claudeRun) block(v record.Value) error {
	if strings.HasSuffix(textOf(v.Member("type")), "tool_use") {
		r.used = append(r.used, use{textOf(v.Member("id")), textOf(v.Member("name"))})
	}
	return nil
}

// noFile is how a tool fails for which there is no such file, or not for this account, whether it
// has asked or not: it has read and written nothing.
var noFile = lazy.Regexp(`^Error calling tool \((Read|Write|Edit|MultiEdit|NotebookEdit|Glob|Grep|LS)\): E[A-Z]+: `)

const refusal, refusalEnd = "<tool_use_error>", "</tool_use_error>"

// answer reads what came of a use. Claude Code refuses by itself, and before it asks the hook, a
// call of a tool that it does not have and one that can't be. The text is in a tag then, and
// tool_use_result has it without one. A tool that failed with a text in the same tag has the tag
// there, too.
func (r *claudeRun) answer(v, told record.Value) error {
	text, ok := textIn(v.Member("content"))
	if v.Member("type") != `"tool_result"` || v.Member("is_error") != "true" || !ok {
		return nil
	}
	inner, opened := strings.CutPrefix(text, refusal)
	inner, closed := strings.CutSuffix(inner, refusalEnd)
	why, ok := textIn(told)
	id := textOf(v.Member("tool_use_id"))
	fault := strings.HasPrefix(why, "InputValidationError: ") || why == inner && noFile().MatchString(inner)
	if id != "" && opened && closed && ok && (fault || why == "Error: "+strings.TrimPrefix(inner, "Error: ")) {
		if r.refused == nil {
			r.refused = map[string]bool{}
		}
		r.refused[id] = true
	}
	return nil
}

// uses returns the uses that the hook must have been asked about.
func (r *claudeRun) uses() (list []use) {
	for _, u := range r.used {
		if !r.refused[u.id] {
			list = append(list, u)
		}
	}
	return list
}

// away is what Claude Code says if it got no answer, or only half of one.
var away = lazy.Regexp(`^(API Error: (Unable to connect to API|Repeated 529 |Connection |terminated)|Request timed out)`)

// claudeEnd returns the answer, or says what became of the question.
func (t *turn) claudeEnd(p *process, seen *claudeRun) (string, error) {
	e := &seen.end
	switch {
	case !e.there:
		return "", t.noResult(p)
	case !e.failed && e.subtype == "success" && e.words && p.err == nil:
		return e.result, nil
	case !e.failed && e.subtype == "success" && e.words:
		return "", t.noResult(p)
	case e.status == 0 && away().MatchString(e.result) || later(e.status):
		return "", t.temporary(e.result)
	case e.words:
		return "", t.failed(e.result)
	}
	return "", t.failed(e.subtype)
}
