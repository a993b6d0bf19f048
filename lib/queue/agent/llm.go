package agent

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"

	"pulse/lib/shared/audit"
	"pulse/lib/shared/lazy"
)

func workLLM(ctx context.Context, t *turn) (string, error) { return t.askLLM(ctx, prompt) }

func readLLM(ctx context.Context, t *turn) (string, error) { return t.askLLM(ctx, reading) }

// askLLM asks llm, which has no tools unless it is given some, in the account's own home,
// where it keeps its keys.
func (t *turn) askLLM(ctx context.Context, system string) (string, error) {
	cmd := t.command(ctx, nil, "", append([]string{"prompt", "--no-log", "-s", system}, t.args...))
	var out bytes.Buffer
	stderr := &tail{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(t.ask), &out, stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return "", t.missing(err)
	}
	if exit == nil {
		return out.String(), nil
	}
	said := string(stderr.bytes())
	last := audit.LastSaid([]byte(said))
	switch {
	case llmLater().MatchString(said) && !llmNever().MatchString(said):
		return "", t.temporary(last)
	case last == "":
		last = exit.Error()
	}
	return "", t.failed(last)
}

// llmLater has what llm says when the provider is away or has had enough for now: it exits 1
// whatever happened. llmNever has what is no such thing, or may be the words of a mail. A quota
// that is used up needs a person.
var (
	llmLater = lazy.Regexp(`(?m)^Error: (Error code: (408|429|5[0-9][0-9])( |$)|Connection error\.$|Request timed out\.$` +
		`|\[Errno (-2|-3|101|104|110|111|113)\]|.*(overloaded_error|rate_limit_error|[Tt]imed out|[Cc]onnection (reset|refused)` +
		`|All connection attempts failed|[Ss]erver disconnected|peer closed connection|Temporary failure in name resolution))`)
	llmNever = lazy.Regexp(`(?m)insufficient_quota|^Error: Error code: 4(0[0-79]|1[0-9]|2[0-8]|[3-9][0-9])( |$)`)
)
