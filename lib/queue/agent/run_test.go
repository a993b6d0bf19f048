package agent

import (
	"fmt"
	"strings"
	"testing"

	"pulse/lib/shared/record"
)

// each gives the lines of a transcript to a reader of it.
func each(text string, line func([]byte, bool)) {
	l := lines{fn: line}
	_, _ = l.Write([]byte(text))
	l.end()
}

const claudeUse = `{"type":"assistant","message":{"content":[{"type":"text","text":"so"},{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}]}}` + "\n"

func claudeAnswer(content, told string) string {
	return `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":` + content + `}]},"tool_use_result":` + told + "}\n"
}

// TestClaudeUses: what Claude Code refused before it asked the hook is no use; a tool that says
// the same is one.
func TestClaudeUses(t *testing.T) {
	for in, want := range map[string]int{
		claudeUse: 1,
		claudeUse + claudeAnswer(`"<tool_use_error>Error: No such tool available: Bash</tool_use_error>"`, `"Error: No such tool available: Bash"`):                                           0,
		claudeUse + claudeAnswer(`"<tool_use_error>File has not been read yet.</tool_use_error>"`, `"Error: File has not been read yet."`):                                                    0,
		claudeUse + claudeAnswer(`"<tool_use_error>InputValidationError: Write failed</tool_use_error>"`, `"InputValidationError: []"`):                                                       0,
		claudeUse + claudeAnswer(`"Exit code 3\n<tool_use_error>InputValidationError: x</tool_use_error>"`, `"Error: Exit code 3\n<tool_use_error>InputValidationError: x</tool_use_error>"`): 1,
		claudeUse + claudeAnswer(`"<tool_use_error>x</tool_use_error>"`, `"Error: <tool_use_error>x</tool_use_error>"`):                                                                       1,
		claudeUse + claudeAnswer(`"<tool_use_error>Error calling tool (Bash): x</tool_use_error>"`, `"Error calling tool (Bash): x"`):                                                         1,
		claudeUse + claudeAnswer(`"<tool_use_error>x</tool_use_error>"`, `{"stdout":"Error: x"}`):                                                                                             1,
		strings.Replace(claudeUse, "tool_use", "server_tool_use", 1):                                                                                                                          1,
		strings.TrimSuffix(claudeUse, "}\n"):                   0, // it was cut off
		strings.Replace(claudeUse, "}\n", "\n", 1) + claudeUse: 2, // it can't be read
		"{\"type\":\"assistant\",\"type\":\"assistant\"}\n":    1,
		"{\"type\":\n" + strings.Replace(claudeAnswer(`"<tool_use_error>x</tool_use_error>"`, `"Error: x"`), "toolu_1", "", 1): 1,
		"words\n": 0,
	} {
		var r claudeRun
		each(in, r.line)
		if got := r.uses(); len(got) != want {
			t.Errorf("%s: %v, want %d", in, got, want)
		}
	}
}

func TestCodexUses(t *testing.T) {
	r := codexRun{}
	c := rpc{seen: r.notice}
	each(`{"method":"item/started","params":{"item":{"type":"fileChange","id":"exec-1"}}}
{"method":"item/completed","params":{"item":{"type":"fileChange","id":"exec-1"}}}
{"method":"item/completed","params":{"item":{"type":"agentMessage","id":"m","text":"words"}}}
{"method":"item/completed","params":{"item":{"type":"reasoning","id":"r"}}}
{"method":"item/started","params":{"item":{"type":"somethingNew","id":"n"}}}
{"method":"turn/completed","params":{"turn":{"status":"completed","error":null}}}
{"method":
`, c.line)
	want := fmt.Sprint([]use{{"exec-1", "fileChange"}, {"n", "somethingNew"}, unread})
	if fmt.Sprint(r.used) != want || r.answer != "words" || r.status != "completed" {
		t.Errorf("%v, want %v; %+v", r.used, want, &r)
	}
}

func TestGeminiUses(t *testing.T) {
	var r geminiRun
	each(`{"type":"message","role":"user","content":"no"}
{"type":"message","role":"assistant","content":"I will.","delta":true}
{"type":"tool_use","tool_name":"nope","tool_id":"1"}
{"type":"tool_result","tool_id":"1","status":"error","error":{"type":"tool_not_registered"}}
{"type":
{"type":"tool_result","tool_id":"","status":"error","error":{"type":"tool_not_registered"}}
{"type":"tool_use","tool_name":"write_file","tool_id":"2"}
{"type":"tool_result","tool_id":"2","status":"error","error":{"type":"file_not_found","message":"tool_not_registered"}}
{"type":"tool_use","tool_name":"glob","tool_id":"3"}
{"type":"tool_result","tool_id":"3","status":"success","error":{"type":"tool_not_registered"}}
{"type":"message","role":"assistant","content":"It is ","delta":true}
{"type":"message","role":"assistant","content":"done.","delta":true}
{"type":"result","status":"success"}
{"type":
`, r.line)
	want := fmt.Sprint([]use{unread, {"2", "write_file"}, {"3", "glob"}, unread})
	if fmt.Sprint(r.used) != want || r.answer.String() != "It is done." || r.status != "success" {
		t.Errorf("%v, want %v; %+v", r.used, want, &r)
	}
}

func TestCodexAway(t *testing.T) {
	for info, want := range map[string]bool{
		`"internalServerError"`: true, `"serverOverloaded"`: true, `"unauthorized"`: false, `"usageLimitExceeded"`: false, `"other"`: false, "null": false, "": false, "{}": false,
		`{"responseTooManyFailedAttempts":{"httpStatusCode":429}}`:  true,
		`{"responseStreamDisconnected":{"httpStatusCode":null}}`:    true,
		`{"responseStreamConnectionFailed":{"httpStatusCode":404}}`: false,
		`{"activeTurnNotSteerable":{"turnKind":"review"}}`:          false,
	} {
		if got := codexAway(record.Value(info)); got != want {
			t.Errorf("%s: %v", info, got)
		}
	}
}

// fuzzTranscript: no transcript stops a reader, and each use that can be read is counted.
func fuzzTranscript(f *testing.F, used func(text string) int, seeds ...string) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if n := used(text); n > strings.Count(text, "\n")+len(text)/10 {
			t.Errorf("%d uses in %d bytes", n, len(text))
		}
		before := used(text)
		if after := used(text + "\n{\"type\":\n"); after < before+1 {
			t.Errorf("%d uses, and %d with one more line that can't be read", before, after)
		}
	})
}

func FuzzClaudeRun(f *testing.F) {
	fuzzTranscript(f, func(text string) int {
		var r claudeRun
		each(text, r.line)
		return len(r.uses())
	}, claudeUse, claudeUse+claudeAnswer(`"<tool_use_error>x</tool_use_error>"`, `"Error: x"`), `{"type":"result","is_error":false,"result":"x"}`)
}

func FuzzCodexRun(f *testing.F) {
	fuzzTranscript(f, func(text string) int {
		r := codexRun{}
		c := rpc{seen: r.notice, process: &process{in: nowhere{}}}
		each(text, c.line)
		return len(r.used)
	}, `{"method":"item/started","params":{"item":{"type":"x","id":"1"}}}`, `{"id":1,"method":"item/tool/requestUserInput","params":{}}`, `{"id":1,"result":{}}`)
}

func FuzzGeminiRun(f *testing.F) {
	fuzzTranscript(f, func(text string) int {
		var r geminiRun
		each(text, r.line)
		return len(r.used)
	}, `{"type":"tool_use","tool_name":"x","tool_id":"1"}`, `{"type":"tool_result","tool_id":"1","status":"error","error":{"type":"tool_not_registered"}}`)
}

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) Close() error                { return nil }
