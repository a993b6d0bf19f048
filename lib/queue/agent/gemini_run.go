package agent

import (
	"os"
	"strings"

	"pulse/lib/shared/lazy"
	"pulse/lib/shared/record"
)

// geminiRun is what Gemini CLI prints of a run.
type geminiRun struct {
	used   []use
	answer strings.Builder // since the last use
	ended  bool
	status string
	failed record.Value

	session string
}

func (r *geminiRun) line(line []byte, whole bool) {
	if line[0] != '{' {
		return
	}
	v, err := record.ParseValue(line)
	if err != nil {
		if whole {
			r.used = append(r.used, unread)
		}
		return
	}
	if id := textOf(v.Member("session_id")); id != "" {
		r.session = id
	}
	switch v.Member("type") {
	case `"message"`:
		if v.Member("role") == `"assistant"` {
			r.answer.WriteString(textOf(v.Member("content")))
		}
	case `"tool_use"`:
		r.answer.Reset()
		r.used = append(r.used, use{textOf(v.Member("tool_id")), textOf(v.Member("tool_name"))})
	case `"tool_result"`:
		r.result(v)
	case `"result"`, `"error"`:
		r.end(v)
	}
}

// geminiRefused are the kinds of errors of a call that Gemini CLI refuses before it asks the hook.
var geminiRefused = map[string]bool{"tool_not_registered": true, "invalid_tool_params": true, "policy_violation": true}

// result takes a use back that was none.
func (r *geminiRun) result(v record.Value) {
	id := textOf(v.Member("tool_id"))
	if id == "" || v.Member("status") != `"error"` || !geminiRefused[textOf(v.Member("error").Member("type"))] {
		return
	}
	for i, u := range r.used {
		if u.id == id {
			r.used = append(r.used[:i], r.used[i+1:]...)
			return
		}
	}
}

func (r *geminiRun) end(v record.Value) {
	if failed := v.Member("error"); failed != "" {
		r.failed = failed
	}
	if v.Member("type") == `"result"` {
		r.ended, r.status = true, textOf(v.Member("status"))
	}
}

// geminiAway is what Gemini CLI says if it got no answer, or only half of one.
var geminiAway = lazy.Regexp(`^\[API Error: (exception TypeError: )?(fetch failed|terminated|[^{]*(ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|ENOTFOUND))`)

// geminiEnd returns the answer, or says what became of the question. Gemini CLI exits with the
// status of the provider's answer, of which eight bits are left.
func (t *turn) geminiEnd(p *process, r *geminiRun) (string, error) {
	if r.ended && r.status == "success" && p.err == nil {
		return r.answer.String(), nil
	}
	said := textOf(r.failed.Member("message"))
	if said == "" {
		return "", t.noResult(p)
	}
	exit := p.exit()
	if geminiAway().MatchString(said) || later(256+exit) || 520 <= 512+exit && 512+exit < 530 {
		return "", t.temporary(said)
	}
	return "", t.failed(said)
}

// geminiLogin returns the kind of login: the one that the settings of the account name, or that of
// the variables. With the URL of another provider, Gemini CLI itself would take a key for none.
func geminiLogin(path string) string {
	if b, err := os.ReadFile(path); err == nil {
		if v, err := record.ParseValue(b); err == nil {
			if login := textOf(v.Member("security").Member("auth").Member("selectedType")); login != "" {
				return login
			}
		}
	}
	if os.Getenv("GEMINI_API_KEY") != "" && os.Getenv("GOOGLE_GENAI_USE_GCA") != "true" && os.Getenv("GOOGLE_GENAI_USE_VERTEXAI") != "true" {
		return "gemini-api-key"
	}
	return ""
}
